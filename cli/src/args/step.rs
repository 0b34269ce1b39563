//! Arguments of `rooflut step`.

use clap::Args;
use rooflut::interval::Coverage;
use rooflut::step::{Chunk, DecodeGroup};
use rooflut::table::Strictness;
use rooflut_scenario::Target;

use crate::html::HtmlArgs;
use crate::value;

/// Arguments of `rooflut step`.
#[derive(Args)]
pub struct StepArgs {
    /// Model, GPUs and engine.
    #[command(flatten)]
    pub target: Target,
    /// A prompt chunk: NEW tokens after CONTEXT cached tokens (repeatable).
    #[arg(long, value_name = "NEW[@CONTEXT]", value_parser = value::chunk)]
    pub prefill: Vec<Chunk>,
    /// Decoding requests, each with a KV length of KV tokens, the new token included (repeatable).
    #[arg(long, value_name = "REQUESTSxKV", value_parser = value::decode_group)]
    pub decode: Vec<DecodeGroup>,
    /// Reject answers of the tables of a worse class than this: measured, interpolated, smoothed, transferred, bound;
    /// "inside", alone or after a comma, also rejects answers outside of the measured ranges.
    #[arg(long, value_name = "CLASS", default_value_t = Strictness::ANY, hide_default_value = true)]
    pub strict: Strictness,
    /// Share of measurements that the interval is meant to contain [default: 0.8].
    #[arg(long, value_name = "SHARE")]
    pub interval: Option<Coverage>,
    /// Write JSON.
    #[arg(long)]
    pub json: bool,
    /// A report.
    #[command(flatten)]
    pub html: HtmlArgs,
}
