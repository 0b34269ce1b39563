//! Inter-token latency.

use core::mem;

use crate::sim::figures::Stats;
use crate::sim::figures::sketch::Sketch;
use crate::sim::{Observer, StepRecord};

/// The gaps between consecutive tokens of a request, of all requests: inter-token latency (ITL).
///
/// A request that decodes takes a token in each step, and its gap is the duration of the step. One that
/// was preempted has its next token when its prompt and output so far are computed again, and the gap
/// spans all that time. Together the gaps of a served request are the time from its first token to its
/// last. With speculative decoding a step brings several tokens, which come together: a gap is the time
/// between two steps with tokens of a request, as clients of a stream see it.
///
/// Percentiles are within [`RELATIVE_ERROR`](TokenGaps::RELATIVE_ERROR), the mean is exact. Memory: 190
/// KB, twice that where a gap is longer than 4 s.
///
/// Cost: a comparison and two sums for each step, and a count in a histogram where a step is shorter or
/// longer than the one before by more than the error.
///
/// ```
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::{Request, SimConfig, Simulator};
/// use rooflut::sim::figures::TokenGaps;
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Steady;
/// # impl LatencyModel for Steady {
/// #     fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
/// #         Seconds(0.01)
/// #     }
/// # }
/// # let model = Steady; // 10 ms a step
/// let request = Request::new(512, 128);
/// let mut gaps = TokenGaps::new();
/// let requests = [request];
/// let server = Simulator::try_new(model, SimConfig::new(8_192, 27_000))?;
/// server.run_source(&mut RequestList::new(&requests), &mut gaps);
/// assert_eq!(gaps.count(), 127);
/// assert!((gaps.stats().unwrap().p99.ms() - 10.0).abs() < 0.005);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenGaps {
    sketch: Sketch<u64>,
    latest: Latest,
}

/// Gaps that fall into one bucket of the sketch and are not in it yet: steps that follow each other take
/// about the same time.
#[derive(Debug, Clone, Default)]
struct Latest {
    first_ns: u64,
    width_ns: u64,
    gaps: u64,
    sum_ns: u128,
}

impl TokenGaps {
    /// The largest relative error of a percentile (0.05 %).
    pub const RELATIVE_ERROR: f64 = Sketch::<u64>::RELATIVE_ERROR;

    /// No gap yet.
    pub fn new() -> TokenGaps {
        TokenGaps {
            sketch: Sketch::new(),
            latest: Latest::default(),
        }
    }

    /// How many gaps there were.
    pub fn count(&self) -> u64 {
        self.sketch.count() + self.latest.gaps
    }

    /// Mean and percentiles over all gaps; none if there were none.
    pub fn stats(&self) -> Option<Stats> {
        self.clone().into_stats()
    }

    /// The same of gaps that are all there are.
    pub(crate) fn into_stats(mut self) -> Option<Stats> {
        self.latest.move_to(&mut self.sketch);
        self.sketch.stats()
    }
}

impl Latest {
    fn move_to(&mut self, sketch: &mut Sketch<u64>) {
        let Latest {
            first_ns,
            gaps,
            sum_ns,
            ..
        } = mem::take(self);
        if gaps > 0 {
            sketch.add_bucket(first_ns, gaps, sum_ns);
        }
    }

    /// Goes on with the bucket of `gap_ns`.
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
        let (gap_ns, gaps) = (step.duration_ns, u64::from(step.decode_requests));
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
