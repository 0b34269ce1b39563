//! Figures of separate prefill and decode servers.

#[cfg(feature = "std")]
use crate::sim::KvTransfer;
use crate::sim::figures::Totals;
use crate::sim::figures::summary::per_second;
use crate::units::Seconds;

/// Use of the prefill servers, or of the decode servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PoolUse {
    /// Number of servers.
    pub replicas: u32,
    /// Time of all steps, in nanoseconds.
    pub busy_ns: u64,
    /// Number of KV blocks.
    pub kv_blocks: u32,
    /// Maximum number of KV blocks in use at any time, summed over the servers.
    pub peak_kv_blocks: u32,
}

impl PoolUse {
    /// Returns the use of the servers that `totals` counts.
    pub(crate) fn of(totals: &Totals) -> PoolUse {
        PoolUse {
            replicas: totals.replicas,
            busy_ns: totals.busy_ns,
            kv_blocks: totals.kv_blocks,
            peak_kv_blocks: totals.peak_kv_blocks,
        }
    }

    /// Returns the share of the KV blocks that were in use at the peak.
    pub fn peak_kv_share(&self) -> f64 {
        f64::from(self.peak_kv_blocks) / f64::from(self.kv_blocks.max(1))
    }

    /// Returns the share of the makespan during which a step ran, averaged over the servers.
    pub fn busy_share(&self, makespan: Seconds) -> f64 {
        per_second(self.busy_ns as f64 / 1e9, makespan) / f64::from(self.replicas.max(1))
    }
}

/// Figures of separate prefill and decode servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stages {
    /// The prefill servers.
    pub prefill: PoolUse,
    /// The decode servers.
    pub decode: PoolUse,
    /// Number of KV transfers.
    pub transfers: u64,
    /// Time during which a link was sending, in nanoseconds, summed over the links.
    pub link_ns: u128,
    /// Time from the end of the prefill to the delivery, in nanoseconds, summed over all requests.
    pub transfer_ns: u128,
    /// Time from the delivery to the first scheduling on the decode server, in nanoseconds, summed over the served
    /// requests.
    pub decode_queue_ns: u128,
}

impl Stages {
    /// Counts the transfer of a request that was served.
    #[cfg(feature = "std")]
    pub(crate) fn transferred(&mut self, transfer: &KvTransfer) {
        let span = |from_ns: u64, to_ns: u64| u128::from(to_ns.saturating_sub(from_ns));
        self.transfers += 1;
        self.transfer_ns += span(transfer.prefilled_ns, transfer.delivered_ns);
        self.decode_queue_ns += span(transfer.delivered_ns, transfer.scheduled_ns);
    }

    /// Returns the mean time from the end of the prefill to the delivery.
    pub fn mean_transfer(&self) -> Seconds {
        self.mean(self.transfer_ns)
    }

    /// Returns the mean time from the delivery to the first scheduling on the decode server.
    pub fn mean_decode_queue(&self) -> Seconds {
        self.mean(self.decode_queue_ns)
    }

    fn mean(&self, sum_ns: u128) -> Seconds {
        Seconds(sum_ns as f64 / 1e9 / self.transfers.max(1) as f64)
    }

    /// Returns the share of the makespan during which a link was sending, averaged over the prefill servers.
    pub fn link_share(&self, makespan: Seconds) -> f64 {
        per_second(self.link_ns as f64 / 1e9, makespan) / f64::from(self.prefill.replicas.max(1))
    }
}
