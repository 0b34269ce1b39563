//! Figures of a run without a record per request.

use alloc::vec::Vec;

use crate::sim::figures::queue_trend::QueueTrend;
use crate::sim::figures::sketch::Sketch;
use crate::sim::figures::summary::Latencies;
use crate::sim::figures::times::Times;
use crate::sim::figures::{BatchSizes, Goodput, LatencyLimits, Quantiles, Summary, TokenGaps, Totals};
use crate::sim::{Observer, Outcome, RequestRecord, StepRecord};

/// An observer that computes the figures of a run without a record per request.
///
/// Percentiles come from histograms (HdrHistogram) and are within [`RELATIVE_ERROR`](Digest::RELATIVE_ERROR) plus half
/// a nanosecond of the exact ones; everything else is exact. The same run gives the same bytes on every platform. With
/// [`exact_up_to`](Digest::exact_up_to), the times of the first requests are kept, so percentiles of up to this many
/// requests are exact, too.
///
/// A [`restart`](Digest::restart) discards earlier requests, such as a warm-up; the figures then describe a
/// [`window`](Digest::into_window) of the run.
///
/// Memory does not grow with the number of requests: it is 0.6 MB if all times are below 4 s, and at most 1.4 MB,
/// besides 32 bytes for each request whose times are kept. A bucket counts up to 2^32 - 1 requests.
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
/// let totals = simulator.serve(&mut Stream::new(load.take(10_000)), &mut digest)?;
/// let summary = digest.into_summary(&totals);
/// assert_eq!(summary.completed, 10_000);
/// assert!(summary.itl.unwrap().p99.ms() < 10.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Digest {
    ttft: Times,
    tpot: Times,
    e2e: Times,
    queue: Times,
    gaps: TokenGaps,
    sizes: BatchSizes,
    trend: QueueTrend,
    limits: Option<LatencyLimits>,
    /// Number of requests within the limits.
    met: u64,
    /// Number of requests whose times are kept.
    exact: usize,
    /// Counts of steps and served requests.
    totals: Totals,
    /// Time of all steps by replica, in nanoseconds.
    busy_ns: Vec<u64>,
}

impl Digest {
    /// Maximum relative error of a percentile (0.05 %).
    pub const RELATIVE_ERROR: f64 = Sketch::<u32>::RELATIVE_ERROR;

    /// Creates a digest of an empty run.
    pub fn new() -> Digest {
        Digest::of(None, 0)
    }

    fn of(limits: Option<LatencyLimits>, exact: usize) -> Digest {
        let times = || Times::new(exact > 0);
        Digest {
            ttft: times(),
            tpot: times(),
            e2e: times(),
            queue: times(),
            gaps: TokenGaps::new(),
            sizes: BatchSizes::new(),
            trend: QueueTrend::new(),
            limits,
            met: 0,
            exact,
            totals: Totals::default(),
            busy_ns: Vec::new(),
        }
    }

    /// Sets latency limits, for [`Summary::goodput`].
    pub fn with_limits(self, limits: LatencyLimits) -> Digest {
        Digest { limits: Some(limits), ..self }
    }

    /// Returns an empty digest whose percentiles are exact for up to `requests` requests; their times are kept.
    pub fn exact_up_to(self, requests: usize) -> Digest {
        Digest::of(self.limits, requests)
    }

    /// Forgets all that came before, such as the warm-up of a server.
    pub fn restart(&mut self) {
        *self = Digest::of(self.limits, self.exact);
    }

    /// Returns the number of served requests.
    pub fn completed(&self) -> u64 {
        self.totals.completed
    }

    /// Returns the quantiles of the latencies at these levels, in thousandths up to 1,000. Those of the percentiles of a
    /// [`Summary`] are the same to the bit. Sorts a copy of the times that are kept.
    pub fn quantiles(&self, per_mille: &[u32]) -> Quantiles {
        Quantiles {
            ttft: self.ttft.quantiles(per_mille),
            tpot: self.tpot.quantiles(per_mille),
            itl: self.gaps.quantiles(per_mille),
            e2e: self.e2e.quantiles(per_mille),
            queue: self.queue.quantiles(per_mille),
        }
    }

