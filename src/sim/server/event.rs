//! Events and outcomes of a driven server.

use alloc::vec::Vec;

use crate::sim::{RequestRecord, StepRecord};
use crate::step::StepBatch;

/// Id of a request of a [`Server`](crate::sim::Server).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(in crate::sim) usize);

impl RequestId {
    /// Returns the id of the request that was pushed to the server after `index` others.
    pub fn new(index: usize) -> RequestId {
        RequestId(index)
    }

    /// Returns the number of requests that were pushed to the server before this one.
    pub fn index(self) -> usize {
        self.0
    }
}

/// An event in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The step that yields the request's first token has ended.
    FirstToken {
        /// The request.
        id: RequestId,
        /// Time in nanoseconds.
        at_ns: u64,
    },
    /// The request was served in full, rejected, abandoned or cancelled: its last event.
    Finished {
        /// The request.
        id: RequestId,
        /// Time in nanoseconds.
        at_ns: u64,
        /// The request as it was pushed, and its outcome.
        record: RequestRecord,
    },
}

impl ServerEvent {
    /// Returns the name of the event, the same in all languages: `first_token` or `finished`.
    pub fn name(&self) -> &'static str {
        match self {
            ServerEvent::FirstToken { .. } => "first_token",
            ServerEvent::Finished { .. } => "finished",
        }
    }
}

/// The outcome of one step of a [`Server`](crate::sim::Server).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StepOutcome<'s> {
    /// Start, duration and counts of the step.
    pub record: StepRecord,
    /// The batch that was passed to the latency model.
    pub batch: StepBatch<'s>,
    /// Requests with output tokens in this step and the number of their tokens: 1, or more with speculative
    /// decoding.
    pub tokens: &'s [(RequestId, u32)],
    /// Requests that were preempted when the step was scheduled, or since the previous step; some may have been cancelled
    /// since.
    pub preempted: &'s [RequestId],
    /// First tokens, finished requests, and rejections at the start of the step.
    pub events: &'s [ServerEvent],
}

/// Buffers that a [`StepOutcome`] borrows.
#[derive(Debug, Clone, Default)]
pub(super) struct StepBuffers {
    pub(super) tokens: Vec<(RequestId, u32)>,
    pub(super) preempted: Vec<RequestId>,
    pub(super) events: Vec<ServerEvent>,
}
