//! Figures of a run without a record per request.

use crate::sim::figures::queue_trend::QueueTrend;
use crate::sim::figures::sketch::Sketch;
use crate::sim::figures::summary::Latencies;
use crate::sim::figures::{BatchSizes, Goodput, LatencyLimits, Summary, TokenGaps, Totals};
use crate::sim::{Observer, RequestRecord, StepRecord};

/// An observer that computes the figures of a run without a record per request.
///
/// Percentiles come from histograms (HdrHistogram) and are within [`RELATIVE_ERROR`](Digest::RELATIVE_ERROR)
/// plus half a nanosecond of the exact ones; everything else is exact. The same run gives the same bytes on every
/// platform.
///
/// Memory does not grow with the number of requests: it is 0.6 MB if all times are below 4 s, and at most 1.4 MB.
/// A bucket counts up to 2^32 - 1 requests.
///
/// Assumes: indices ascend with arrivals, as in a [`Stream`](crate::sim::load::Stream) or a sorted list; only
/// [`Summary::queue_growth`] depends on it.
///
/// ```
/// use rooflut::sim::{SimConfig, Simulator};
/// use rooflut::sim::figures::Digest;
/// use rooflut::sim::load::{Arrivals, Lengths, RequestMix, Stream, SyntheticLoad};
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Steady;
/// # impl LatencyModel for Steady {
/// #     fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
/// #         Seconds(0.01)
/// #     }
/// # }
/// # let model = Steady;
/// let mix = RequestMix::new(Lengths::try_fixed(512)?, Lengths::try_uniform(64..=256)?);
/// let load = SyntheticLoad::new(Arrivals::try_poisson(10.0, 42)?, mix, 42);
/// let mut digest = Digest::new();
/// let simulator = Simulator::try_new(model, SimConfig::new(8_192, 27_000))?;
/// // `model` takes 10 ms per step.
/// let totals = simulator.serve(&mut Stream::new(load.take(10_000)), &mut digest);
/// let summary = digest.into_summary(&totals);
/// assert_eq!(summary.completed, 10_000);
/// assert!(summary.itl.unwrap().p99.ms() < 10.01);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Digest {
    ttft: Sketch<u32>,
    tpot: Sketch<u32>,
    e2e: Sketch<u32>,
    queue: Sketch<u32>,
    gaps: TokenGaps,
    sizes: BatchSizes,
    trend: QueueTrend,
    limits: Option<LatencyLimits>,
    /// Number of requests within the limits.
    met: u64,
}

impl Digest {
    /// Maximum relative error of a percentile (0.05 %).
    pub const RELATIVE_ERROR: f64 = Sketch::<u32>::RELATIVE_ERROR;

    /// Creates a digest of an empty run.
    pub fn new() -> Digest {
        Digest {
            ttft: Sketch::new(),
            tpot: Sketch::new(),
            e2e: Sketch::new(),
            queue: Sketch::new(),
            gaps: TokenGaps::new(),
            sizes: BatchSizes::new(),
            trend: QueueTrend::new(),
            limits: None,
            met: 0,
        }
    }

    /// Sets latency limits, for [`Summary::goodput`].
    pub fn with_limits(self, limits: LatencyLimits) -> Digest {
        Digest {
            limits: Some(limits),
            ..self
        }
    }

    /// Returns the figures of the run that ended with `totals`.
    pub fn into_summary(self, totals: &Totals) -> Summary {
        let latencies = Latencies {
            ttft: self.ttft.stats(),
            tpot: self.tpot.stats(),
            itl: self.gaps.into_stats(),
            e2e: self.e2e.stats(),
            queue: self.queue.stats(),
            batch: self.sizes.stats(),
            percentile_error: Digest::RELATIVE_ERROR,
            queue_growth: self.trend.growth(),
        };
        let mut summary = Summary::new(latencies, totals);
        let goodput = |limits| Goodput::new(limits, self.met, summary.makespan);
        summary.goodput = self.limits.map(goodput);
        summary
    }
}

impl Default for Digest {
    fn default() -> Digest {
        Digest::new()
    }
}

impl Observer for Digest {
    fn wants_steps(&self) -> bool {
        true
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        self.gaps.step(step);
        self.sizes.step(step);
    }

    fn resumed(&mut self, index: usize, gap_ns: u64) {
        self.gaps.resumed(index, gap_ns);
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        let times = [
            (record.ttft(), &mut self.ttft),
            (record.tpot(), &mut self.tpot),
            (record.e2e(), &mut self.e2e),
            (record.queue(), &mut self.queue),
        ];
        for (time, sketch) in times {
            if let Some(time) = time {
                sketch.add(time);
            }
        }
        if let Some(queue) = record.waiting() {
            self.trend.add(index, queue);
        }
        if self.limits.is_some_and(|limits| limits.are_met_by(record)) {
            self.met += 1;
        }
    }
}
