//! What came of prefill and decode on servers of their own.

use crate::sim::figures::Totals;
use crate::sim::figures::summary::per_second;
use crate::units::Seconds;

/// Use of the servers of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PoolUse {
    /// Servers.
    pub replicas: u32,
    /// Time of their steps, nanoseconds.
    pub busy_ns: u64,
    /// KV blocks that exist.
    pub kv_blocks: u32,
    /// The most KV blocks that were held at any time, summed over the servers.
    pub peak_kv_blocks: u32,
}

impl PoolUse {
    /// That of servers of one kind.
    pub(crate) fn of(totals: &Totals) -> PoolUse {
        PoolUse {
            replicas: totals.replicas,
            busy_ns: totals.busy_ns,
            kv_blocks: totals.kv_blocks,
            peak_kv_blocks: totals.peak_kv_blocks,
        }
    }

    /// Share of the KV blocks that were held at the peak.
    pub fn peak_kv_share(&self) -> f64 {
        f64::from(self.peak_kv_blocks) / f64::from(self.kv_blocks.max(1))
    }

    /// Share of the makespan in which a step ran, averaged over the servers.
    pub fn busy_share(&self, makespan: Seconds) -> f64 {
        per_second(self.busy_ns as f64 / 1e9, makespan) / f64::from(self.replicas.max(1))
    }
}

/// Prefill and decode on servers of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stages {
    /// The prefill servers.
    pub prefill: PoolUse,
    /// The decode servers.
    pub decode: PoolUse,
    /// Requests whose KV entries moved from one to another.
    pub transfers: u64,
    /// Time in which a link was sending, nanoseconds of all links.
    pub link_ns: u128,
    /// From the end of the prefill to the arrival of the entries, nanoseconds of all requests.
    pub transfer_ns: u128,
    /// From there to the first scheduling on the decode server, nanoseconds of all requests that were served.
    pub decode_queue_ns: u128,
}

impl Stages {
    /// From the end of the prefill to the arrival of the entries, on average.
    pub fn mean_transfer(&self) -> Seconds {
        self.mean(self.transfer_ns)
    }

    /// From the arrival of the entries to the first scheduling on the decode server, on average.
    pub fn mean_decode_queue(&self) -> Seconds {
        self.mean(self.decode_queue_ns)
    }

    fn mean(&self, sum_ns: u128) -> Seconds {
        Seconds(sum_ns as f64 / 1e9 / self.transfers.max(1) as f64)
    }

    /// Share of the makespan in which a link was sending, averaged over the prefill servers.
    pub fn link_share(&self, makespan: Seconds) -> f64 {
        per_second(self.link_ns as f64 / 1e9, makespan) / f64::from(self.prefill.replicas.max(1))
    }
}
