//! A request inside the engine.

use rooflut::engine::Scheduling;
use rooflut::model::Span;
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
    span: Span,
    /// Whether steps are scheduled before the tokens of the one before are sampled.
    ahead: bool,
    /// Whether its blocks can be found when the step that filled them has ended.
    found_at_end: bool,
    /// Tokens of the prefix hit: whole blocks, never the last token of the prompt.
    pub(crate) cached: u32,
    /// Tokens whose KV entries came with it.
    arrived: u32,
    /// Tokens that it lost when it was preempted and that count as computed.
    pub(crate) counted: u32,
    /// The last step that samples tokens of it.
    sampling: Sampling,
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
    /// Its KV blocks in each group, the shared ones of its prefix hit left out; `None` for those behind the window.
    pub(crate) blocks: Vec<Vec<Option<usize>>>,
    /// The blocks of its states.
    pub(crate) states: Vec<usize>,
    /// The last step with tokens of it, and their number.
    last_tokens: (u64, u32),
    /// Whether blocks that tokens in flight read are kept.
    window_in_flight: bool,
    /// The step that yields its last token, once that step is scheduled.
    pub(crate) last_step: Option<u64>,
}

/// Tokens that a step samples of a request. The engine knows them when the step has ended.
#[derive(Debug, Clone, Copy, Default)]
struct Sampling {
    step: u64,
    /// The token before, and the drafts; 0 for a chunk.
    verified: u32,
    sampled: u32,
    /// Sampled tokens beyond the last one that is asked for.
    beyond: u32,
    /// Placeholders of drafts after a chunk.
    padding: u32,
}

/// The work of a sequence in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// `new` tokens after `context`; the last chunk yields a token.
    Chunk { new: u32, context: u32, last: bool },
    /// One token and its drafts, of which some are accepted, over `kv_tokens`, themselves included. Nothing is left to
    /// sample if the step in flight turns out to be the last. Layers with a window or chunks do not read `outside` of
    /// them.
    Decode { kv_tokens: u32, outside: u32, samples: bool },
}

impl Sequence {
    /// A request that has computed nothing beyond its prefix hit.
    pub(crate) fn new(index: usize, request: &Request, config: SimConfig) -> Sequence {
        let reusable = request.cached_prompt_tokens.min(request.prompt_tokens.saturating_sub(1));
        let cached = reusable - reusable % config.block_size.max(1);
        Sequence {
            request: index,
            asked: *request,
            order: 0,
            prompt_tokens: request.prompt_tokens,
            output_tokens: request.output_tokens,
            speculation: config.speculation,
            span: config.kv_groups.span,
            ahead: config.rules.scheduling == Scheduling::OneStepAhead,
            found_at_end: config.rules.scheduling == Scheduling::OneStepAhead
                || config.speculation.is_some() && config.rules.cache_sampled_tokens,
            cached,
            arrived: 0,
            counted: 0,
            sampling: Sampling::default(),
            generated: 0,
            computed: cached,
            known: cached,
            prefill: request.prompt_tokens,
            blocks: vec![Vec::new(); config.kv_groups.count() as usize],
            states: Vec::new(),
            last_tokens: (0, 0),
            window_in_flight: config.rules.window_in_flight && config.rules.scheduling == Scheduling::OneStepAhead,
            last_step: None,
        }
    }

    /// A sequence that comes with the KV entries of its prompt, of which it computes the last token again.
    pub(crate) fn with_kv(mut self) -> Sequence {
        self.arrived = self.prompt_tokens - 1;
        self
    }

    /// Tokens that can be computed in `step`: none once its last token is certainly scheduled.
    pub(crate) fn pending(&self, step: u64) -> u32 {
        // The engine counts on one token of a step in flight.
        let in_flight = self.in_flight(step).sampled;
        let sampled = self.generated - in_flight + in_flight.min(1);
        if sampled >= self.output_tokens {
            0
        } else if self.computed < self.prefill {
            self.prefill - self.computed
        } else {
            1 + self.speculation.map_or(0, |speculation| speculation.draft_tokens())
        }
    }

