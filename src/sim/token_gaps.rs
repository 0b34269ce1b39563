//! Inter-token latency.

use crate::sim::sketch::Sketch;
use crate::sim::{Observer, Stats, StepRecord};

/// The gaps between consecutive tokens of a request, of all requests: inter-token latency (ITL).
///
/// A request that decodes takes a token in each step, and its gap is the duration of the step. One that
/// was preempted has its next token when its prompt and output so far are computed again, and the gap
/// spans all that time. Together the gaps of a served request are the time from its first token to its
/// last.
///
/// Percentiles are within [`RELATIVE_ERROR`](TokenGaps::RELATIVE_ERROR), the mean is exact. Memory: 190
/// KB, twice that where a gap is longer than 4 s.
///
/// Cost: one count in a histogram for each step.
///
/// ```
/// use rooflut::sim::{Listed, Request, SimConfig, Simulator, TokenGaps};
/// # use rooflut::step::{Binding, LatencyModel, Part, StepBatch, StepTime};
/// # use rooflut::table::Provenance;
/// # use rooflut::units::Seconds;
/// # struct Steady;
/// # impl LatencyModel for Steady {
/// #     fn step_time(&self, _: &StepBatch<'_>) -> StepTime {
/// #         let mut time = StepTime::ZERO;
/// #         time.add(Part::GateUp, Seconds(0.01), Binding::Memory, Provenance::Bound);
/// #         time
/// #     }
/// # }
/// # let model = Steady; // 10 ms a step
/// let request = Request { prompt_tokens: 512, output_tokens: 128, ..Request::default() };
/// let mut gaps = TokenGaps::new();
/// let requests = [request];
/// let server = Simulator::try_new(model, SimConfig::new(8_192, 27_000))?;
/// server.run_source(&mut Listed::new(&requests), &mut gaps);
/// assert_eq!(gaps.count(), 127);
/// assert!((gaps.stats().unwrap().p99.ms() - 10.0).abs() < 0.005);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenGaps(Sketch<u64>);

impl TokenGaps {
    /// The largest relative error of a percentile (0.05 %).
    pub const RELATIVE_ERROR: f64 = Sketch::<u64>::RELATIVE_ERROR;

    /// No gap yet.
    pub fn new() -> TokenGaps {
        TokenGaps(Sketch::new())
    }

    /// How many gaps there were.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// Mean and percentiles over all gaps; none if there were none.
    pub fn stats(&self) -> Option<Stats> {
        self.0.stats()
    }
}

impl Default for TokenGaps {
    fn default() -> TokenGaps {
        TokenGaps::new()
    }
}

impl Observer for TokenGaps {
    const EACH_STEP: bool = true;

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        if step.decode_requests > 0 {
            self.0.add_ns(step.duration_ns, step.decode_requests.into());
        }
    }

    fn resumed(&mut self, _: usize, gap_ns: u64) {
        self.0.add_ns(gap_ns, 1);
    }
}
