//! Figures of a whole run.

use alloc::vec::Vec;

use crate::sim::RequestRecord;
use crate::sim::observer::StepRecord;
use crate::sim::record::span;
use crate::units::Seconds;

/// Figures of a whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Requests served in full.
    pub completed: u64,
    /// Requests that can never be served; their records have the reasons.
    pub rejected: u64,
    /// How often a running request lost its KV blocks.
    pub preemptions: u64,
    /// Engine steps.
    pub steps: u64,
    /// From the first arrival of a served request to the last token.
    pub makespan: Seconds,
    /// Time to first token; none if nothing was served.
    pub ttft: Option<Stats>,
    /// Time per output token after the first; none if no served request has a second token.
    pub tpot: Option<Stats>,
    /// Time from the arrival to the last token; none if nothing was served.
    pub e2e: Option<Stats>,
    /// Time from the arrival to the first scheduling; none if nothing was served.
    pub queue: Option<Stats>,
    /// Served work per second of the makespan.
    pub throughput: Throughput,
    /// Use of the KV cache.
    pub kv: KvUse,
}

/// Mean and percentiles over requests.
///
/// A percentile between two values is interpolated linearly, as numpy does by default.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Arithmetic mean.
    pub mean: Seconds,
    /// Median.
    pub p50: Seconds,
    /// 90th percentile.
    pub p90: Seconds,
    /// 99th percentile.
    pub p99: Seconds,
}

/// Work per second; zero if nothing was served.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Throughput {
    /// Requests served.
    pub requests_per_s: f64,
    /// Tokens generated.
    pub output_tokens_per_s: f64,
    /// Tokens of prompts, cached ones included, and of outputs.
    pub total_tokens_per_s: f64,
}

/// Use of the KV cache; shared blocks of prefix hits do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct KvUse {
    /// Blocks that exist.
    pub blocks: u32,
    /// The most blocks that were held at any time.
    pub peak_blocks: u32,
    /// Blocks held, averaged over the makespan.
    pub mean_blocks: f64,
}

/// What a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Requests served in full.
    pub completed: u64,
    /// Requests that can never be served.
    pub rejected: u64,
    /// How often a running request lost its KV blocks.
    pub preemptions: u64,
    /// Engine steps.
    pub steps: u64,
    /// Time of all steps, nanoseconds.
    pub busy_ns: u64,
    /// Sum over the steps of requests that held a slot times nanoseconds.
    pub running_ns: u128,
    /// Sum over the steps of held KV blocks times nanoseconds.
    pub block_ns: u128,
    /// KV blocks that exist.
    pub kv_blocks: u32,
    /// The most KV blocks that were held at any time.
    pub peak_kv_blocks: u32,
    /// Blocks that were looked up in the prefix cache, by requests that share tokens.
    pub cache_lookups: u64,
    /// Those of them that were found.
    pub cache_hits: u64,
    /// Blocks whose contents were lost to others.
    pub cache_evictions: u64,
    /// Tokens that served requests generated.
    pub output_tokens: u64,
    /// Tokens of prompts, cached ones included, and of outputs of served requests.
    pub tokens: u64,
    /// First arrival of a served request, and last end of one, nanoseconds from the start.
    pub span_ns: Option<(u64, u64)>,
}

impl Totals {
    /// Counts a step.
    #[inline]
    pub(super) fn step(&mut self, step: &StepRecord, running: u32, blocks: u32) {
        self.steps += 1;
        self.busy_ns = self.busy_ns.saturating_add(step.duration_ns);
        self.running_ns += u128::from(step.duration_ns) * u128::from(running);
        self.block_ns += u128::from(step.duration_ns) * u128::from(blocks);
    }

    /// Counts a request that was served.
    pub(super) fn served(&mut self, record: &RequestRecord) {
        let Some(timing) = record.timing() else {
            return;
        };
        let request = &record.request;
        self.completed += 1;
        self.output_tokens += u64::from(request.output_tokens);
        self.tokens += request.tokens();
        let (first, last) = self.span_ns.unwrap_or((u64::MAX, 0));
        self.span_ns = Some((first.min(request.arrival_ns), last.max(timing.finish_ns)));
    }

    /// These and those of another replica.
    pub(super) fn plus(self, other: Totals) -> Totals {
        let span_ns = match (self.span_ns, other.span_ns) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, None) | (None, one) => one,
        };
        Totals {
            completed: self.completed + other.completed,
            rejected: self.rejected + other.rejected,
            preemptions: self.preemptions + other.preemptions,
            steps: self.steps + other.steps,
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            running_ns: self.running_ns + other.running_ns,
            block_ns: self.block_ns + other.block_ns,
            kv_blocks: self.kv_blocks.saturating_add(other.kv_blocks),
            peak_kv_blocks: self.peak_kv_blocks.saturating_add(other.peak_kv_blocks),
            cache_lookups: self.cache_lookups + other.cache_lookups,
            cache_hits: self.cache_hits + other.cache_hits,
            cache_evictions: self.cache_evictions + other.cache_evictions,
            output_tokens: self.output_tokens + other.output_tokens,
            tokens: self.tokens + other.tokens,
            span_ns,
        }
    }

    /// From the first arrival of a served request to the last token.
    pub fn makespan(&self) -> Seconds {
        let (first, last) = self.span_ns.unwrap_or((0, 0));
        span(first, last)
    }
}

