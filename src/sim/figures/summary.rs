//! Figures of a whole run.

use alloc::vec::Vec;

use crate::sim::RequestRecord;
use crate::sim::figures::{BatchStats, Drafts, Goodput, QueueGrowth, Stages, Stats, Totals};
use crate::units::Seconds;

/// Figures of a whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Summary {
    /// Requests served in full.
    pub completed: u64,
    /// Requests that were not served, abandoned ones included; the reasons are in their records.
    pub rejected: u64,
    /// Rejected requests whose clients gave up before the first token.
    #[cfg_attr(feature = "serde", serde(default))]
    pub abandoned: u64,
    /// Accepted requests whose output is cut at `max_model_len`.
    pub truncated: u64,
    /// Preemptions of running requests.
    pub preemptions: u64,
    /// Engine steps.
    pub steps: u64,
    /// Time from the first arrival of a served request to the last answer, as it leaves the API server.
    pub makespan: Seconds,
    /// Time to first token; `None` if no request was served.
    pub ttft: Option<Stats>,
    /// Time per output token after the first; `None` if no served request has a second token.
    pub tpot: Option<Stats>,
    /// Inter-token latency: all gaps between consecutive tokens of a request, where the tokens of one step count as
    /// one; `None` without gaps, or without an observer of gaps (`TokenGaps` or `Digest`).
    pub itl: Option<Stats>,
    /// Time from the arrival to the last token; `None` if no request was served.
    pub e2e: Option<Stats>,
    /// Time from arrival at the engine to the first scheduling; `None` if no request was served.
    pub queue: Option<Stats>,
    /// Maximum relative error of the percentiles of `ttft`, `tpot`, `e2e` and `queue`; 0 if they are exact. Means
    /// are always exact.
    pub percentile_error: f64,
    /// Queue times at the beginning and at the end; `None` if fewer than four requests were served.
    pub queue_growth: Option<QueueGrowth>,
    /// Requests served within latency limits; `None` without limits.
    pub goodput: Option<Goodput>,
    /// Served work per second of the makespan.
    pub throughput: Throughput,
    /// Counts of speculative decoding; `None` without it.
    pub drafts: Option<Drafts>,
    /// Figures of separate prefill and decode servers; `None` for others.
    pub stages: Option<Stages>,
    /// Use of the server.
    pub server: ServerUse,
    /// Batch sizes; `None` if there was no step, or without an observer for them
    /// ([`BatchSizes`](crate::sim::figures::BatchSizes) or `Digest`).
    pub batch: Option<BatchStats>,
    /// Use of the KV cache.
    pub kv: KvUse,
}

/// Work per second; 0 if no request was served.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Requests served.
    pub requests_per_s: f64,
    /// Tokens generated.
    pub output_tokens_per_s: f64,
    /// Tokens of prompts (cached ones included) and outputs.
    pub total_tokens_per_s: f64,
}

/// Use of the server over the makespan; 0 if no request was served.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ServerUse {
    /// Share of the time during which a step ran, averaged over the replicas.
    pub busy_share: f64,
    /// Running requests, averaged over the time and summed over the replicas.
    pub mean_running: f64,
}

/// Use of the KV cache. Prefix hits that are given with requests (`cached_prompt_tokens`) take no blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KvUse {
    /// Number of blocks.
    pub blocks: u32,
    /// Maximum number of blocks in use at any time.
    pub peak_blocks: u32,
    /// Blocks in use, averaged over the makespan.
    pub mean_blocks: f64,
    /// Share of the prompt tokens that were found in the prefix cache ([`Totals::prefix_hit_rate`]).
    pub prefix_hit_rate: Option<f64>,
}

/// The parts of a summary that come from single requests and steps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Latencies {
    pub(crate) ttft: Option<Stats>,
    pub(crate) tpot: Option<Stats>,
    pub(crate) itl: Option<Stats>,
    pub(crate) e2e: Option<Stats>,
    pub(crate) queue: Option<Stats>,
    pub(crate) batch: Option<BatchStats>,
    pub(crate) percentile_error: f64,
    pub(crate) queue_growth: Option<QueueGrowth>,
}

impl Latencies {
    /// Computes the figures of `records`; gaps between tokens and batch sizes are left out.
    pub(crate) fn of(records: &[RequestRecord]) -> Latencies {
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
    /// Creates the summary of a run that has ended.
    pub(crate) fn new(latencies: Latencies, totals: &Totals) -> Summary {
        let makespan = totals.makespan();
        let over_time = |amount_ns: f64| per_second(amount_ns / 1e9, makespan);
        Summary {
            completed: totals.completed,
            rejected: totals.rejected,
            abandoned: totals.abandoned,
            truncated: totals.truncated,
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
            stages: (totals.stages.prefill.replicas > 0).then_some(totals.stages),
            server: ServerUse {
                busy_share: over_time(totals.busy_ns as f64) / f64::from(totals.replicas.max(1)),
                mean_running: over_time(totals.running_ns as f64),
            },
            batch: latencies.batch,
            kv: KvUse {
                blocks: totals.kv_blocks,
                peak_blocks: totals.peak_kv_blocks,
                mean_blocks: over_time(totals.block_ns as f64),
                prefix_hit_rate: totals.prefix_hit_rate(),
            },
        }
    }
}

impl Summary {
    /// Returns the output tokens per second that a user sees after the first token: 1 over the mean of `tpot`, the
    /// harmonic mean over requests. `None` if no served request has a second token, or all tokens come at once.
    pub fn tokens_per_s_per_user(&self) -> Option<f64> {
        self.tpot.map(|tpot| tpot.mean.0).filter(|mean_s| *mean_s > 0.0).map(|mean_s| 1.0 / mean_s)
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

/// Returns `amount` per second of `time`; 0 for no time.
pub(crate) fn per_second(amount: f64, time: Seconds) -> f64 {
    if time > Seconds::ZERO { amount / time.0 } else { 0.0 }
}
