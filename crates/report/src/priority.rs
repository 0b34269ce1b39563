//! Figures by priority.

use rooflut::sim::figures::{Digest, Totals};
use serde::Serialize;

use crate::figures::LatencyMs;

/// Figures of the requests of one priority.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PriorityClass {
    /// The priority number; smaller numbers are more urgent.
    pub priority: u32,
    /// Requests that were served in full.
    pub completed: u64,
    /// Time to first token.
    pub ttft_ms: LatencyMs,
    /// Time per output token after the first.
    pub tpot_ms: LatencyMs,
    /// Time from the arrival to the last token.
    pub e2e_ms: LatencyMs,
    /// Time from the arrival at the engine to the first scheduling.
    pub queue_ms: LatencyMs,
}

impl PriorityClass {
    /// Returns the figures of the requests of a `digest`, all of this priority.
    pub fn of(priority: u32, digest: Digest) -> PriorityClass {
        let completed = digest.completed();
        let summary = digest.into_summary(&Totals::default());
        let latency = |stats| LatencyMs::of(stats, completed);
        PriorityClass {
            priority,
            completed,
            ttft_ms: latency(summary.ttft),
            tpot_ms: latency(summary.tpot),
            e2e_ms: latency(summary.e2e),
            queue_ms: latency(summary.queue),
        }
    }
}
