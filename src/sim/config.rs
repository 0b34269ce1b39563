//! The configuration of a simulated server.

mod fit;
mod role;
mod validate;

pub use role::Role;

use crate::engine::{self, EngineStack, Scheduling, SchedulingRules};
pub use crate::engine::{PrefixCaching, SchedulingPolicy};
use crate::model::KvGroups;
use crate::sim::Speculation;
use crate::sim::request::LAST_ARRIVAL_NS;

/// Limits and policy of a server, named as in vLLM.
///
/// ```
/// use rooflut::sim::SimConfig;
/// let config = SimConfig::new(8_192, 27_000).with_max_num_seqs(256);
/// assert_eq!(config.max_num_batched_tokens, 2_048);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", deny_unknown_fields))]
pub struct SimConfig {
    /// Maximum number of running requests.
    pub max_num_seqs: u32,
    /// Maximum tokens per step; at least `max_num_seqs`, as in vLLM.
    pub max_num_batched_tokens: u32,
    /// Maximum tokens per step of one prompt; `None` for the budget of the step, as vLLM's 0. Other requests are
    /// admitted beside a prompt that is cut by it, so that several may be partial. It cuts drafts, too.
    pub long_prefill_token_threshold: Option<u32>,
    /// Maximum tokens of prompt and output of a request.
    pub max_model_len: u32,
    /// Number of KV blocks.
    pub kv_blocks: u32,
    /// The groups of layers that share the KV blocks, and the window or chunk of those that do not read all tokens.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kv_groups: KvGroups,
    /// Tokens per KV block.
    pub block_size: u32,
    /// Whether freed blocks keep their contents until they are reused.
    pub prefix_caching: PrefixCaching,
    /// Share of the KV blocks that admission leaves free while requests run, at least 0 and below 1. vLLM has it from
    /// 0.24 on (checked there), with 0 as its default.
    pub watermark: f64,
    /// Order in which waiting requests are admitted.
    pub policy: SchedulingPolicy,
    /// Maximum queue length. Requests that arrive when the queue is full are rejected.
    pub max_waiting: Option<u32>,
    /// How long a client waits for the first token, in nanoseconds from the arrival; `None` for as long as it takes.
    /// A request whose last prompt chunk is not scheduled by then is aborted at the next step boundary and rejected
    /// as [`Abandoned`](crate::sim::Rejection::Abandoned).
    #[cfg_attr(feature = "serde", serde(default))]
    pub patience_ns: Option<u64>,
    /// Speculative decoding; `None` for one token per request and step.
    pub speculation: Option<Speculation>,
    /// Pipeline stages: batches in flight at a time. Those of a request are apart, as its next token needs the last.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub pipeline_parallel_size: u32,
    /// Role of this server: prefill, decode or both.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(in crate::sim) role: Role,
    /// Time per request outside of the engine's steps (HTTP, tokenizer, detokenizer), in nanoseconds. It
    /// passes before the engine sees the request and counts towards TTFT and E2E.
    pub api_server_ns: u64,
    /// Time that the API server spends on each token of a prompt, in nanoseconds. It processes one prompt after another,
    /// in the order of their arrival, before the time above.
    pub api_token_ns: u64,
    /// Time that the API server spends on the output of one request in a step, in nanoseconds. It processes the outputs
    /// of a step one after another, that of a new request last. The delay of the first token counts towards TTFT and
    /// E2E.
    pub api_output_ns: u64,
    /// Rules that differ between versions of the engine.
    pub rules: SchedulingRules,
}

impl SimConfig {
    /// The last arrival allowed, 292 years after the start.
    pub const LAST_ARRIVAL_NS: u64 = LAST_ARRIVAL_NS;

    /// Creates a configuration with `max_model_len` and `kv_blocks`, and otherwise the defaults of vLLM's
    /// `SchedulerConfig` and the rules of [`engine::DEFAULT`].
    ///
    /// These are 128 sequences, 2,048 tokens per step, blocks of 16 tokens and prefix caching. The API server takes no
    /// time. What `vllm serve` takes depends on the GPU ([`ServeDefaults`](crate::engine::ServeDefaults));
    /// [`Deployment`](crate::Deployment) has it.
    pub const fn new(max_model_len: u32, kv_blocks: u32) -> SimConfig {
        SimConfig {
            max_num_seqs: 128,
            max_num_batched_tokens: 2_048,
            long_prefill_token_threshold: None,
            max_model_len,
            kv_blocks,
            kv_groups: KvGroups::ONE,
            block_size: 16,
            prefix_caching: PrefixCaching::Enabled,
            watermark: 0.0,
            policy: SchedulingPolicy::Fcfs,
            max_waiting: None,
            patience_ns: None,
            speculation: None,
            pipeline_parallel_size: 1,
            role: Role::Whole,
            api_server_ns: 0,
            api_token_ns: 0,
            api_output_ns: 0,
            rules: engine::DEFAULT.rules,
        }
    }

    /// Sets the rules and the API server's time to those of `engine`.
    ///
    /// ```
    /// use rooflut::engine::{Scheduling, stacks};
    /// use rooflut::sim::SimConfig;
    /// let config = SimConfig::new(8_192, 27_000).with_engine(&stacks::VLLM_0_11_0);
    /// assert_eq!(config.rules.scheduling, Scheduling::Synchronous);
    /// ```
    pub fn with_engine(self, engine: &EngineStack) -> SimConfig {
        SimConfig {
            rules: engine.rules,
            api_server_ns: engine.api_server.to_nanos(),
            api_token_ns: engine.api_token.to_nanos(),
            api_output_ns: engine.api_output.to_nanos(),
            ..self
        }
    }

