//! The limits of the simulated server.

use crate::engine::{EngineStack, Scheduling};
use crate::sim::{Rejection, Request, SimError, Speculation};

/// Limits and policy of a server; the names are those of vLLM.
///
/// ```
/// use rooflut::sim::SimConfig;
/// let config = SimConfig::new(8_192, 27_000).with_max_num_seqs(256);
/// assert_eq!(config.max_num_batched_tokens, 2_048);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", deny_unknown_fields))]
pub struct SimConfig {
    /// Requests that run at the same time.
    pub max_num_seqs: u32,
    /// Tokens that one step computes; at least `max_num_seqs`, as vLLM asks.
    pub max_num_batched_tokens: u32,
    /// Tokens of prompt and output of one request.
    pub max_model_len: u32,
    /// KV blocks that requests can take.
    pub kv_blocks: u32,
    /// Tokens of a KV block.
    pub block_size: u32,
    /// When the batch of a step is fixed.
    pub scheduling: Scheduling,
    /// Whether freed blocks keep their contents until they are taken.
    pub prefix_caching: PrefixCaching,
    /// Order in which waiting requests are admitted.
    pub policy: SchedulingPolicy,
    /// Maximum queue length. Requests that arrive when the queue is full are rejected.
    pub max_waiting: Option<u32>,
    /// Drafted tokens and how many are accepted; `None` for one token per request and step. It needs
    /// [`Scheduling::Synchronous`]: how many tokens a step yields is not known before it has ended.
    pub speculation: Option<Speculation>,
    /// Role of this server: all of a request, or its output only.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) role: Role,
    /// Nanoseconds of each request outside of the engine's steps (HTTP, tokenizer, detokenizer). They
    /// pass before the engine sees it and count into its TTFT and E2E.
    pub api_server_ns: u64,
}

/// Whether freed KV blocks keep their contents until they are taken.
///
/// A hit that is given with a request (`cached_prompt_tokens`) counts whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PrefixCaching {
    /// They do, and are taken least recently used first. A request finds the blocks that begin as it
    /// does, a preempted one its own.
    #[default]
    Enabled,
    /// Every prompt is computed, and a preempted request computes everything again.
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
    /// First come, first served; preempted requests before others.
    #[default]
    Fcfs,
    /// The shortest prompt first; of equals the first to come.
    ShortestPrompt,
    /// The smallest class of priority first; of equals the first to come. Preemption takes the blocks
    /// of the largest class, of equals of the last to come, among those that have no token in the
    /// step yet.
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
    /// All of it.
    #[default]
    Whole,
    /// All but its prompt, whose KV entries come with it.
    Decode,
}

impl SimConfig {
    /// The last arrival that is served, 292 years after the start: half of what the clock can count, so
    /// that it never runs over.
    pub const LAST_ARRIVAL_NS: u64 = u64::MAX / 2;

    /// A server with `max_model_len` and `kv_blocks`, and otherwise the defaults of vLLM 0.15.
    ///
    /// 128 sequences, 2,048 tokens a step, blocks of 16 tokens, scheduling one step ahead,
    /// prefix caching. Times are those of the engine, without an API server.
    pub const fn new(max_model_len: u32, kv_blocks: u32) -> SimConfig {
        SimConfig {
            max_num_seqs: 128,
            max_num_batched_tokens: 2_048,
            max_model_len,
            kv_blocks,
            block_size: 16,
            scheduling: Scheduling::OneStepAhead,
            prefix_caching: PrefixCaching::Enabled,
            policy: SchedulingPolicy::Fcfs,
            max_waiting: None,
            speculation: None,
            role: Role::Whole,
            api_server_ns: 0,
        }
    }

    /// The same server run by `engine`: its scheduling and its API server.
    ///
    /// ```
    /// use rooflut::engine::{Scheduling, stacks};
    /// use rooflut::sim::SimConfig;
    /// let config = SimConfig::new(8_192, 27_000).with_engine(&stacks::VLLM_0_11_0);
    /// assert_eq!(config.scheduling, Scheduling::Synchronous);
    /// ```
    pub fn with_engine(self, engine: &EngineStack) -> SimConfig {
        SimConfig {
            scheduling: engine.scheduling,
            api_server_ns: engine.api_server.to_nanos(),
            ..self
        }
    }

    /// The same server with at most `max_waiting` waiting requests.
    #[must_use]
    pub const fn with_max_waiting(mut self, max_waiting: u32) -> SimConfig {
        self.max_waiting = Some(max_waiting);
        self
    }

    /// The same server with speculative decoding, which needs [`Scheduling::Synchronous`].
    #[must_use]
    pub const fn with_speculation(mut self, speculation: Speculation) -> SimConfig {
        self.speculation = Some(speculation);
        self
    }

    crate::setters! {
        /// The same server with another number of requests that run at the same time.
        with_max_num_seqs(max_num_seqs: u32);
        /// The same server with another token budget of a step.
        with_max_num_batched_tokens(max_num_batched_tokens: u32);
        /// The same server with KV blocks of another size.
        with_block_size(block_size: u32);
        /// The same server with batches fixed at another time.
        with_scheduling(scheduling: Scheduling);
        /// The same server with or without prefix caching.
        with_prefix_caching(prefix_caching: PrefixCaching);
        /// The same server with another order of admission.
        with_policy(policy: SchedulingPolicy);
        /// The same server behind another API server.
        with_api_server_ns(api_server_ns: u64);
    }

