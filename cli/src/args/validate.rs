//! Arguments of `rooflut validate`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `rooflut validate`.
#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// CSV files with columns as in validation/ [default: the measured runs of the project].
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print every row, also of files with hundreds.
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) rows: bool,
    /// Write JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Write Markdown, as docs/accuracy.md.
    #[arg(long)]
    pub(crate) markdown: bool,
}
