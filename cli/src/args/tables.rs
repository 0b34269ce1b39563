//! Arguments of `rooflut tables`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `rooflut tables`.
#[derive(Args)]
pub(crate) struct TablesArgs {
    /// Measurements of your own in place of the built-in sets: a folder like those of bench_data/, or one
    /// file made of it.
    #[arg(long, value_name = "PATH")]
    pub(crate) tables: Option<PathBuf>,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
