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

    /// A request that was preempted after a token has its next one, `gap_ns` nanoseconds after the last.
    fn resumed(&mut self, place: usize, gap_ns: u64) {
        let _ = (place, gap_ns);
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

/// Looks away.
impl Observer for () {}

impl<O: Observer> Observer for &mut O {
    const EACH_STEP: bool = O::EACH_STEP;

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        (**self).step(step);
    }

    fn resumed(&mut self, place: usize, gap_ns: u64) {
        (**self).resumed(place, gap_ns);
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        (**self).left(place, record);
    }

    fn progress(&mut self, progress: &Progress) {
        (**self).progress(progress);
    }
}

/// Both look on, the first one first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const EACH_STEP: bool = A::EACH_STEP || B::EACH_STEP;

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        if A::EACH_STEP {
            self.0.step(step);
        }
        if B::EACH_STEP {
            self.1.step(step);
        }
    }

    fn resumed(&mut self, place: usize, gap_ns: u64) {
        self.0.resumed(place, gap_ns);
        self.1.resumed(place, gap_ns);
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        self.0.left(place, record);
        self.1.left(place, record);
    }

    fn progress(&mut self, progress: &Progress) {
        self.0.progress(progress);
        self.1.progress(progress);
    }
}

/// Calls a function with the progress of a run.
pub(super) struct OnProgress<F>(pub(super) F);

impl<F: FnMut(Progress)> Observer for OnProgress<F> {
    fn progress(&mut self, progress: &Progress) {
        (self.0)(*progress);
    }
}

/// One step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StepRecord {
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
