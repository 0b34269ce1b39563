//! Figures of a whole run.

use alloc::vec::Vec;

use crate::sim::observer::StepRecord;
use crate::sim::record::span;
use crate::sim::{BatchStats, Goodput, QueueGrowth, RequestRecord, Stats};
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
    /// Inter-token latency: all gaps between consecutive tokens of a request; none if there are none,
    /// or if nobody looked at each step (`TokenGaps` does, and `Digest`).
    pub itl: Option<Stats>,
    /// Time from the arrival to the last token; none if nothing was served.
    pub e2e: Option<Stats>,
    /// Time from the engine's first sight to the first scheduling; none if nothing was served.
    pub queue: Option<Stats>,
    /// The largest relative error of the percentiles of `ttft`, `tpot`, `e2e` and `queue`: 0 where they
    /// are exact. Means are exact.
    pub percentile_error: f64,
    /// Queue times at the beginning and at the end; none where fewer than four requests were served.
    pub queue_growth: Option<QueueGrowth>,
    /// Requests served within limits; none if nobody gave any.
    pub goodput: Option<Goodput>,
    /// Served work per second of the makespan.
    pub throughput: Throughput,
    /// Drafted tokens; none without speculative decoding.
    pub drafts: Option<Drafts>,
    /// KV entries that moved; none where prefill and decode share servers.
    pub transfers: Option<Transfers>,
    /// Use of the server.
    pub server: ServerUse,
    /// Requests that a step computes; none if there was no step, or if nobody looked at each
    /// ([`BatchSizes`](crate::sim::BatchSizes) does, and `Digest`).
    pub batch: Option<BatchStats>,
    /// Use of the KV cache.
    pub kv: KvUse,
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

/// How busy the server was, over the makespan; zero if nothing was served.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct ServerUse {
    /// Share of the time in which a step ran, averaged over the replicas.
    pub busy_share: f64,
    /// Requests that held a sequence slot, averaged over the time, of all replicas.
    pub mean_running: f64,
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

/// Tokens of speculative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Drafts {
    /// Requests that verified drafts, counted in each step.
    pub verifications: u64,
    /// Tokens that were drafted and verified.
    pub drafted_tokens: u64,
    /// Those of them that were accepted, the ones beyond the end of a request included.
    pub accepted_tokens: u64,
}

impl Drafts {
    /// Tokens that a step yielded for each request that verified drafts, on average.
    pub fn tokens_per_step(&self) -> f64 {
        1.0 + self.accepted_tokens as f64 / self.verifications as f64
    }

    /// Share of the drafted tokens that were accepted.
    pub fn accepted_share(&self) -> f64 {
        self.accepted_tokens as f64 / self.drafted_tokens as f64
    }
}

/// KV entries that move from prefill to decode servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Transfers {
    /// Links, one for each prefill server.
    pub links: u32,
    /// Requests whose KV entries moved.
    pub requests: u64,
    /// Time in which a link was sending, nanoseconds of all links.
    pub link_ns: u128,
    /// From the end of the prefill to the arrival of the entries, nanoseconds of all requests.
    pub delay_ns: u128,
    /// From there to the first scheduling on the decode server, nanoseconds of all requests that were served.
    pub decode_queue_ns: u128,
}

impl Transfers {
    /// From the end of the prefill to the arrival of the entries, on average.
    pub fn mean_delay(&self) -> Seconds {
        self.mean(self.delay_ns)
    }

    /// From the arrival of the entries to the first scheduling on the decode server, on average.
    pub fn mean_decode_queue(&self) -> Seconds {
        self.mean(self.decode_queue_ns)
    }

    fn mean(&self, sum_ns: u128) -> Seconds {
        Seconds(sum_ns as f64 / 1e9 / self.requests.max(1) as f64)
    }

    /// Share of the makespan in which a link was sending, on average.
    pub fn link_share(&self, makespan: Seconds) -> f64 {
        per_second(self.link_ns as f64 / 1e9, makespan) / f64::from(self.links.max(1))
    }
}

