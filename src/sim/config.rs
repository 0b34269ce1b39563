//! The configuration of a simulated server.

use crate::engine::{
    BeyondMaxModelLen, DraftScheduling, EngineStack, Scheduling, SchedulingRules, stacks,
};
use crate::model::{KvGroups, Parallelism, Span};
use crate::sim::request::LAST_ARRIVAL_NS;
use crate::sim::{Rejection, Request, SimError, Speculation};

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
    /// 0.33 on (checked there), with 0 as its default.
    pub watermark: f64,
    /// Order in which waiting requests are admitted.
    pub policy: SchedulingPolicy,
    /// Maximum queue length. Requests that arrive when the queue is full are rejected.
    pub max_waiting: Option<u32>,
    /// Speculative decoding; `None` for one token per request and step.
    pub speculation: Option<Speculation>,
    /// Pipeline stages: batches in flight at a time. Those of a request are apart, as its next token needs the last.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub pipeline_parallel_size: u32,
    /// Role of this server: prefill and decode, or decode only.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) role: Role,
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

/// Whether freed KV blocks keep their contents until they are reused.
///
/// A prefix hit that is given with a request (`cached_prompt_tokens`) counts in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PrefixCaching {
    /// Freed blocks keep their contents and are reused least recently used first. A request reuses the
    /// blocks of a common prefix, a preempted request its own.
    #[default]
    Enabled,
    /// Every prompt is computed in full, after a preemption again.
    Disabled,
}

crate::names!(PrefixCaching {
    Enabled => "on",
    Disabled => "off",
});

/// Order in which waiting requests are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SchedulingPolicy {
    /// First come, first served; preempted requests before all others.
    #[default]
    Fcfs,
    /// Shortest prompt first; ties by arrival.
    ShortestPrompt,
    /// Smallest priority number first; ties by arrival. Preempts the running request with the largest number (ties:
    /// the latest arrival), even if it has its token in the step.
    Priority,
}

crate::names!(SchedulingPolicy {
    Fcfs => "fcfs",
    ShortestPrompt => "shortest-prompt",
    Priority => "priority",
});

/// Role of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Role {
    /// Prefill and decode.
    #[default]
    Whole,
    /// Decode only; the KV entries of the prompt come from a prefill server.
    Decode,
}

impl SimConfig {
    /// The last arrival allowed, 292 years after the start.
    pub const LAST_ARRIVAL_NS: u64 = LAST_ARRIVAL_NS;

    /// Creates a configuration with `max_model_len` and `kv_blocks`, and otherwise the defaults of vLLM 0.15.
    ///
    /// These are 128 sequences, 2,048 tokens per step, blocks of 16 tokens, prefix caching, and the rules of vLLM
    /// 0.15.1. The API server takes no time.
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
            speculation: None,
            pipeline_parallel_size: 1,
            role: Role::Whole,
            api_server_ns: 0,
            api_token_ns: 0,
            api_output_ns: 0,
            rules: stacks::VLLM_0_15_1.rules,
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

    /// Checks that a server with these limits can serve `request`, at least alone.
    ///
    /// # Errors
    ///
    /// [`Rejection`] for an empty prompt or output, a request that is too long or arrives too late, and one
    /// that needs more KV blocks than there are. With [`BeyondMaxModelLen::Truncate`] a request is too long only if its
    /// prompt leaves no room for a token.
    pub fn check(&self, request: &Request) -> Result<(), Rejection> {
        let request = &Request {
            output_tokens: self.served_output(request),
            ..*request
        };
        if request.prompt_tokens == 0 {
            return Err(Rejection::EmptyPrompt);
        }
        if request.output_tokens == 0 {
            return Err(Rejection::EmptyOutput);
        }
        if request.tokens() > u64::from(self.max_model_len) {
            return Err(Rejection::TooLong {
                tokens: request.tokens(),
                max_model_len: self.max_model_len,
            });
        }
        if request.arrival_ns > Self::LAST_ARRIVAL_NS {
            let arrival_ns = request.arrival_ns;
            return Err(Rejection::TooLate { arrival_ns });
        }
        let blocks = self.blocks_for(request);
        if blocks > self.kv_blocks {
            return Err(Rejection::TooManyBlocks {
                blocks,
                kv_blocks: self.kv_blocks,
            });
        }
        Ok(())
    }

