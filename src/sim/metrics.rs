//! Figures of a whole run.

use alloc::vec::Vec;

use crate::sim::RequestRecord;
use crate::sim::kv_cache::KvCache;
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

/// What a run counts beside its records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) completed: u64,
    pub(super) rejected: u64,
    pub(super) preemptions: u64,
    pub(super) steps: u64,
    /// Sum over the steps of held blocks times duration.
    pub(super) block_ns: u128,
}

impl Summary {
    /// The figures of a run that has ended.
    pub(super) fn new(records: &[RequestRecord], counters: Counters, kv: &KvCache) -> Summary {
        let mut values = Vec::with_capacity(records.len());
        let mut stats = |of: fn(&RequestRecord) -> Option<Seconds>| {
            values.clear();
            values.extend(records.iter().filter_map(of));
            Stats::of(&mut values)
        };
        let makespan = makespan(records);
        Summary {
            completed: counters.completed,
            rejected: counters.rejected,
            preemptions: counters.preemptions,
            steps: counters.steps,
            makespan,
            ttft: stats(RequestRecord::ttft),
            tpot: stats(RequestRecord::tpot),
            e2e: stats(RequestRecord::e2e),
            queue: stats(RequestRecord::queue),
            throughput: Throughput::of(records, makespan),
            kv: KvUse {
                blocks: kv.blocks(),
                peak_blocks: kv.peak_used(),
                mean_blocks: per_second(counters.block_ns as f64 / 1e9, makespan),
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
    fn of(records: &[RequestRecord], makespan: Seconds) -> Throughput {
        let (mut requests, mut output, mut total) = (0_u64, 0_u64, 0_u64);
        for record in records.iter().filter(|record| record.timing().is_some()) {
            requests += 1;
            output += u64::from(record.request.output_tokens);
            total += record.request.tokens();
        }
        Throughput {
            requests_per_s: per_second(requests as f64, makespan),
            output_tokens_per_s: per_second(output as f64, makespan),
            total_tokens_per_s: per_second(total as f64, makespan),
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

fn makespan(records: &[RequestRecord]) -> Seconds {
    let served = || records.iter().filter_map(|r| Some((r, r.timing()?)));
    let start = served().map(|(record, _)| record.request.arrival_ns).min();
    let end = served().map(|(_, timing)| timing.finish_ns).max();
    span(start.unwrap_or(0), end.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::sim::{Outcome, Rejection, Request, Timing};

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
        let rejected = RequestRecord {
            request: request(0),
            outcome: Outcome::Rejected(Rejection::EmptyOutput),
        };
        let records = vec![
            rejected,
            served(3_000_000_000, 4_000_000_000),
            served(2_000_000_000, 6_000_000_000),
        ];
        assert_eq!(makespan(&records), Seconds(4.0));
        let throughput = Throughput::of(&records, makespan(&records));
        assert_eq!(throughput.requests_per_s.to_bits(), 0.5_f64.to_bits());
        assert_eq!(throughput.output_tokens_per_s.to_bits(), 5.0_f64.to_bits());
        assert_eq!(throughput.total_tokens_per_s.to_bits(), 20.0_f64.to_bits());
        assert_eq!(
            Throughput::of(&[rejected], Seconds::ZERO),
            Throughput::default()
        );
    }
}
