//! Prefill and decode on servers of their own.

use rooflut::Deployment;
use rooflut::Invalid;
use rooflut::sim::cluster::KvLink;
use rooflut::sim::figures::Summary;
use rooflut::units::Seconds;
use rooflut_report::Disaggregation;

use crate::scenario::Server;

/// The prefill and the decode servers of a run, and the links between them.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Pools {
    /// Servers that compute prompts.
    pub prefill: u32,
    /// Servers that decode.
    pub decode: u32,
    /// Bandwidth of the link of each prefill server, GB/s.
    pub bandwidth_gb_per_s: f64,
    /// Latency of a link, microseconds.
    pub latency_us: f64,
    /// Bytes of the KV entries of one token.
    pub bytes_per_token: f64,
}

impl Pools {
    /// The pools that a server is divided into, if it is.
    pub(crate) fn of(server: &Server, deployment: &Deployment) -> Option<Pools> {
        Some(Pools {
            prefill: server.prefill_replicas?,
            decode: server.decode_replicas?,
            bandwidth_gb_per_s: server.link_bandwidth?,
            latency_us: server.link_latency?,
            bytes_per_token: deployment.kv_bytes_per_token(),
        })
    }

    /// The link of each prefill server.
    pub(crate) fn link(&self) -> Result<KvLink, Invalid> {
        let latency = Seconds::from_us(self.latency_us);
        KvLink::try_new(self.bandwidth_gb_per_s * 1e9, latency, self.bytes_per_token)
    }

    pub(crate) fn report(&self, summary: &Summary) -> Disaggregation {
        let stages = summary.stages.unwrap_or_default();
        let makespan = summary.makespan;
        Disaggregation {
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
