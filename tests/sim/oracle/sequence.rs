//! A request inside the engine.

use rooflut::engine::Scheduling;
use rooflut::sim::{Request, SimConfig, Speculation};

/// How far the steps scheduled so far bring a request.
///
/// Everything here is as of the end of the last step that is scheduled, which with
/// [`OneStepAhead`](crate::engine::Scheduling::OneStepAhead) is a step that has not ended yet.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    /// Its place in the list of requests.
    pub(crate) request: usize,
    pub(crate) asked: Request,
    pub(crate) order: u64,
    prompt_tokens: u32,
    output_tokens: u32,
    speculation: Option<Speculation>,
    /// Whether steps are scheduled before the tokens of the one before are sampled.
    ahead: bool,
    /// Tokens of the prefix hit: whole blocks, never the last token of the prompt.
    pub(crate) cached: u32,
    /// Tokens whose KV entries came with it.
    arrived: u32,
    /// Tokens that it lost when it was preempted and that count as computed.
    pub(crate) counted: u32,
    /// The last step that samples a token of it.
    sampled_in: Option<u64>,
    /// Output tokens sampled.
    generated: u32,
    /// Tokens in the KV cache, the prefix hit included; while it waits after a preemption, those whose
    /// freed blocks that no other request has taken yet.
    pub(crate) computed: u32,
    /// Tokens whose full blocks can be found.
    pub(crate) known: u32,
    /// Tokens that are computed in chunks before it decodes: the prompt, and after a preemption also
    /// the output so far.
    prefill: u32,
    /// KV blocks that it holds, the shared ones of its prefix hit left out.
    pub(crate) blocks: Vec<usize>,
    /// The step that yields its last token, once that step is scheduled.
    pub(crate) last_step: Option<u64>,
}

/// The work of a sequence in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// `new` tokens after `context`; the last chunk yields a token.
    Chunk { new: u32, context: u32, last: bool },
    /// One token and its drafts, of which some are accepted, over `kv_tokens`, themselves included.
    Decode { kv_tokens: u32 },
}

impl Sequence {
    /// A request that has computed nothing beyond its prefix hit.
    pub(crate) fn new(index: usize, request: &Request, config: SimConfig) -> Sequence {
        let reusable = request
            .cached_prompt_tokens
            .min(request.prompt_tokens.saturating_sub(1));
        let cached = reusable - reusable % config.block_size.max(1);
        Sequence {
            request: index,
            asked: *request,
            order: 0,
            prompt_tokens: request.prompt_tokens,
            output_tokens: request.output_tokens,
            speculation: config.speculation,
            ahead: config.rules.scheduling == Scheduling::OneStepAhead,
            cached,
            arrived: 0,
            counted: 0,
            sampled_in: None,
            generated: 0,
            computed: cached,
            known: cached,
            prefill: request.prompt_tokens,
            blocks: Vec::new(),
            last_step: None,
        }
    }

    /// A sequence that comes with the KV entries of its prompt, of which it computes the last token again.
    pub(crate) fn with_kv(mut self) -> Sequence {
        self.arrived = self.prompt_tokens - 1;
        self
    }

    /// Tokens that can be computed next: none once its last token is scheduled.
    pub(crate) fn pending(&self) -> u32 {
        if self.is_complete() {
            0
        } else if self.computed < self.prefill {
            self.prefill - self.computed
        } else {
            1 + self
                .speculation
                .map_or(0, |speculation| speculation.draft_tokens())
        }
    }

    /// Tokens of its prompt and of the output whose values are sampled before the step that is scheduled next begins.
    fn tokens_sampled(&self, step: u64) -> u32 {
        self.prompt_tokens + self.generated - self.in_flight(step)
    }

    /// Tokens that the step in flight samples when `step` is scheduled.
    fn in_flight(&self, step: u64) -> u32 {
        u32::from(self.ahead && self.sampled_in.is_some_and(|sampled| sampled + 1 == step))
    }

    /// The blocks of the next `tokens` are taken for `step`.
    pub(crate) fn expect(&mut self, tokens: u32, step: u64) {
        self.known = (self.computed + tokens).min(self.tokens_sampled(step));
    }

    /// The step before the one in flight has ended when `step` is scheduled: engines that schedule ahead register its
    /// tokens then.
    pub(crate) fn last_output_is_known(&mut self, step: u64) {
        if self.ahead && self.computed > self.prefill {
            self.known = self.known.max(self.computed - self.in_flight(step));
        }
    }

    /// Whether its last token is scheduled.
    pub(crate) fn is_complete(&self) -> bool {
        self.generated == self.output_tokens
    }

    /// Whether its first token is scheduled, and no other.
    pub(crate) fn is_at_first_token(&self) -> bool {
        self.generated == 1
    }

    /// Computes `tokens`, at most [`pending`](Sequence::pending).
    pub(crate) fn advance(&mut self, tokens: u32, step: u64) -> Work {
        let context = self.computed;
        self.computed += tokens;
        if self.computed >= self.prefill {
            self.sampled_in = Some(step);
        }
        if context < self.prefill {
            let last = self.computed == self.prefill;
            self.generated += u32::from(last);
            Work::Chunk {
                new: tokens,
                context,
                last,
            }
        } else {
            let kv_tokens = self.computed;
            let accepted =
                |speculation: Speculation| speculation.accepted(self.request, self.generated);
            let sampled = 1 + self.speculation.map_or(0, accepted);
            let sampled = sampled.min(self.output_tokens - self.generated);
            self.generated += sampled;
            self.computed = context + sampled;
            Work::Decode { kv_tokens }
        }
    }

    /// Prompt and output so far are to be computed again, but for what it finds in the cache.
    pub(crate) fn restart(&mut self, counted: u32) {
        // Drafts are rejected, and with them the token before.
        let verified = self.speculation.is_some() && self.computed >= self.prefill;
        self.counted = if verified { 0 } else { counted };
        self.prefill = self.prompt_tokens + self.generated;
        self.computed = self.cached;
        self.arrived = 0;
    }

    /// Tokens of which it may find whole blocks computed: never the last, which yields the next one.
    pub(crate) fn findable(&self) -> u32 {
        self.prefill.saturating_sub(1)
    }

    /// It finds so many tokens computed.
    pub(crate) fn found(&mut self, tokens: u32) {
        self.computed = tokens.max(self.arrived).max(self.counted);
    }

    /// All its tokens are sampled.
    pub(crate) fn ended(&mut self) {
        if self.ahead {
            self.known = self.computed;
        }
    }
}