    /// Returns the output tokens of a request as the server serves it: cut at `max_model_len` if that is the rule.
    pub(super) fn served_output(&self, request: &Request) -> u32 {
        let room = self.max_model_len.saturating_sub(request.prompt_tokens);
        if self.rules.beyond_max_model_len == BeyondMaxModelLen::Truncate && room > 0 {
            request.output_tokens.min(room)
        } else {
            request.output_tokens
        }
    }

    /// Returns the KV blocks that admission leaves free while requests run.
    pub(super) fn watermark_blocks(&self) -> u32 {
        // vLLM counts its null block, too.
        (self.watermark * (f64::from(self.kv_blocks) + 1.0)) as u32
    }

    /// KV blocks that `request` needs at its longest.
    pub(super) fn blocks_for(&self, request: &Request) -> u32 {
        let longest = u64::from(self.max_model_len);
        // The last token is sampled and not computed.
        let kv_tokens = request.tokens().saturating_sub(1);
        let (drafts, lookahead) = match self.speculation {
            Some(speculation) => self.drafts_for(request, speculation),
            None => (0, 0),
        };
        let kv_tokens = (kv_tokens + u64::from(drafts)).min(longest.saturating_sub(1));
        // At most a u32, `max_model_len`.
        let kv_tokens = (kv_tokens + u64::from(lookahead)).min(longest) as u32;
        self.kv_groups
            .blocks(kv_tokens, self.block_size, self.in_flight_tokens())
    }

    /// Returns the drafted tokens of `request` that are computed after its last one, and those that are reserved beyond
    /// them.
    fn drafts_for(&self, request: &Request, speculation: Speculation) -> (u32, u32) {
        // The drafts of the last verification are computed; a single output token needs none, unless its prompt is
        // cached and padded, or has several chunks. One step ahead, the drafts of the step in flight may be accepted,
        // too. Some engines reserve slots of a draft model for running requests only: not with the first chunk of a
        // prompt.
        let room = self.max_model_len.saturating_sub(request.prompt_tokens);
        let chunk = self.long_prefill_token_threshold.unwrap_or(u32::MAX);
        let chunked = request.prompt_tokens > self.max_num_batched_tokens.min(chunk);
        let padded = self.rules.pad_spec_decode && self.draft_tokens() < room
            || chunked && self.chunk_drafts() > 0;
        let samples = request.output_tokens.saturating_sub(u32::from(!padded));
        let reserves = samples > 0 || self.rules.admission_lookahead || chunked;
        let verifications = match self.rules.scheduling {
            Scheduling::Synchronous => samples.min(1),
            Scheduling::OneStepAhead => samples.min(2),
        };
        let lookahead = if reserves {
            speculation.lookahead_tokens()
        } else {
            0
        };
        (verifications * self.draft_tokens(), lookahead)
    }

    /// Returns the maximum number of tokens in steps that have not ended while blocks behind a window are kept for
    /// them.
    pub(crate) fn in_flight_tokens(&self) -> u32 {
        let ahead = self.rules.scheduling == Scheduling::OneStepAhead;
        let steps = if ahead && self.rules.window_in_flight {
            2
        } else {
            1
        };
        self.max_num_batched_tokens.saturating_mul(steps)
    }

    /// Drafted tokens per request and step.
    pub(crate) fn draft_tokens(&self) -> u32 {
        self.speculation
            .map_or(0, |speculation| speculation.draft_tokens())
    }

    /// Drafted tokens that the step with the last of several chunks of a prompt verifies.
    pub(super) fn chunk_drafts(&self) -> u32 {
        match (self.speculation, self.rules.scheduling) {
            (Some(speculation), Scheduling::Synchronous) if self.rules.chunk_drafts => {
                speculation.lookahead_tokens()
            }
            _ => 0,
        }
    }