/// What a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Replicas that served.
    pub replicas: u32,
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
    /// Tokens of speculative decoding.
    pub drafts: Drafts,
    /// KV entries that moved between servers.
    pub transfers: Transfers,
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

    /// Counts the drafts of a step.
    pub(super) fn drafts(&mut self, step: &StepRecord) {
        if step.drafted_tokens > 0 {
            self.drafts.verifications += u64::from(step.decode_requests);
            self.drafts.drafted_tokens += u64::from(step.drafted_tokens);
            self.drafts.accepted_tokens += u64::from(step.accepted_tokens);
        }
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

    /// The same without what is counted by request: of those, each is counted where it leaves.
    pub(super) fn without_requests(self) -> Totals {
        Totals {
            completed: 0,
            rejected: 0,
            output_tokens: 0,
            tokens: 0,
            span_ns: None,
            ..self
        }
    }

    /// These and those of another replica.
    pub(super) fn plus(self, other: Totals) -> Totals {
        let span_ns = match (self.span_ns, other.span_ns) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, None) | (None, one) => one,
        };
        Totals {
            replicas: self.replicas + other.replicas,
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
            drafts: Drafts {
                verifications: self.drafts.verifications + other.drafts.verifications,
                drafted_tokens: self.drafts.drafted_tokens + other.drafts.drafted_tokens,
                accepted_tokens: self.drafts.accepted_tokens + other.drafts.accepted_tokens,
            },
            transfers: Transfers {
                links: self.transfers.links + other.transfers.links,
                requests: self.transfers.requests + other.transfers.requests,
                link_ns: self.transfers.link_ns + other.transfers.link_ns,
                delay_ns: self.transfers.delay_ns + other.transfers.delay_ns,
                decode_queue_ns: self.transfers.decode_queue_ns + other.transfers.decode_queue_ns,
            },
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

/// What a summary says of requests, and of steps, one by one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Latencies {
    pub(super) ttft: Option<Stats>,
    pub(super) tpot: Option<Stats>,
    pub(super) itl: Option<Stats>,
    pub(super) e2e: Option<Stats>,
    pub(super) queue: Option<Stats>,
    pub(super) batch: Option<BatchStats>,
    pub(super) percentile_error: f64,
    pub(super) queue_growth: Option<QueueGrowth>,
}

impl Latencies {
    /// Those of all records, exactly; but for what only steps tell: the gaps between tokens and the batches.
    pub(super) fn of(records: &[RequestRecord]) -> Latencies {
        let mut values = Vec::with_capacity(records.len());
        let mut stats = |of: fn(&RequestRecord) -> Option<Seconds>| {
            values.clear();
            values.extend(records.iter().filter_map(of));
            Stats::of(&mut values)
        };
        Latencies {
            ttft: stats(RequestRecord::ttft),
            tpot: stats(RequestRecord::tpot),
            e2e: stats(RequestRecord::e2e),
            queue: stats(RequestRecord::queue),
            queue_growth: QueueGrowth::of(records),
            ..Latencies::default()
        }
    }
}

impl Summary {
    /// The figures of a run that has ended.
    pub(super) fn new(latencies: Latencies, totals: &Totals) -> Summary {
        let makespan = totals.makespan();
        let over_time = |amount_ns: f64| per_second(amount_ns / 1e9, makespan);
        Summary {
            completed: totals.completed,
            rejected: totals.rejected,
            preemptions: totals.preemptions,
            steps: totals.steps,
            makespan,
            ttft: latencies.ttft,
            tpot: latencies.tpot,
            itl: latencies.itl,
            e2e: latencies.e2e,
            queue: latencies.queue,
            percentile_error: latencies.percentile_error,
            queue_growth: latencies.queue_growth,
            goodput: None,
            throughput: Throughput::of(totals),
            drafts: (totals.drafts.drafted_tokens > 0).then_some(totals.drafts),
            transfers: (totals.transfers.links > 0).then_some(totals.transfers),
            server: ServerUse {
                busy_share: over_time(totals.busy_ns as f64) / f64::from(totals.replicas.max(1)),
                mean_running: over_time(totals.running_ns as f64),
            },
            batch: latencies.batch,
            kv: KvUse {
                blocks: totals.kv_blocks,
                peak_blocks: totals.peak_kv_blocks,
                mean_blocks: over_time(totals.block_ns as f64),
            },
        }
    }
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
pub(super) fn per_second(amount: f64, time: Seconds) -> f64 {
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
