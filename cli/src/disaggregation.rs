//! Prefill and decode on servers of their own, as `rooflut run` has it.

use rooflut::Deployment;
use rooflut::sim::SimError;
use rooflut::sim::cluster::KvLink;
use rooflut::sim::figures::{PoolUse, Stages, Summary};
use rooflut::units::Seconds;
use serde::Serialize;

use crate::args::DisaggregationArgs;
use crate::output::{ms, number, percent, plural};

/// The two pools of a run, and the links between them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pools {
    pub(crate) prefill: u32,
    pub(crate) decode: u32,
    bandwidth_gb_per_s: f64,
    latency_us: f64,
    bytes_per_token: f64,
}

impl Pools {
    /// What `args` ask for, if they do.
    pub(crate) fn find(args: &DisaggregationArgs, deployment: &Deployment) -> Option<Pools> {
        Some(Pools {
            prefill: args.prefill_replicas?,
            decode: args.decode_replicas?,
            bandwidth_gb_per_s: args.link_bandwidth?,
            latency_us: args.link_latency?,
            bytes_per_token: deployment.kv_bytes_per_token(),
        })
    }

    /// The link of each prefill server.
    pub(crate) fn link(&self) -> Result<KvLink, SimError> {
        let latency = Seconds::from_us(self.latency_us);
        KvLink::try_new(self.bandwidth_gb_per_s * 1e9, latency, self.bytes_per_token)
    }

    /// What is asked for, for people.
    pub(crate) fn setup(&self) -> String {
        format!(
            "{} and {}, KV entries over links of {} GB/s and {} us",
            plural(self.prefill.into(), "prefill server"),
            plural(self.decode.into(), "decode server"),
            number(self.bandwidth_gb_per_s, 1),
            number(self.latency_us, 1),
        )
    }

    /// What came of it, for people.
    pub(crate) fn figures(stages: &Stages, summary: &Summary) -> [(&'static str, String); 2] {
        let makespan = summary.makespan;
        let transfer = format!(
            "{} ms from the end of the prefill to the arrival of its KV entries, {} ms from there to the \
             decode server's schedule (means); links busy {} of the time",
            ms(stages.mean_transfer()),
            ms(stages.mean_decode_queue()),
            percent(100.0 * stages.link_share(makespan)),
        );
        let pool = |of: &PoolUse| {
            format!(
                "busy {} of the time, {} of their KV blocks at the peak",
                percent(100.0 * of.busy_share(makespan)),
                percent(100.0 * of.peak_kv_share()),
            )
        };
        let (prefill, decode) = (pool(&stages.prefill), pool(&stages.decode));
        let pools = format!("prefill servers {prefill}; decode servers {decode}");
        [("KV transfer", transfer), ("pools", pools)]
    }

    /// Both for programs.
    pub(crate) fn json(&self, summary: &Summary) -> DisaggregationJson {
        let stages = summary.stages.unwrap_or_default();
        let makespan = summary.makespan;
        DisaggregationJson {
            prefill_replicas: self.prefill,
            decode_replicas: self.decode,
            link_bandwidth_gb_per_s: self.bandwidth_gb_per_s,
            link_latency_us: self.latency_us,
            kv_bytes_per_token: self.bytes_per_token,
            transfers: stages.transfers,
            transfer_mean_ms: stages.mean_transfer().ms(),
            decode_queue_mean_ms: stages.mean_decode_queue().ms(),
            link_busy_share: stages.link_share(makespan),
            prefill_busy_share: stages.prefill.busy_share(makespan),
            decode_busy_share: stages.decode.busy_share(makespan),
            prefill_kv_blocks_peak: stages.prefill.peak_kv_blocks,
            decode_kv_blocks_peak: stages.decode.peak_kv_blocks,
        }
    }
}

/// Disaggregation, as JSON has it.
#[derive(Serialize)]
pub(crate) struct DisaggregationJson {
    prefill_replicas: u32,
    decode_replicas: u32,
    link_bandwidth_gb_per_s: f64,
    link_latency_us: f64,
    kv_bytes_per_token: f64,
    transfers: u64,
    transfer_mean_ms: f64,
    decode_queue_mean_ms: f64,
    link_busy_share: f64,
    prefill_busy_share: f64,
    decode_busy_share: f64,
    /// Summed over the servers.
    prefill_kv_blocks_peak: u32,
    decode_kv_blocks_peak: u32,
}
