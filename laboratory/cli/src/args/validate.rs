//! Arguments of `rooflut-lab validate`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `rooflut-lab validate`.
#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// CSV files with columns as in laboratory/validation/ [default: the measured runs of the project].
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Measurements to predict the rows of their GPU with: a folder like those of bench_data/, or one file
    /// made of it.
    #[arg(long, value_name = "PATH")]
    pub(crate) tables: Option<PathBuf>,
    /// Print every row, even of files with hundreds.
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) rows: bool,
    /// Write JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Write Markdown, as docs/accuracy.md.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Draw the share of load stages and kernels on h100 within their intervals over the nominal coverage, SVG, and
    /// print the coverage of 50 and 90 %, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) calibration: Option<PathBuf>,
}
