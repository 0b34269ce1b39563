//! A request inside the engine.

use crate::sim::{PrefixCaching, Request};

/// How far the steps scheduled so far bring a request.
///
/// Everything here is as of the end of the last step that is scheduled, which with
/// [`OneStepAhead`](crate::sim::Scheduling::OneStepAhead) is a step that has not ended yet.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    /// Its place in the list of requests.
    pub(super) request: usize,
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
    pub(super) blocks: u32,
    /// While it waits after a preemption: blocks that it gave up and nobody has taken yet.
    freed: u32,
    /// The step that yields its last token, once that step is scheduled.
    pub(super) last_step: Option<u64>,
}

/// What a sequence computes in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// `new` tokens after `context`; the last chunk yields a token.
    Chunk { new: u32, context: u32, last: bool },
    /// One token over `kv_tokens`, itself included.
    Decode { kv_tokens: u32 },
}

impl Sequence {
    /// A request that has computed nothing beyond its prefix hit.
    pub(super) fn new(index: usize, request: &Request, block_size: u32) -> Sequence {
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
    pub(super) fn cached(&self) -> u32 {
        self.cached
    }

    /// Tokens in the KV cache, the prefix hit included.
    pub(super) fn computed(&self) -> u32 {
        self.computed
    }

    /// Tokens that can be computed next: none once its last token is scheduled.
    pub(super) fn pending(&self) -> u32 {
        if self.is_complete() {
            0
        } else if self.computed < self.prefill {
            self.prefill - self.computed
        } else {
            1
        }
    }

    /// Whether its last token is scheduled.
    pub(super) fn is_complete(&self) -> bool {
        self.generated == self.output_tokens
    }

    /// Whether its first token is scheduled, and no other.
    pub(super) fn is_at_first_token(&self) -> bool {
        self.generated == 1
    }

    /// Computes `tokens`, at most [`pending`](Sequence::pending).
    pub(super) fn advance(&mut self, tokens: u32) -> Work {
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
    pub(super) fn restart(&mut self, kept: PrefixCaching, block_size: u32) {
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
    pub(super) fn lose(&mut self, blocks: u32, block_size: u32) -> u32 {
        let lost = blocks.min(self.freed);
        self.freed -= lost;
        self.forget_lost(block_size);
        lost
    }

    /// Takes the blocks that it gave up back, as part of those it is given; returns how many.
    pub(super) fn find_again(&mut self) -> u32 {
        core::mem::take(&mut self.freed)
    }

    /// Tokens that it finds in the blocks it gave up, beyond its prefix hit.
    #[cfg(test)]
    pub(super) fn kept(&self) -> u32 {
        self.computed - self.cached
    }

    fn forget_lost(&mut self, block_size: u32) {
        let held = self.freed.saturating_mul(block_size);
        self.computed = self.computed.min(self.cached.saturating_add(held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(prompt_tokens: u32, output_tokens: u32, cached_prompt_tokens: u32) -> Sequence {
        let request = Request {
            prompt_tokens,
            output_tokens,
            cached_prompt_tokens,
            ..Request::default()
        };
        Sequence::new(0, &request, 16)
    }

    #[test]
    fn a_prefix_hit_is_whole_blocks_and_never_the_last_token() {
        let cached = |prompt, hit| sequence(prompt, 1, hit).cached();
        assert_eq!(cached(100, 15), 0);
        assert_eq!(cached(100, 50), 48);
        assert_eq!(cached(100, u32::MAX), 96);
        assert_eq!(cached(96, 96), 80);
        assert_eq!(cached(97, 97), 96);
        assert_eq!(cached(1, 1), 0);
    }

    #[test]
    fn chunks_then_one_token_at_a_time() {
        let mut sequence = sequence(20, 3, 16);
        assert_eq!(sequence.pending(), 4);
        let chunk = |new, context, last| Work::Chunk { new, context, last };
        assert_eq!(sequence.advance(3), chunk(3, 16, false));
        assert_eq!(sequence.advance(1), chunk(1, 19, true));
        assert!(sequence.is_at_first_token());
        assert_eq!(sequence.pending(), 1);
        assert_eq!(sequence.advance(1), Work::Decode { kv_tokens: 21 });
        assert_eq!(sequence.advance(1), Work::Decode { kv_tokens: 22 });
        assert!(sequence.is_complete());
        assert_eq!(sequence.pending(), 0);
    }

    #[test]
    fn a_restart_computes_prompt_and_output_again_and_yields_the_next_token() {
        let mut sequence = sequence(20, 9, 16);
        sequence.advance(4);
        sequence.advance(1);
        sequence.restart(PrefixCaching::Disabled, 16);
        // 20 of the prompt and 2 of the output, less the prefix hit.
        assert_eq!(sequence.pending(), 6);
        let all = Work::Chunk {
            new: 6,
            context: 16,
            last: true,
        };
        assert_eq!(sequence.advance(6), all);
        assert_eq!(sequence.advance(1), Work::Decode { kv_tokens: 23 });
    }

    #[test]
    fn a_restart_finds_its_full_blocks_as_long_as_nobody_took_them() {
        let mut sequence = sequence(100, 9, 16);
        sequence.advance(84);
        for _ in 0..5 {
            sequence.advance(1);
        }
        // 89 tokens beyond the prefix hit: five full blocks and one in part.
        sequence.blocks = 6;
        sequence.restart(PrefixCaching::Enabled, 16);
        // 105 tokens were computed, 106 are to be: 80 of them in full blocks, 16 in the prefix hit.
        assert_eq!((sequence.kept(), sequence.pending()), (80, 10));
        // The block in part goes first.
        assert_eq!(sequence.lose(1, 16), 1);
        assert_eq!((sequence.kept(), sequence.pending()), (80, 10));
        assert_eq!(sequence.lose(2, 16), 2);
        assert_eq!((sequence.kept(), sequence.pending()), (48, 42));
        assert_eq!(sequence.lose(1000, 16), 3);
        assert_eq!((sequence.kept(), sequence.pending()), (0, 90));
        assert_eq!(sequence.lose(1, 16), 0);
    }
}
