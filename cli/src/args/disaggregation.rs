//! Arguments of `rooflut run`: prefill and decode on servers of their own.

use clap::Args;

use crate::value;

/// Prefill and decode on servers of their own.
#[derive(Args)]
#[command(next_help_heading = "Disaggregation")]
pub(crate) struct DisaggregationArgs {
    /// Servers that compute prompts only.
    #[arg(long, value_name = "COUNT", conflicts_with = "replicas",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) prefill_replicas: Option<u32>,
    /// Servers that decode only; --router decides for both kinds.
    #[arg(long, value_name = "COUNT", conflicts_with = "replicas",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) decode_replicas: Option<u32>,
    /// Bandwidth of the link over which each prefill server sends KV entries, GB/s.
    #[arg(long, value_name = "GB/S", value_parser = value::bandwidth)]
    pub(crate) link_bandwidth: Option<f64>,
    /// Latency of that link, microseconds.
    #[arg(long, value_name = "US", value_parser = value::latency_us)]
    pub(crate) link_latency: Option<f64>,
}
