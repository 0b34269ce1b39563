//! Inter-token latency.

use alloc::vec::Vec;
use core::mem;

use crate::sim::figures::Stats;
use crate::sim::figures::sketch::Sketch;
use crate::sim::{Observer, StepRecord};
use crate::units::Seconds;

/// An observer of inter-token latency (ITL): the gaps between consecutive tokens of each request.
///
/// A decoding request takes a token in each step, and the gap is the duration of the step. A preempted request has its
/// next token when its prompt and its output so far have been computed again. A request left out of steps has its next
/// token when a step reaches the request. The gap spans all that time. The gaps of a served request add up to the time
/// from its first token to its last. With speculative decoding a step yields several tokens at once: a gap is the time
/// between two steps with tokens of a request, as clients of a stream see it.
///
/// Percentiles are within [`RELATIVE_ERROR`](TokenGaps::RELATIVE_ERROR), the mean is exact. Memory: 190 KB, twice
/// that if a gap is longer than 4 s.
///
/// Cost: a comparison and two additions per step, and a histogram update if the duration differs from the step before
/// by more than the error. [`Digest`](crate::sim::figures::Digest) has an example of an observer.
#[derive(Debug, Clone)]
pub struct TokenGaps {
    sketch: Sketch<u64>,
    latest: Latest,
}

/// Recent gaps of one bucket that are not in the histogram yet: consecutive steps take about the same time.
#[derive(Debug, Clone, Default)]
struct Latest {
    first_ns: u64,
    width_ns: u64,
    gaps: u64,
    sum_ns: u128,
}

impl TokenGaps {
    /// Maximum relative error of a percentile (0.05 %).
    pub const RELATIVE_ERROR: f64 = Sketch::<u64>::RELATIVE_ERROR;

    /// Creates an observer that has seen no gap.
    pub fn new() -> TokenGaps {
        TokenGaps { sketch: Sketch::new(), latest: Latest::default() }
    }

    /// Returns the number of gaps.
    pub fn count(&self) -> u64 {
        self.sketch.count() + self.latest.gaps
    }

    /// Returns mean and percentiles over all gaps; `None` if there were none.
    pub fn stats(&self) -> Option<Stats> {
        self.clone().into_stats()
    }

    /// Returns the quantiles at these levels, in thousandths up to 1,000; `None` if there were no gaps.
    pub(crate) fn quantiles(&self, per_mille: &[u32]) -> Option<Vec<Seconds>> {
        let mut gaps = self.clone();
        gaps.latest.move_to(&mut gaps.sketch);
        gaps.sketch.quantiles(per_mille)
    }

    /// Does the same as [`stats`](TokenGaps::stats) without a copy.
    pub(crate) fn into_stats(mut self) -> Option<Stats> {
        self.latest.move_to(&mut self.sketch);
        self.sketch.stats()
    }
}

impl Latest {
    fn move_to(&mut self, sketch: &mut Sketch<u64>) {
        let Latest { first_ns, gaps, sum_ns, .. } = mem::take(self);
        if gaps > 0 {
            sketch.add_bucket(first_ns, gaps, sum_ns);
        }
    }

    /// Moves on to the bucket of `gap_ns`.
    #[cold]
    fn move_on(&mut self, gap_ns: u64, sketch: &mut Sketch<u64>) {
        self.move_to(sketch);
        (self.first_ns, self.width_ns) = sketch.bucket(gap_ns);
    }
}

impl Default for TokenGaps {
    fn default() -> TokenGaps {
        TokenGaps::new()
    }
}

impl Observer for TokenGaps {
    fn wants_steps(&self) -> bool {
        true
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let gap_ns = step.duration_ns;
        let other = step.late_decodes + step.overrun_requests;
        let gaps = u64::from(step.decode_requests.saturating_sub(other));
        // Below the bucket the difference wraps around.
        if gap_ns.wrapping_sub(self.latest.first_ns) >= self.latest.width_ns {
            self.latest.move_on(gap_ns, &mut self.sketch);
        }
        self.latest.gaps += gaps;
        self.latest.sum_ns += u128::from(gap_ns) * u128::from(gaps);
    }

    fn resumed(&mut self, _: usize, gap_ns: u64) {
        self.sketch.add_ns(gap_ns, 1);
    }
}