    /// Sets the maximum queue length.
    #[must_use]
    pub const fn with_max_waiting(mut self, max_waiting: u32) -> SimConfig {
        self.max_waiting = Some(max_waiting);
        self
    }

    /// Sets how long a client waits for the first token, in nanoseconds.
    #[must_use]
    pub const fn with_patience_ns(mut self, patience_ns: u64) -> SimConfig {
        self.patience_ns = Some(patience_ns);
        self
    }

    /// Sets the maximum tokens per step of one prompt.
    #[must_use]
    pub const fn with_long_prefill_token_threshold(mut self, tokens: u32) -> SimConfig {
        self.long_prefill_token_threshold = Some(tokens);
        self
    }

    /// Sets the number of pipeline stages. A step of several is scheduled when its tokens are known
    /// ([`Scheduling::Synchronous`]), as in vLLM, also where [`scheduling`](SchedulingRules::scheduling) is ahead.
    #[must_use]
    pub const fn with_pipeline_parallel_size(mut self, stages: u32) -> SimConfig {
        self.pipeline_parallel_size = stages;
        if stages > 1 {
            self.rules.scheduling = Scheduling::Synchronous;
        }
        self
    }

    /// Sets speculative decoding.
    #[must_use]
    pub const fn with_speculation(mut self, speculation: Speculation) -> SimConfig {
        self.speculation = Some(speculation);
        self
    }

    /// Sets the role of the server, and drops the settings that the server of the other role has: a request passes the API
    /// server, the queue limit and the patience of its client before the prefill server, and the API server delays the
    /// outputs of the decode server.
    #[must_use]
    pub const fn with_role(mut self, role: Role) -> SimConfig {
        self.role = role;
        match role {
            Role::Whole => {}
            Role::Prefill => self.api_output_ns = 0,
            Role::Decode => {
                self.api_server_ns = 0;
                self.api_token_ns = 0;
                self.max_waiting = None;
                self.patience_ns = None;
            }
        }
        self
    }

    crate::setters! {
        /// Sets the maximum number of running requests.
        with_max_num_seqs(max_num_seqs: u32) => max_num_seqs;
        /// Sets the token budget of a step.
        with_max_num_batched_tokens(max_num_batched_tokens: u32) => max_num_batched_tokens;
        /// Sets the groups of layers that share the KV blocks.
        with_kv_groups(kv_groups: KvGroups) => kv_groups;
        /// Sets the tokens per KV block.
        with_block_size(block_size: u32) => block_size;
        /// Sets when the batch of a step is fixed.
        with_scheduling(scheduling: Scheduling) => rules.scheduling;
        /// Enables or disables prefix caching.
        with_prefix_caching(prefix_caching: PrefixCaching) => prefix_caching;
        /// Sets the share of the KV blocks that admission leaves free while requests run.
        with_watermark(watermark: f64) => watermark;
        /// Sets the order of admission.
        with_policy(policy: SchedulingPolicy) => policy;
        /// Sets the API server's time per request, in nanoseconds.
        with_api_server_ns(api_server_ns: u64) => api_server_ns;
        /// Sets the API server's time per token of a prompt, in nanoseconds.
        with_api_token_ns(api_token_ns: u64) => api_token_ns;
        /// Sets the API server's time per output of a step, in nanoseconds.
        with_api_output_ns(api_output_ns: u64) => api_output_ns;
    }

    /// Returns the maximum number of tokens in steps that have not ended while blocks behind a window are kept for
    /// them.
    pub(crate) fn in_flight_tokens(&self) -> u32 {
        let ahead = self.rules.scheduling == Scheduling::OneStepAhead;
        let steps = if ahead && self.rules.window_in_flight { 2 } else { 1 };
        self.max_num_batched_tokens.saturating_mul(steps)
    }

    /// Drafted tokens per request and step.
    pub(crate) fn draft_tokens(&self) -> u32 {
        self.speculation.map_or(0, |speculation| speculation.draft_tokens())
    }

    /// Drafted tokens that the step with the last of several chunks of a prompt verifies.
    pub(in crate::sim) fn chunk_drafts(&self) -> u32 {
        match (self.speculation, self.rules.scheduling) {
            (Some(speculation), Scheduling::Synchronous) if self.rules.chunk_drafts => speculation.lookahead_tokens(),
            _ => 0,
        }
    }

    /// Returns the last arrival whose client has given up by `now_ns` if it has no token; `None` if no client has.
    pub(in crate::sim) fn impatient_ns(&self, now_ns: u64) -> Option<u64> {
        now_ns.checked_sub(self.patience_ns?)
    }

    /// Returns whether several batches are in flight at a time.
    pub(crate) fn is_pipelined(&self) -> bool {
        self.pipeline_parallel_size > 1
    }

    /// Tokens of the budget that a decoding request takes: its token, its drafts and its slots.
    pub(crate) fn tokens_per_request(&self) -> u32 {
        1 + self.draft_tokens() + self.draft_slots()
    }

    /// Slots of the token budget that a scheduled request takes beyond its tokens.
    pub(in crate::sim) fn draft_slots(&self) -> u32 {
        let drafts =
            self.speculation.is_some_and(|speculation| speculation.lookahead_tokens() > 0 && !speculation.is_mtp());
        u32::from(drafts && self.rules.draft_slot)
    }
}

/// The pipeline stages of a file from before there were several.
#[cfg(feature = "serde")]
const fn one() -> u32 {
    1
}

#[cfg(feature = "serde")]
crate::checked!(SimConfig, SimConfig::validate);
