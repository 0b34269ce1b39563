//! Arguments of `rooflut tables`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `rooflut tables`.
#[derive(Args)]
pub(crate) struct TablesArgs {
    /// Your own measurements in place of the built-in sets: a folder like those in bench_data/, or a single file made
    /// from such a folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) tables: Option<PathBuf>,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