    /// Returns whether several batches are in flight at a time.
    pub(crate) fn is_pipelined(&self) -> bool {
        self.pipeline_parallel_size > 1
    }

    /// Slots of the token budget that a scheduled request takes beyond its tokens.
    pub(super) fn draft_slots(&self) -> u32 {
        let drafts = self
            .speculation
            .is_some_and(|speculation| speculation.lookahead_tokens() > 0 && !speculation.is_mtp());
        u32::from(drafts && self.rules.draft_slot)
    }

    /// Checks that a step can run under these limits.
    pub(crate) fn validate(&self) -> Result<(), SimError> {
        let limits = [
            ("max_num_seqs", self.max_num_seqs),
            ("max_num_batched_tokens", self.max_num_batched_tokens),
            (
                "long_prefill_token_threshold",
                self.long_prefill_token_threshold.unwrap_or(u32::MAX),
            ),
            ("max_model_len", self.max_model_len),
            ("kv_blocks", self.kv_blocks),
            ("block_size", self.block_size),
            ("kv_groups", self.kv_groups.count()),
            ("pipeline_parallel_size", self.pipeline_parallel_size),
        ];
        for (limit, value) in limits {
            if value == 0 {
                return Err(SimError::ZeroLimit { limit });
            }
        }
        if !(0.0..1.0).contains(&self.watermark) {
            return Err(SimError::InvalidParameter {
                parameter: "watermark",
                expected: "a number from 0 to below 1",
                found: self.watermark,
            });
        }
        let wrong_span = match self.kv_groups.span {
            _ if self.kv_groups.limited == 0 => None,
            Span::Full | Span::Window(0) => Some(("a window or chunk of at least 1 token", 0)),
            Span::Chunk(tokens) if tokens == 0 || tokens % self.block_size != 0 => {
                Some(("chunks of whole KV blocks", tokens))
            }
            Span::Window(_) | Span::Chunk(_) => None,
        };
        if let Some((expected, found)) = wrong_span {
            return Err(SimError::InvalidParameter {
                parameter: "kv_groups.span",
                expected,
                found: f64::from(found),
            });
        }
        if self.kv_groups.states > 0 && self.prefix_caching == PrefixCaching::Enabled {
            return Err(SimError::CachedStates);
        }
        let is_mtp = self.speculation.is_some_and(|drafts| drafts.is_mtp());
        if is_mtp && (self.kv_groups.count() > 1 || self.kv_groups.limited > 0) {
            return Err(SimError::MtpGroups);
        }
        let tokens_per_request = 1 + self.draft_tokens() + self.draft_slots();
        let needed = u64::from(self.max_num_seqs) * u64::from(tokens_per_request);
        if u64::from(self.max_num_batched_tokens) < needed {
            return Err(SimError::BudgetBelowSequences {
                max_num_batched_tokens: self.max_num_batched_tokens,
                max_num_seqs: self.max_num_seqs,
                tokens_per_request,
            });
        }
        self.check_pipeline()?;
        if let Some(speculation) = self.speculation
            && self.rules.scheduling == Scheduling::OneStepAhead
        {
            let rule = self.rules.draft_scheduling;
            let possible = match rule {
                DraftScheduling::Synchronous => false,
                DraftScheduling::HeadsAhead => speculation.lookahead_tokens() > 0,
                DraftScheduling::Ahead => true,
            };
            if !possible {
                return Err(SimError::DraftsAhead { rule });
            }
        }
        if let Some(threshold) = self.long_prefill_token_threshold
            && threshold <= self.draft_tokens()
            && self.rules.pad_spec_decode
        {
            return Err(SimError::ThresholdBelowDrafts {
                long_prefill_token_threshold: threshold,
                draft_tokens: self.draft_tokens(),
            });
        }
        Ok(())
    }
}