    /// Returns the figures of the run that ended with `totals`.
    pub fn into_summary(self, totals: &Totals) -> Summary {
        let (limits, met) = (self.limits, self.met);
        let mut summary = Summary::new(self.into_latencies(), totals);
        let goodput = |limits| Goodput::new(limits, met, summary.makespan);
        summary.goodput = limits.map(goodput);
        summary
    }

    /// Returns the figures of the part of a run that the digest has observed, from `from_ns` to `to_ns` on the clock of
    /// the simulation: throughput counts work completed in this time, and shares are shares of this time.
    ///
    /// `totals` are the totals of the whole run. They provide the figures that a part does not have: numbers of blocks
    /// and servers, peaks, and `truncated`.
    pub fn into_window(self, totals: &Totals, from_ns: u64, to_ns: u64) -> Summary {
        let busy_ns = |replicas: &[u64]| replicas.iter().fold(0, |a: u64, b| a.saturating_add(*b));
        let mut stages = self.totals.stages;
        if totals.stages.prefill.replicas > 0 {
            let first = totals.stages.prefill.replicas as usize;
            let (prefill, decode) = self.busy_ns.split_at(first.min(self.busy_ns.len()));
            // Links send for equal times per token: their share is that of the transfers.
            let share = stages.transfers as f64 / totals.stages.transfers.max(1) as f64;
            stages.link_ns = (totals.stages.link_ns as f64 * share) as u128;
            stages.prefill = totals.stages.prefill;
            stages.prefill.busy_ns = busy_ns(prefill);
            stages.decode = totals.stages.decode;
            stages.decode.busy_ns = busy_ns(decode);
        }
        let of_window = Totals {
            replicas: totals.replicas,
            truncated: totals.truncated,
            kv_blocks: totals.kv_blocks,
            peak_kv_blocks: totals.peak_kv_blocks,
            stages,
            span_ns: Some((from_ns, to_ns)),
            ..self.totals
        };
        let mut summary = self.into_summary(&of_window);
        // Steps that begin in the window may end after it.
        summary.server.busy_share = summary.server.busy_share.min(1.0);
        summary
    }

    fn into_latencies(self) -> Latencies {
        let errors = [&self.ttft, &self.tpot, &self.e2e, &self.queue].map(Times::error);
        Latencies {
            ttft: self.ttft.into_stats(),
            tpot: self.tpot.into_stats(),
            itl: self.gaps.into_stats(),
            e2e: self.e2e.into_stats(),
            queue: self.queue.into_stats(),
            batch: self.sizes.stats(),
            percentile_error: errors.into_iter().fold(0.0, f64::max),
            queue_growth: self.trend.growth(),
        }
    }

    /// Counts the time of a step for its replica.
    #[inline]
    fn count_busy(&mut self, step: &StepRecord) {
        let replica = step.replica as usize;
        match self.busy_ns.get_mut(replica) {
            Some(busy_ns) => *busy_ns = busy_ns.saturating_add(step.duration_ns),
            None => {
                self.busy_ns.resize(replica, 0);
                self.busy_ns.push(step.duration_ns);
            }
        }
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
        self.totals.step(step, step.running, step.kv_blocks_used);
        self.totals.drafts(step);
        self.totals.preemptions += u64::from(step.preempted);
        self.count_busy(step);
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
        for (time, times) in times {
            if let Some(time) = time {
                times.add(time, self.exact);
            }
        }
        if let Some(queue) = record.waiting() {
            self.trend.add(index, queue);
        }
        if self.limits.is_some_and(|limits| limits.are_met_by(record)) {
            self.met += 1;
        }
        match record.outcome {
            Outcome::Completed(_) => self.totals.served(record),
            Outcome::Rejected(reason) => self.totals.rejected(reason),
        }
        if let Some(transfer) = record.timing().and_then(|timing| timing.kv_transfer) {
            self.totals.stages.transferred(&transfer);
        }
    }
}