impl Summary {
    /// The figures of a run that has ended.
    pub(super) fn new(records: &[RequestRecord], totals: &Totals) -> Summary {
        let mut values = Vec::with_capacity(records.len());
        let mut stats = |of: fn(&RequestRecord) -> Option<Seconds>| {
            values.clear();
            values.extend(records.iter().filter_map(of));
            Stats::of(&mut values)
        };
        let makespan = totals.makespan();
        Summary {
            completed: totals.completed,
            rejected: totals.rejected,
            preemptions: totals.preemptions,
            steps: totals.steps,
            makespan,
            ttft: stats(RequestRecord::ttft),
            tpot: stats(RequestRecord::tpot),
            e2e: stats(RequestRecord::e2e),
            queue: stats(RequestRecord::queue),
            throughput: Throughput::of(totals),
            kv: KvUse {
                blocks: totals.kv_blocks,
                peak_blocks: totals.peak_kv_blocks,
                mean_blocks: per_second(totals.block_ns as f64 / 1e9, makespan),
            },
        }
    }
}

impl Stats {
    /// Sorts `values`; none if there are none.
    ///
    /// The mean adds up in ascending order, so that the order of the requests does not show in it.
    fn of(values: &mut [Seconds]) -> Option<Stats> {
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let sum: Seconds = values.iter().copied().sum();
        Some(Stats {
            mean: Seconds(sum.0 / values.len() as f64),
            p50: percentile(values, 50)?,
            p90: percentile(values, 90)?,
            p99: percentile(values, 99)?,
        })
    }
}

/// The value below which `percent` of the sorted values lie.
fn percentile(sorted: &[Seconds], percent: usize) -> Option<Seconds> {
    let rank = sorted.len().checked_sub(1)? * percent; // in hundredths
    let low = sorted.get(rank / 100)?;
    let high = sorted.get(rank.div_ceil(100))?;
    let share = (rank % 100) as f64 / 100.0;
    Some(Seconds(low.0 + (high.0 - low.0) * share))
}

impl Throughput {
    fn of(totals: &Totals) -> Throughput {
        let makespan = totals.makespan();
        Throughput {
            requests_per_s: per_second(totals.completed as f64, makespan),
            output_tokens_per_s: per_second(totals.output_tokens as f64, makespan),
            total_tokens_per_s: per_second(totals.tokens as f64, makespan),
        }
    }
}

/// `amount` over `time`; zero over no time, in which nothing was served.
fn per_second(amount: f64, time: Seconds) -> f64 {
    if time > Seconds::ZERO {
        amount / time.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Outcome, Request, Timing};

    fn seconds(values: &[f64]) -> Vec<Seconds> {
        values.iter().copied().map(Seconds).collect()
    }

    #[test]
    fn percentiles_interpolate_as_numpy_does() {
        let stats = Stats::of(&mut seconds(&[4.0, 1.0, 3.0, 2.0])).unwrap();
        // numpy.percentile([1, 2, 3, 4], [50, 90, 99])
        assert_eq!(stats.p50, Seconds(2.5));
        assert!((stats.p90.0 - 3.7).abs() < 1e-12);
        assert!((stats.p99.0 - 3.97).abs() < 1e-12);
        assert_eq!(stats.mean, Seconds(2.5));
    }

    #[test]
    fn one_value_is_every_percentile_and_none_has_none() {
        let stats = Stats::of(&mut seconds(&[0.25])).unwrap();
        assert_eq!(
            [stats.mean, stats.p50, stats.p90, stats.p99],
            [Seconds(0.25); 4]
        );
        assert_eq!(Stats::of(&mut []), None);
    }

    #[test]
    fn throughput_counts_served_requests_from_their_first_arrival() {
        let request = |arrival_ns| Request {
            arrival_ns,
            prompt_tokens: 30,
            output_tokens: 10,
            cached_prompt_tokens: 16,
            ..Request::default()
        };
        let served = |arrival_ns, finish_ns| RequestRecord {
            request: request(arrival_ns),
            outcome: Outcome::Completed(Timing {
                finish_ns,
                ..Timing::default()
            }),
        };
        let mut totals = Totals::default();
        assert_eq!(Throughput::of(&totals), Throughput::default());
        totals.served(&served(3_000_000_000, 4_000_000_000));
        totals.served(&served(2_000_000_000, 6_000_000_000));
        assert_eq!(totals.makespan(), Seconds(4.0));
        let throughput = Throughput::of(&totals);
        assert_eq!(throughput.requests_per_s.to_bits(), 0.5_f64.to_bits());
        assert_eq!(throughput.output_tokens_per_s.to_bits(), 5.0_f64.to_bits());
        assert_eq!(throughput.total_tokens_per_s.to_bits(), 20.0_f64.to_bits());
    }
}
