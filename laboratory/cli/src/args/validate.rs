//! Arguments of `rooflut-lab validate`.

use std::path::PathBuf;

use clap::Args;
use rooflut_cli::html::HtmlArgs;

/// Arguments of `rooflut-lab validate`.
#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// CSV files with columns as in laboratory/validation/ [default: the measured runs of the project].
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Predict the rows of the same GPU with these measurements: a folder like those in bench_data/, or a single file
    /// made from such a folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) tables: Option<PathBuf>,
    /// Print every row, even for files with hundreds of rows.
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) rows: bool,
    /// Write JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
    /// Write Markdown, as in docs/accuracy.md.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Draw, as SVG, the share of load stages and kernels on h100 within their intervals over the nominal coverage.
    /// Also print the share for nominal coverages of 50 and 90 %.
    #[arg(long, value_name = "FILE")]
    pub(crate) calibration: Option<PathBuf>,
    /// Draw, as SVG, predicted over measured TPOT and TTFT of load stages and closed loops, by GPU.
    #[arg(long, value_name = "FILE")]
    pub(crate) scatter: Option<PathBuf>,
}
