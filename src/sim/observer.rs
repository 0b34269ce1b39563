//! Observers of a run.

use alloc::boxed::Box;

use crate::sim::{Progress, RequestRecord};
use crate::step::{StepBatch, Tally};

/// Receives the events of a run.
///
/// All methods default to doing nothing. The trait is dyn compatible: `&mut dyn Observer` is an observer. So
/// are pairs (the first one is called first), `Option`, `&mut` and `Box`. Requests are identified by their
/// index in the [`Source`](crate::sim::load::Source).
pub trait Observer {
    /// Returns whether [`step`](Observer::step) and [`step_batch`](Observer::step_batch) are to be called;
    /// constant for an observer. Runs are faster if no observer wants steps.
    fn wants_steps(&self) -> bool {
        false
    }

    /// Called with the work of a step, right before [`step`](Observer::step).
    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        let _ = batch;
    }

    /// Called at the end of each step.
    fn step(&mut self, step: &StepRecord) {
        let _ = step;
    }

    /// Called when a request that was preempted after a token, or left out of a step, has its next token, `gap_ns`
    /// nanoseconds after the last.
    fn resumed(&mut self, index: usize, gap_ns: u64) {
        let _ = (index, gap_ns);
    }

    /// Called when a request has been served or rejected.
    fn finished(&mut self, index: usize, record: &RequestRecord) {
        let _ = (index, record);
    }

    /// Called from time to time, and once at the end.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// Returns whether the run is to go on; called from time to time.
    ///
    /// A run that ends early leaves requests unserved: its totals and records are those of what was done. A
    /// [`Server`](crate::sim::Server) goes as far as it is driven and does not ask.
    fn wants_more(&self) -> bool {
        true
    }
}

/// An observer that ignores all events.
impl Observer for () {}

/// Calls both, the first one first. Nest pairs for more observers.
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn wants_steps(&self) -> bool {
        self.0.wants_steps() || self.1.wants_steps()
    }

    #[inline]
    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        let (first, second) = self;
        if first.wants_steps() {
            first.step_batch(batch);
        }
        if second.wants_steps() {
            second.step_batch(batch);
        }
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let (first, second) = self;
        if first.wants_steps() {
            first.step(step);
        }
        if second.wants_steps() {
            second.step(step);
        }
    }

    fn resumed(&mut self, index: usize, gap_ns: u64) {
        self.0.resumed(index, gap_ns);
        self.1.resumed(index, gap_ns);
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.0.finished(index, record);
        self.1.finished(index, record);
    }

    fn progress(&mut self, progress: &Progress) {
        self.0.progress(progress);
        self.1.progress(progress);
    }

    fn wants_more(&self) -> bool {
        self.0.wants_more() && self.1.wants_more()
    }
}

/// Calls the observer if there is one.
impl<O: Observer> Observer for Option<O> {
    #[inline]
    fn wants_steps(&self) -> bool {
        self.as_ref().is_some_and(O::wants_steps)
    }

    #[inline]
    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        if let Some(observer) = self {
            observer.step_batch(batch);
        }
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        if let Some(observer) = self {
            observer.step(step);
        }
    }

    fn resumed(&mut self, index: usize, gap_ns: u64) {
        if let Some(observer) = self {
            observer.resumed(index, gap_ns);
        }
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        if let Some(observer) = self {
            observer.finished(index, record);
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(observer) = self {
            observer.progress(progress);
        }
    }

    fn wants_more(&self) -> bool {
        self.as_ref().is_none_or(O::wants_more)
    }
}

macro_rules! forward_to_pointee {
    ($($pointer:ty),+) => {$(
        impl<O: Observer + ?Sized> Observer for $pointer {
            #[inline]
            fn wants_steps(&self) -> bool {
                (**self).wants_steps()
            }

            #[inline]
            fn step_batch(&mut self, batch: &StepBatch<'_>) {
                (**self).step_batch(batch);
            }

            #[inline]
            fn step(&mut self, step: &StepRecord) {
                (**self).step(step);
            }

            fn resumed(&mut self, index: usize, gap_ns: u64) {
                (**self).resumed(index, gap_ns);
            }

            fn finished(&mut self, index: usize, record: &RequestRecord) {
                (**self).finished(index, record);
            }

            fn progress(&mut self, progress: &Progress) {
                (**self).progress(progress);
            }

            fn wants_more(&self) -> bool {
                (**self).wants_more()
            }
        }
    )+};
}