    /// Whether a server with these limits can serve `request`, alone if need be.
    ///
    /// # Errors
    ///
    /// The first reason in the order of [`Rejection`].
    pub fn check(&self, request: &Request) -> Result<(), Rejection> {
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
        // The last token is sampled, never computed; drafts after the last but one are, if it decodes.
        let drafts = match request.output_tokens {
            1 => 0,
            _ => self.draft_tokens(),
        };
        let kv_tokens = request.tokens() - 1 + u64::from(drafts);
        let blocks = kv_tokens.div_ceil(u64::from(self.block_size.max(1)));
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        if blocks > self.kv_blocks {
            return Err(Rejection::TooManyBlocks {
                blocks,
                kv_blocks: self.kv_blocks,
            });
        }
        Ok(())
    }

    /// Tokens that are drafted for each request and step.
    pub(super) fn draft_tokens(&self) -> u32 {
        self.speculation
            .map_or(0, |speculation| speculation.draft_tokens())
    }

    /// Refuses limits under which no step could run.
    pub(crate) fn validate(&self) -> Result<(), SimError> {
        let limits = [
            ("max_num_seqs", self.max_num_seqs),
            ("max_num_batched_tokens", self.max_num_batched_tokens),
            ("max_model_len", self.max_model_len),
            ("kv_blocks", self.kv_blocks),
            ("block_size", self.block_size),
        ];
        for (limit, value) in limits {
            if value == 0 {
                return Err(SimError::ZeroLimit { limit });
            }
        }
        let tokens_per_request = 1 + self.draft_tokens();
        let needed = u64::from(self.max_num_seqs) * u64::from(tokens_per_request);
        if u64::from(self.max_num_batched_tokens) < needed {
            return Err(SimError::BudgetBelowSequences {
                max_num_batched_tokens: self.max_num_batched_tokens,
                max_num_seqs: self.max_num_seqs,
                tokens_per_request,
            });
        }
        if self.speculation.is_some() && self.scheduling != Scheduling::Synchronous {
            return Err(SimError::SpeculationAhead);
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
crate::checked!(SimConfig, SimConfig::validate);

#[cfg(test)]
mod tests {
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
    fn the_largest_request_that_fits_is_accepted() {
        let config = SimConfig::new(64, 2);
        // 33 tokens, of which the last is never computed: two blocks of 16.
        assert_eq!(config.check(&request(32, 1)), Ok(()));
        assert_eq!(config.check(&request(1, 32)), Ok(()));
        assert_eq!(
            config.check(&request(33, 1)),
            Err(Rejection::TooManyBlocks {
                blocks: 3,
                kv_blocks: 2
            })
        );
        assert_eq!(SimConfig::new(64, 4).check(&request(32, 32)), Ok(()));
        assert_eq!(
            SimConfig::new(64, 4).check(&request(32, 33)),
            Err(Rejection::TooLong {
                tokens: 65,
                max_model_len: 64
            })
        );
    }

    #[test]
    fn empty_and_endless_requests_are_rejected() {
        let config = SimConfig::new(u32::MAX, u32::MAX);
        assert_eq!(config.check(&request(0, 0)), Err(Rejection::EmptyPrompt));
        assert_eq!(config.check(&request(1, 0)), Err(Rejection::EmptyOutput));
        assert_eq!(
            config.check(&request(u32::MAX, u32::MAX)),
            Err(Rejection::TooLong {
                tokens: 8_589_934_590,
                max_model_len: u32::MAX
            })
        );
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
    fn every_zero_limit_is_refused_by_name() {
        let limits: [fn(&mut SimConfig) -> &mut u32; 5] = [
            |config| &mut config.max_num_seqs,
            |config| &mut config.max_num_batched_tokens,
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
                "max_model_len",
                "kv_blocks",
                "block_size"
            ]
        );
    }

    #[test]
    fn a_budget_that_cannot_serve_all_sequences_is_refused() {
        let mut config = SimConfig::new(64, 4);
        config.max_num_batched_tokens = config.max_num_seqs;
        assert_eq!(config.validate(), Ok(()));
        config.max_num_seqs += 1;
        assert_eq!(
            config.validate(),
            Err(SimError::BudgetBelowSequences {
                max_num_batched_tokens: 128,
                max_num_seqs: 129,
                tokens_per_request: 1,
            })
        );
    }

    #[test]
    fn speculation_needs_results_before_the_next_schedule_and_room_for_its_drafts() {
        let mut config = SimConfig::new(64, 4);
        config.speculation = Some(Speculation::try_new(3, 0.5, 0).unwrap());
        assert_eq!(config.validate(), Err(SimError::SpeculationAhead));
        config.scheduling = Scheduling::Synchronous;
        assert_eq!(config.validate(), Ok(()));
        config.max_num_seqs = 513;
        let message = config.validate().unwrap_err().to_string();
        assert!(
            message.contains("max_num_seqs x 4 tokens (2052), found 2048"),
            "{message}"
        );
        // 61 tokens are sampled after a prompt of 1, and the last verification has 3 drafts.
        assert_eq!(config.check(&request(1, 61)), Ok(()));
        let refused = config.check(&request(1, 62));
        let (blocks, kv_blocks) = (5, 4);
        assert_eq!(refused, Err(Rejection::TooManyBlocks { blocks, kv_blocks }));
        // Nothing is drafted for a single token.
        assert_eq!(config.check(&request(63, 1)), Ok(()));
    }
}
