//! Who looks on while a run goes on.

use crate::sim::{Progress, RequestRecord};

/// Something that wants to know what happens in a run.
pub trait Observer {
    /// Whether [`step`](Observer::step) is called. If not, a run counts steps in which nothing happens
    /// but that the same requests decode, and is faster.
    const EACH_STEP: bool = false;

    /// A step has ended.
    fn step(&mut self, step: &StepRecord) {
        let _ = step;
    }

    /// A request has been served or rejected. `place` is that of the [`Source`](crate::sim::Source).
    fn left(&mut self, place: usize, record: &RequestRecord) {
        let _ = (place, record);
    }

    /// Now and then, and once at the end.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }
}

impl<O: Observer> Observer for &mut O {
    const EACH_STEP: bool = O::EACH_STEP;

    fn step(&mut self, step: &StepRecord) {
        (**self).step(step);
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        (**self).left(place, record);
    }

    fn progress(&mut self, progress: &Progress) {
        (**self).progress(progress);
    }
}

/// Looks away.
impl Observer for () {}

/// One step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StepRecord {
    /// The replica that ran it, counted from 0.
    pub replica: u32,
    /// When it began, in nanoseconds from the start.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Prompt chunks.
    pub prefill_chunks: u32,
    /// Tokens of these.
    pub prefill_tokens: u32,
    /// Requests that decoded.
    pub decode_requests: u32,
    /// Their KV tokens, new ones included.
    pub kv_tokens: u64,
    /// Requests that held a sequence slot.
    pub running: u32,
    /// Requests in the queue.
    pub waiting: u32,
    /// KV blocks held.
    pub kv_blocks_used: u32,
    /// Requests that lost their blocks for the step after it was fixed.
    pub preempted: u32,
}