forward_to_pointee!(&mut O, Box<O>);

/// Counts the steps of a run, which must use the model of the tally.
impl Observer for Tally<'_> {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        self.add(batch);
    }
}

/// One step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepRecord {
    /// The replica that ran the step, counted from 0.
    pub replica: u32,
    /// Start of the step, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Duration of the step, in nanoseconds.
    pub duration_ns: u64,
    /// Prompt chunks.
    pub prefill_chunks: u32,
    /// Tokens of the prompt chunks.
    pub prefill_tokens: u32,
    /// Decoding requests.
    pub decode_requests: u32,
    /// Decoding requests whose last token is older than the step before: the budget did not reach these requests, or a
    /// preemption left them out. With several pipeline stages, all decoding requests, because steps overlap.
    pub late_decodes: u32,
    /// KV tokens of the decoding requests, new ones included.
    pub kv_tokens: u64,
    /// Decoding requests that have no token in this step, as the drafts of the step before completed them: it was fixed
    /// before that was known, or they were [cancelled](crate::sim::Server::cancel) after it was fixed.
    pub overrun_requests: u32,
    /// Verified drafted tokens, without the tokens of `overrun_requests`; 0 without speculative decoding.
    pub drafted_tokens: u32,
    /// Drafted tokens that were accepted, including those beyond the end of a request.
    pub accepted_tokens: u32,
    /// Output tokens of decoding requests; 0 without speculative decoding.
    pub yielded_tokens: u32,
    /// Requests that held a sequence slot.
    pub running: u32,
    /// Requests in the queue.
    pub waiting: u32,
    /// KV blocks in use.
    pub kv_blocks_used: u32,
    /// Preemptions when the step was scheduled, and in earlier schedules without work.
    pub preempted: u32,
    /// Whether the KV cache had too few free blocks when the step was scheduled: a request was preempted, or one that
    /// waits was not admitted.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kv_cache_full: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Outcome, Request, Timing};

    /// Counts calls.
    #[derive(Default)]
    struct Count<const STEPS: bool>([u32; 5]);

    impl<const STEPS: bool> Observer for Count<STEPS> {
        fn wants_steps(&self) -> bool {
            STEPS
        }

        fn step_batch(&mut self, _: &StepBatch<'_>) {
            self.0[4] += 1;
        }

        fn step(&mut self, _: &StepRecord) {
            self.0[0] += 1;
        }

        fn finished(&mut self, _: usize, _: &RequestRecord) {
            self.0[1] += 1;
        }

        fn progress(&mut self, _: &Progress) {
            self.0[2] += 1;
        }

        fn resumed(&mut self, _: usize, _: u64) {
            self.0[3] += 1;
        }

        fn wants_more(&self) -> bool {
            self.0[2] < 2
        }
    }

    fn report(observer: &mut dyn Observer) -> bool {
        observer.step_batch(&StepBatch::default());
        observer.step(&StepRecord::default());
        observer.resumed(0, 1);
        let record = RequestRecord { request: Request::default(), outcome: Outcome::Completed(Timing::default()) };
        observer.finished(0, &record);
        observer.progress(&Progress::default());
        observer.wants_steps()
    }

    #[test]
    fn both_of_a_pair_are_called_and_steps_go_to_those_that_want_them() {
        let mut often = Count::<true>::default();
        let mut pair = (Count::<false>::default(), (&mut often, None::<()>));
        assert!(report(&mut pair));
        assert_eq!((pair.0.0, pair.1.0.0), ([0, 1, 1, 1, 0], [1, 1, 1, 1, 1]));
        assert!(!report(&mut (Count::<false>::default(), ())));
        let boxed: Box<dyn Observer> = Box::new(Count::<true>::default());
        assert!(report(&mut Some(boxed)));
        assert!(!report(&mut None::<Count<true>>));
    }

    #[test]
    fn a_run_goes_on_while_all_want_more() {
        let wants_more = |first: u32, second: Option<u32>| {
            let count = |progress| Count::<false>([0, 0, progress, 0, 0]);
            let second = second.map(|second| Box::new(count(second)));
            (&mut count(first), second).wants_more()
        };
        assert!(wants_more(0, None) && wants_more(1, Some(1)));
        assert!(!wants_more(2, None) && !wants_more(2, Some(1)) && !wants_more(1, Some(2)));
    }
}
