//! Counts of a run.

use crate::sim::figures::{Drafts, Stages};
use crate::sim::observer::StepRecord;
use crate::sim::record::span;
use crate::sim::{Rejection, RequestRecord};
use crate::units::Seconds;

/// Counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Totals {
    /// Number of replicas.
    pub replicas: u32,
    /// Requests served in full.
    pub completed: u64,
    /// Requests that were not served, abandoned and cancelled ones included.
    pub rejected: u64,
    /// Rejected requests whose clients gave up before the first token
    /// ([`Rejection::Abandoned`]). Their steps count; their tokens do not.
    #[cfg_attr(feature = "serde", serde(default))]
    pub abandoned: u64,
    /// Accepted requests whose output is cut at `max_model_len`
    /// ([`BeyondMaxModelLen::Truncate`](crate::engine::BeyondMaxModelLen)).
    pub truncated: u64,
    /// Requests of lost servers that started again ([`Outage`](crate::sim::cluster::Outage)); a request counts once for
    /// each server that it lost.
    #[cfg_attr(feature = "serde", serde(default))]
    pub restarted: u64,
    /// Preemptions of running requests.
    pub preemptions: u64,
    /// Engine steps.
    pub steps: u64,
    /// Time of all steps, in nanoseconds.
    pub busy_ns: u64,
    /// Running requests times nanoseconds, summed over the steps.
    pub running_ns: u128,
    /// KV blocks in use times nanoseconds, summed over the steps.
    pub block_ns: u128,
    /// Number of KV blocks.
    pub kv_blocks: u32,
    /// Maximum number of KV blocks in use at any time.
    pub peak_kv_blocks: u32,
    /// Blocks looked up in the prefix cache, by requests that can share tokens.
    pub cache_lookups: u64,
    /// Blocks found in the prefix cache.
    pub cache_hits: u64,
    /// Blocks evicted from the prefix cache.
    pub cache_evictions: u64,
    /// Counts of speculative decoding.
    pub drafts: Drafts,
    /// Figures of separate prefill and decode servers.
    pub stages: Stages,
    /// Output tokens of served requests.
    pub output_tokens: u64,
    /// Tokens of prompts (cached ones included) and outputs of served requests.
    pub tokens: u64,
    /// Prompt tokens of served requests that were found in the prefix cache at their first scheduling, the tokens
    /// given as cached included.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cached_tokens: u64,
    /// First arrival of a served request, and when the last answer left the API server, in nanoseconds from the start.
    pub span_ns: Option<(u64, u64)>,
}

impl Totals {
    /// Counts a step.
    #[inline]
    pub(crate) fn step(&mut self, step: &StepRecord, running: u32, blocks: u32) {
        self.steps += 1;
        self.busy_ns = self.busy_ns.saturating_add(step.duration_ns);
        self.running_ns += u128::from(step.duration_ns) * u128::from(running);
        self.block_ns += u128::from(step.duration_ns) * u128::from(blocks);
    }

    /// Counts the drafts of a step.
    pub(crate) fn drafts(&mut self, step: &StepRecord) {
        if step.drafted_tokens > 0 {
            self.drafts.verifications += u64::from(step.decode_requests.saturating_sub(step.overrun_requests));
            self.drafts.drafted_tokens += u64::from(step.drafted_tokens);
            self.drafts.accepted_tokens += u64::from(step.accepted_tokens);
            self.drafts.yielded_tokens += u64::from(step.yielded_tokens);
        }
    }

    /// Counts a request that was served.
    pub(crate) fn served(&mut self, record: &RequestRecord) {
        let Some(timing) = record.timing() else {
            return;
        };
        let request = &record.request;
        self.completed += 1;
        self.output_tokens += u64::from(request.output_tokens);
        self.tokens += request.tokens();
        self.cached_tokens += u64::from(timing.cached_tokens);
        let (first, last) = self.span_ns.unwrap_or((u64::MAX, 0));
        let answered_ns = record.answered_ns(timing.finish_ns);
        self.span_ns = Some((first.min(request.arrival_ns), last.max(answered_ns)));
    }

    /// Counts a request that was rejected or abandoned.
    pub(crate) fn rejected(&mut self, reason: Rejection) {
        self.rejected += 1;
        self.abandoned += u64::from(matches!(reason, Rejection::Abandoned { .. }));
    }

    /// Returns the totals without the counts of requests.
    pub(crate) fn without_requests(self) -> Totals {
        Totals {
            completed: 0,
            rejected: 0,
            abandoned: 0,
            truncated: 0,
            restarted: 0,
            output_tokens: 0,
            tokens: 0,
            cached_tokens: 0,
            span_ns: None,
            ..self
        }
    }

    /// Adds the totals of another replica.
    pub(crate) fn plus(self, other: Totals) -> Totals {
        let span_ns = match (self.span_ns, other.span_ns) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, None) | (None, one) => one,
        };
        Totals {
            replicas: self.replicas + other.replicas,
            completed: self.completed + other.completed,
            rejected: self.rejected + other.rejected,
            abandoned: self.abandoned + other.abandoned,
            truncated: self.truncated + other.truncated,
            restarted: self.restarted + other.restarted,
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
                yielded_tokens: self.drafts.yielded_tokens + other.drafts.yielded_tokens,
            },
            // At most one of the two has figures of separate servers.
            stages: match self.stages.prefill.replicas {
                0 => other.stages,
                _ => self.stages,
            },
            output_tokens: self.output_tokens + other.output_tokens,
            tokens: self.tokens + other.tokens,
            cached_tokens: self.cached_tokens + other.cached_tokens,
            span_ns,
        }
    }

    /// Returns the share of the prompt tokens of served requests that were found in the prefix cache: vLLM's
    /// `prefix_cache_hits` over `prefix_cache_queries`, which count a request when it is first admitted and not again
    /// after a preemption. `None` if no request was served.
    pub fn prefix_hit_rate(&self) -> Option<f64> {
        let prompts = self.tokens.saturating_sub(self.output_tokens);
        (prompts > 0).then(|| self.cached_tokens as f64 / prompts as f64)
    }

    /// Returns the time from the first arrival of a served request to the last answer, as it leaves the API server.
    pub fn makespan(&self) -> Seconds {
        let (first, last) = self.span_ns.unwrap_or((0, 0));
        span(first, last)
    }
}