    /// Tokens in the cache before `step` as far as the engine knows: it takes drafts in flight for accepted.
    pub(crate) fn believed(&self, step: u64) -> u32 {
        match self.in_flight(step) {
            Sampling { verified: 0, padding, .. } => self.computed + padding,
            flying => self.computed - flying.sampled + flying.verified,
        }
    }

    /// Tokens before `step` without which nothing that is still computed can do.
    pub(crate) fn processed(&self, step: u64) -> u32 {
        let (last, tokens) = self.last_tokens;
        if self.window_in_flight && last + 1 == step { self.believed(step) - tokens } else { self.believed(step) }
    }

    /// Tokens of its prompt and of the output whose values are sampled before the step that is scheduled next begins.
    fn tokens_sampled(&self, step: u64) -> u32 {
        self.prompt_tokens + self.generated - self.in_flight(step).sampled
    }

    /// Tokens that the step in flight samples when `step` is scheduled.
    fn in_flight(&self, step: u64) -> Sampling {
        if self.ahead && self.sampling.step + 1 == step { self.sampling } else { Sampling::default() }
    }

    /// The blocks of the next `tokens` are taken for `step`.
    pub(crate) fn expect(&mut self, tokens: u32, step: u64) {
        self.known = (self.computed + tokens).min(self.tokens_sampled(step));
    }

    /// The step before the one in flight has ended when `step` is scheduled: engines that schedule ahead register its
    /// tokens then.
    pub(crate) fn last_output_is_known(&mut self, step: u64) {
        if self.found_at_end && self.computed > self.prefill {
            self.known = self.known.max(self.computed - self.in_flight(step).sampled);
        }
    }

    /// Whether its last token is scheduled.
    pub(crate) fn is_complete(&self) -> bool {
        self.generated == self.output_tokens
    }

    /// Whether its last token comes from a step after `ended`, the last one that has ended.
    pub(crate) fn awaits_token(&self, ended: u64) -> bool {
        !self.is_partial() && self.sampling.step > ended
    }

    /// Whether a part of its prompt is to be computed.
    pub(crate) fn is_partial(&self) -> bool {
        self.computed < self.prefill
    }

    /// Whether its first token is scheduled.
    pub(crate) fn has_token(&self) -> bool {
        self.generated > 0
    }

    /// Whether its first token is scheduled, and no other.
    pub(crate) fn is_at_first_token(&self) -> bool {
        self.generated == 1
    }

    /// Computes `tokens`, at most [`pending`](Sequence::pending) and placeholders of drafts after the last chunk.
    pub(crate) fn advance(&mut self, tokens: u32, step: u64) -> Work {
        let context = self.computed;
        let beyond = self.in_flight(step).beyond;
        self.last_tokens = (step, tokens);
        self.computed += tokens;
        if context < self.prefill {
            let padding = self.computed.saturating_sub(self.prefill);
            self.computed -= padding;
            let last = self.computed == self.prefill;
            self.generated += u32::from(last);
            self.sampling = Sampling { step, sampled: u32::from(last), padding, ..Sampling::default() };
            Work::Chunk { new: tokens, context, last }
        } else {
            let kv_tokens = self.computed + beyond;
            let accepted = |speculation: Speculation| speculation.accepted(self.request, self.generated);
            let all = 1 + self.speculation.map_or(0, accepted).min(tokens - 1);
            let sampled = all.min(self.output_tokens - self.generated);
            self.generated += sampled;
            self.computed = context + sampled;
            self.sampling = Sampling { step, verified: tokens, sampled, beyond: all - sampled, padding: 0 };
            let first = kv_tokens - (tokens - 1);
            Work::Decode { kv_tokens, outside: first - self.span.keys(first), samples: sampled > 0 }
        }
    }

    /// Prompt and output so far are to be computed again, but for what it finds in the cache.
    pub(crate) fn restart(&mut self, counted: u32) {
        // Drafts are rejected, and with them the token before.
        let own = self.prefill.saturating_sub(self.computed).max(1);
        self.counted = if counted > own { own - 1 } else { counted };
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
        if self.found_at_end {
            self.known = self.computed;
        }
    }
}
