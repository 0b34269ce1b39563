//! Arguments of `rooflut-lab fit`.

use clap::Args;

/// Arguments of `rooflut-lab fit`.
#[derive(Args)]
pub(crate) struct FitArgs {
    /// Skip the fits that leave out each model in turn, which take most of the time.
    #[arg(long)]
    pub(crate) only_all: bool,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
