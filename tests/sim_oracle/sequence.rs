//! A request inside the engine.

use rooflut::sim::{PrefixCaching, Request};

/// How far the steps scheduled so far bring a request.
///
/// Everything here is as of the end of the last step that is scheduled, which with
/// [`OneStepAhead`](crate::sim::Scheduling::OneStepAhead) is a step that has not ended yet.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    /// Its place in the list of requests.
    pub(crate) request: usize,
    prompt_tokens: u32,
    output_tokens: u32,
    /// Tokens of the prefix hit: whole blocks, never the last token of the prompt.
    cached: u32,
    /// Output tokens sampled.
    generated: u32,
    /// Tokens in the KV cache, the prefix hit included; while it waits after a preemption, those whose
    /// freed blocks nobody has taken yet.
    computed: u32,
    /// Tokens that are computed in chunks before it decodes: the prompt, and after a preemption also
    /// the output so far.
    prefill: u32,
    /// KV blocks that it holds, the shared ones of its prefix hit left out.
    pub(crate) blocks: u32,
    /// While it waits after a preemption: blocks that it gave up and nobody has taken yet.
    freed: u32,
    /// The step that yields its last token, once that step is scheduled.
    pub(crate) last_step: Option<u64>,
}

/// What a sequence computes in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// `new` tokens after `context`; the last chunk yields a token.
    Chunk { new: u32, context: u32, last: bool },
    /// One token over `kv_tokens`, itself included.
    Decode { kv_tokens: u32 },
}

impl Sequence {
    /// A request that has computed nothing beyond its prefix hit.
    pub(crate) fn new(index: usize, request: &Request, block_size: u32) -> Sequence {
        let reusable = request
            .cached_prompt_tokens
            .min(request.prompt_tokens.saturating_sub(1));
        let cached = reusable - reusable % block_size.max(1);
        Sequence {
            request: index,
            prompt_tokens: request.prompt_tokens,
            output_tokens: request.output_tokens,
            cached,
            generated: 0,
            computed: cached,
            prefill: request.prompt_tokens,
            blocks: 0,
            freed: 0,
            last_step: None,
        }
    }

    /// Tokens of the prefix hit.
    pub(crate) fn cached(&self) -> u32 {
        self.cached
    }

    /// Tokens in the KV cache, the prefix hit included.
    pub(crate) fn computed(&self) -> u32 {
        self.computed
    }

    /// Tokens that can be computed next: none once its last token is scheduled.
    pub(crate) fn pending(&self) -> u32 {
        if self.is_complete() {
            0
        } else if self.computed < self.prefill {
            self.prefill - self.computed
        } else {
            1
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
    pub(crate) fn advance(&mut self, tokens: u32) -> Work {
        let context = self.computed;
        self.computed += tokens;
        if context < self.prefill {
            let last = self.computed == self.prefill;
            self.generated += u32::from(last);
            Work::Chunk {
                new: tokens,
                context,
                last,
            }
        } else {
            self.generated += 1;
            Work::Decode {
                kv_tokens: self.computed,
            }
        }
    }

    /// Gives its blocks up: prompt and output so far are to be computed again, but for the prefix hit
    /// and, with prefix caching, its own full blocks as long as nobody takes them.
    pub(crate) fn restart(&mut self, kept: PrefixCaching, block_size: u32) {
        self.prefill = self.prompt_tokens + self.generated;
        self.freed = match kept {
            PrefixCaching::Enabled => self.blocks,
            PrefixCaching::Disabled => 0,
        };
        self.blocks = 0;
        // Full blocks only, and never the last token: it yields the next one.
        let reusable = self.computed.min(self.prefill.saturating_sub(1));
        self.computed = reusable - reusable % block_size;
        self.forget_lost(block_size);
    }

    /// Loses up to `blocks` of those that it gave up, from the end; returns how many.
    pub(crate) fn lose(&mut self, blocks: u32, block_size: u32) -> u32 {
        let lost = blocks.min(self.freed);
        self.freed -= lost;
        self.forget_lost(block_size);
        lost
    }

    /// Takes the blocks that it gave up back, as part of those it is given; returns how many.
    pub(crate) fn find_again(&mut self) -> u32 {
        std::mem::take(&mut self.freed)
    }

    fn forget_lost(&mut self, block_size: u32) {
        let held = self.freed.saturating_mul(block_size);
        self.computed = self.computed.min(self.cached.saturating_add(held));
    }
}
