//! What a driven server reports.

use alloc::vec::Vec;

use crate::sim::{RequestRecord, StepRecord};
use crate::step::StepBatch;

/// A request of a [`Server`](crate::sim::Server).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(in crate::sim) usize);

impl RequestId {
    /// Number of requests that were pushed to the server before this one.
    pub fn index(self) -> usize {
        self.0
    }
}

/// Something that happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The step that yields its first token has ended.
    FirstToken {
        /// The request.
        id: RequestId,
        /// When, in nanoseconds.
        at_ns: u64,
    },
    /// It was served in full or rejected.
    Left {
        /// The request.
        id: RequestId,
        /// When, in nanoseconds.
        at_ns: u64,
        /// The request as it was pushed, and its outcome.
        record: RequestRecord,
    },
}

/// One step of a [`Server`](crate::sim::Server), seen at its end.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StepOutcome<'s> {
    /// When it began, how long it took, and its counts.
    pub record: StepRecord,
    /// The work that the latency model was asked for.
    pub batch: StepBatch<'s>,
    /// The requests that have tokens of it, each with their number: 1, and more with speculative decoding.
    pub tokens: &'s [(RequestId, u32)],
    /// The requests that lost their KV blocks when the step was scheduled, or since the step before.
    pub preempted: &'s [RequestId],
    /// First tokens and departures, and rejections at the beginning of the step.
    pub events: &'s [ServerEvent],
}

/// What a [`StepOutcome`] borrows.
#[derive(Debug, Default)]
pub(super) struct StepBuffers {
    pub(super) tokens: Vec<(RequestId, u32)>,
    pub(super) preempted: Vec<RequestId>,
    pub(super) events: Vec<ServerEvent>,
}
