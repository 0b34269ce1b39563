//! Arguments of `rooflut-lab step`.

use clap::{Args, ValueEnum};
use rooflut_cli::step::StepArgs;

/// Arguments of `rooflut-lab step`.
#[derive(Args)]
pub(crate) struct PredecessorArgs {
    #[command(flatten)]
    pub(crate) step: StepArgs,
    /// Model of the step: infersim, blis, calibrated.
    #[arg(long, value_name = "NAME", value_enum, hide_possible_values = true)]
    pub(crate) latency_model: LatencyModelName,
}

/// A step model of a predecessor.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LatencyModelName {
    Infersim,
    Blis,
    Calibrated,
}

impl LatencyModelName {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LatencyModelName::Infersim => "infersim",
            LatencyModelName::Blis => "blis",
            LatencyModelName::Calibrated => "calibrated",
        }
    }
}