impl SimConfig {
    fn check_pipeline(&self) -> Result<(), SimError> {
        let stages = self.pipeline_parallel_size;
        if stages > Parallelism::MAX_PP {
            return Err(SimError::InvalidParameter {
                parameter: "pipeline_parallel_size",
                expected: "at most 64 stages",
                found: f64::from(stages),
            });
        }
        if !self.is_pipelined() {
            return Ok(());
        }
        if self.speculation.is_some() {
            return Err(SimError::PipelinedDrafts { stages });
        }
        match self.rules.scheduling {
            Scheduling::Synchronous => Ok(()),
            Scheduling::OneStepAhead => Err(SimError::PipelineAhead { stages }),
        }
    }
}

/// The pipeline stages of a file from before there were several.
#[cfg(feature = "serde")]
const fn one() -> u32 {
    1
}

#[cfg(feature = "serde")]
crate::checked!(SimConfig, SimConfig::validate);

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString;

    use super::*;

    fn request(prompt_tokens: u32, output_tokens: u32) -> Request {
        Request {
            prompt_tokens,
            output_tokens,
            ..Request::default()
        }
    }

    #[test]
    fn the_largest_request_that_fits_is_accepted_and_no_empty_one() {
        let too_long = |tokens, max_model_len| Rejection::TooLong {
            tokens,
            max_model_len,
        };
        let (blocks, kv_blocks) = (3, 2);
        let too_many_blocks = Rejection::TooManyBlocks { blocks, kv_blocks };
        // Model length, blocks, prompt, output. The last token is not computed: 33 tokens take two blocks of 16.
        for (limits, tokens, expected) in [
            ((64, 2), (32, 1), Ok(())),
            ((64, 2), (1, 32), Ok(())),
            ((64, 2), (33, 1), Err(too_many_blocks)),
            ((64, 4), (32, 32), Ok(())),
            ((64, 4), (32, 33), Err(too_long(65, 64))),
            ((64, 4), (0, 0), Err(Rejection::EmptyPrompt)),
            ((64, 4), (1, 0), Err(Rejection::EmptyOutput)),
            (
                (u32::MAX, u32::MAX),
                (u32::MAX, u32::MAX),
                Err(too_long(8_589_934_590, u32::MAX)),
            ),
        ] {
            let config = SimConfig::new(limits.0, limits.1);
            assert_eq!(config.check(&request(tokens.0, tokens.1)), expected);
        }
    }

    #[test]
    fn an_output_beyond_max_model_len_is_rejected_or_cut() {
        let mut config = SimConfig::new(64, 4);
        for (rule, prompt_tokens, expected) in [
            (BeyondMaxModelLen::Reject, 60, Err(70)),
            (BeyondMaxModelLen::Truncate, 60, Ok(4)),
            (BeyondMaxModelLen::Truncate, 64, Err(74)),
            (BeyondMaxModelLen::Truncate, 40, Ok(10)),
        ] {
            config.rules.beyond_max_model_len = rule;
            let request = request(prompt_tokens, 10);
            let too_long = |tokens| Rejection::TooLong {
                tokens,
                max_model_len: 64,
            };
            let served = config.served_output(&request);
            assert_eq!(
                config.check(&request).map(|()| served),
                expected.map_err(too_long)
            );
        }
    }

    #[test]
    fn arrivals_at_the_end_of_the_clock_are_rejected() {
        let config = SimConfig::new(64, 4);
        let at = |arrival_ns| Request {
            arrival_ns,
            ..request(1, 1)
        };
        assert_eq!(config.check(&at(SimConfig::LAST_ARRIVAL_NS)), Ok(()));
        let arrival_ns = SimConfig::LAST_ARRIVAL_NS + 1;
        let rejection = Rejection::TooLate { arrival_ns };
        assert_eq!(config.check(&at(arrival_ns)), Err(rejection));
    }

    #[test]
    fn a_watermark_is_a_share_below_one() {
        let config = SimConfig::new(64, 99);
        for (watermark, blocks) in [(0.0, 0), (0.01, 1), (0.025, 2), (0.99, 99)] {
            let config = config.with_watermark(watermark);
            assert_eq!(config.validate(), Ok(()));
            assert_eq!(config.watermark_blocks(), blocks);
        }
        for watermark in [-0.1, 1.0, f64::NAN] {
            let error = config.with_watermark(watermark).validate().unwrap_err();
            let expected =
                format!("watermark: expected a number from 0 to below 1, found {watermark}");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn every_zero_limit_is_refused_by_name() {
        let limits: [fn(&mut SimConfig) -> &mut u32; 6] = [
            |config| &mut config.max_num_seqs,
            |config| &mut config.max_num_batched_tokens,
            |config| config.long_prefill_token_threshold.insert(0),
            |config| &mut config.max_model_len,
            |config| &mut config.kv_blocks,
            |config| &mut config.block_size,
        ];
        let names = limits.map(|limit| {
            let mut config = SimConfig::new(64, 4);
            *limit(&mut config) = 0;
            match config.validate() {
                Err(SimError::ZeroLimit { limit }) => limit,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(
            names,
            [
                "max_num_seqs",
                "max_num_batched_tokens",
                "long_prefill_token_threshold",
                "max_model_len",
                "kv_blocks",
                "block_size"
            ]
        );
    }

    #[test]
    fn speculation_needs_room_for_its_drafts() {
        let mut config = SimConfig::new(64, 4);
        let speculation = Speculation::try_new(3, 0.5, 0).unwrap();
        config.speculation = Some(speculation);
        config.rules.scheduling = Scheduling::Synchronous;
        config.long_prefill_token_threshold = Some(3);
        assert_eq!(config.validate(), Ok(()));
        config.rules.pad_spec_decode = true;
        let refused = SimError::ThresholdBelowDrafts {
            long_prefill_token_threshold: 3,
            draft_tokens: 3,
        };
        assert_eq!(config.validate(), Err(refused));
        config.long_prefill_token_threshold = Some(4);
        assert_eq!(config.validate(), Ok(()));
        config.rules.pad_spec_decode = false;
        config.long_prefill_token_threshold = None;
        config.max_num_seqs = 513;
        let message = config.validate().unwrap_err().to_string();
        assert!(
            message.contains("max_num_seqs x 4 tokens (2052), found 2048"),
            "{message}"
        );
        // 61 tokens are sampled after a prompt of 1, and the last verification has 3 drafts. One step ahead it comes
        // after one whose drafts may be accepted.
        let (blocks, kv_blocks) = (5, 4);
        let refused = Err(Rejection::TooManyBlocks { blocks, kv_blocks });
        config.max_model_len = 128;
        for (scheduling, longest) in [
            (Scheduling::Synchronous, 61),
            (Scheduling::OneStepAhead, 58),
        ] {
            config.rules.scheduling = scheduling;
            assert_eq!(config.check(&request(1, longest)), Ok(()));
            assert_eq!(config.check(&request(1, longest + 1)), refused);
            // A single output token needs no drafts.
            assert_eq!(config.check(&request(63, 1)), Ok(()));
        }
    }

    #[test]
    fn drafts_ahead_need_an_engine_that_supports_them() {
        let ngram = Speculation::try_new(3, 0.5, 0).unwrap();
        let head = ngram.with_draft_model();
        for (rule, drafts, possible) in [
            (DraftScheduling::Synchronous, head, false),
            (DraftScheduling::HeadsAhead, ngram, false),
            (DraftScheduling::HeadsAhead, head, true),
            (DraftScheduling::Ahead, ngram, true),
        ] {
            let mut config = SimConfig::new(64, 4).with_speculation(drafts);
            config.rules.draft_scheduling = rule;
            let refused = Err(SimError::DraftsAhead { rule });
            assert_eq!(config.validate(), if possible { Ok(()) } else { refused });
            config.rules.scheduling = Scheduling::Synchronous;
            assert_eq!(config.validate(), Ok(()));
        }
    }
}
