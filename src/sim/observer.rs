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

/// Both look on, the first one first. Pairs of pairs are for more.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const EACH_STEP: bool = A::EACH_STEP || B::EACH_STEP;

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let (first, second) = self;
        if A::EACH_STEP {
            first.step(step);
        }
        if B::EACH_STEP {
            second.step(step);
        }
    }

    fn resumed(&mut self, place: usize, gap_ns: u64) {
        let (first, second) = self;
        first.resumed(place, gap_ns);
        second.resumed(place, gap_ns);
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        let (first, second) = self;
        first.left(place, record);
        second.left(place, record);
    }

    fn progress(&mut self, progress: &Progress) {
        let (first, second) = self;
        first.progress(progress);
        second.progress(progress);
    }
}

/// Looks on if it is there.
impl<O: Observer> Observer for Option<O> {
    const EACH_STEP: bool = O::EACH_STEP;

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        if let Some(observer) = self {
            observer.step(step);
        }
    }

    fn resumed(&mut self, place: usize, gap_ns: u64) {
        if let Some(observer) = self {
            observer.resumed(place, gap_ns);
        }
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        if let Some(observer) = self {
            observer.left(place, record);
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(observer) = self {
            observer.progress(progress);
        }
    }
}

/// Looks on where it is.
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
    /// Tokens drafted for these and verified, 0 without speculative decoding.
    pub drafted_tokens: u32,
    /// Those of them that were accepted, the ones beyond the end of a request included.
    pub accepted_tokens: u32,
    /// Tokens that the requests have of it, beside those of prompts; 0 without speculative decoding.
    pub yielded_tokens: u32,
    /// Requests that held a sequence slot.
    pub running: u32,
    /// Requests in the queue.
    pub waiting: u32,
    /// KV blocks held.
    pub kv_blocks_used: u32,
    /// Requests that lost their blocks for the step after it was fixed.
    pub preempted: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Outcome, Request, Timing};

    /// Counts calls.
    #[derive(Default)]
    struct Count<const EACH_STEP: bool>([u32; 4]);

    impl<const EACH_STEP: bool> Observer for Count<EACH_STEP> {
        const EACH_STEP: bool = EACH_STEP;

        fn step(&mut self, _: &StepRecord) {
            self.0[0] += 1;
        }

        fn left(&mut self, _: usize, _: &RequestRecord) {
            self.0[1] += 1;
        }

        fn progress(&mut self, _: &Progress) {
            self.0[2] += 1;
        }

        fn resumed(&mut self, _: usize, _: u64) {
            self.0[3] += 1;
        }
    }

    fn tell<O: Observer>(observer: &mut O) -> bool {
        observer.step(&StepRecord::default());
        observer.resumed(0, 1);
        observer.left(
            0,
            &RequestRecord {
                request: Request::default(),
                outcome: Outcome::Completed(Timing::default()),
            },
        );
        observer.progress(&Progress {
            now_ns: 0,
            steps: 0,
            total: None,
            completed: 0,
            rejected: 0,
            waiting: 0,
            running: 0,
            kv_blocks_used: 0,
        });
        O::EACH_STEP
    }

    #[test]
    fn both_of_a_pair_look_on_and_steps_go_to_those_who_want_them() {
        let mut often = Count::<true>::default();
        let mut pair = (Count::<false>::default(), (&mut often, None::<()>));
        assert!(tell(&mut pair));
        assert_eq!((pair.0.0, pair.1.0.0), ([0, 1, 1, 1], [1, 1, 1, 1]));
        assert!(!tell(&mut (Count::<false>::default(), ())));
    }
}
