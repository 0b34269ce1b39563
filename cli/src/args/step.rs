//! Arguments of `rooflut step`.

use clap::{Args, ValueEnum};
use rooflut::interval::Coverage;
use rooflut::step::{Chunk, DecodeGroup};
use rooflut::table::Strictness;
use rooflut_scenario::Target;

use crate::value;

/// Arguments of `rooflut step`.
#[derive(Args)]
pub(crate) struct StepArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// A prompt chunk: new tokens, after tokens that are cached (repeatable).
    #[arg(long, value_name = "NEW[@CONTEXT]", value_parser = value::chunk)]
    pub(crate) prefill: Vec<Chunk>,
    /// Requests that decode, and their KV length with the new token (repeatable).
    #[arg(long, value_name = "REQUESTSxKV", value_parser = value::decode_group)]
    pub(crate) decode: Vec<DecodeGroup>,
    /// Model of the step: roofline, or for comparison infersim, blis, calibrated.
    #[arg(long, value_name = "NAME", value_enum, hide_possible_values = true,
          default_value_t = LatencyModelName::Roofline)]
    pub(crate) latency_model: LatencyModelName,
    /// Refuse worse answers of the tables: measured, interpolated, smoothed, transferred, bound; with
    /// "inside" alone or after a comma also those outside of the measured ranges.
    #[arg(long, value_name = "CLASS", default_value_t = Strictness::ANY, hide_default_value = true)]
    pub(crate) strict: Strictness,
    /// Share of measurements that the interval of roofline is meant to contain [default: 0.8].
    #[arg(long, value_name = "SHARE")]
    pub(crate) interval: Option<Coverage>,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A step model.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LatencyModelName {
    // Rooflut's own.
    Roofline,
    // The predecessors' models.
    Infersim,
    Blis,
    Calibrated,
}

impl LatencyModelName {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LatencyModelName::Roofline => "roofline",
            LatencyModelName::Infersim => "infersim",
            LatencyModelName::Blis => "blis",
            LatencyModelName::Calibrated => "calibrated",
        }
    }
}
