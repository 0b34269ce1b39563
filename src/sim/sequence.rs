//! A request inside the engine.

use crate::sim::{Outcome, PrefixCaching, Request, RequestRecord, Timing};
use crate::step::Chunk;

/// How far the steps scheduled so far bring a request.
///
/// Everything here is as of the end of the last step that is scheduled, which with
/// [`OneStepAhead`](crate::sim::Scheduling::OneStepAhead) is a step that has not ended yet; while it
/// decodes, as of the step before it began to.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    /// The number by which observers know it.
    pub(super) place: usize,
    request: Request,
    /// When things happened to it, as far as they have.
    pub(super) timing: Timing,
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
    /// The first of the steps in which it takes one token each; the figures above are as of the end
    /// of the step before it, until [`catch_up`](Sequence::catch_up).
    pub(super) decodes_from: Option<u64>,
}

impl Sequence {
    /// A request that has computed nothing beyond its prefix hit.
    pub(super) fn new(
        place: usize,
        request: &Request,
        at_engine_ns: u64,
        block_size: u32,
    ) -> Sequence {
        let reusable = request
            .cached_prompt_tokens
            .min(request.prompt_tokens.saturating_sub(1));
        let cached = reusable - reusable % block_size.max(1);
        Sequence {
            place,
            request: *request,
            timing: Timing {
                at_engine_ns,
                ..Timing::default()
            },
            cached,
            generated: 0,
            computed: cached,
            prefill: request.prompt_tokens,
            blocks: 0,
            freed: 0,
            decodes_from: None,
        }
    }

    /// What became of it, at the end.
    pub(super) fn record(&self) -> RequestRecord {
        RequestRecord {
            request: self.request,
            outcome: Outcome::Completed(self.timing),
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

    /// Tokens of the prompt (and of the output before a preemption) that are still to be computed.
    pub(super) fn pending(&self) -> u32 {
        self.prefill.saturating_sub(self.computed)
    }

    /// Output tokens that are still to be sampled.
    pub(super) fn left(&self) -> u32 {
        self.request.output_tokens - self.generated
    }

    /// Whether its last token is scheduled.
    pub(super) fn is_complete(&self) -> bool {
        self.generated == self.request.output_tokens
    }

    /// Whether its first token is scheduled.
    pub(super) fn has_token(&self) -> bool {
        self.generated > 0
    }

    /// Whether its first token is scheduled, and no other.
    pub(super) fn is_at_first_token(&self) -> bool {
        self.generated == 1
    }

    /// Computes `new` tokens, at most [`pending`](Sequence::pending); the last chunk samples one.
    pub(super) fn advance(&mut self, new: u32) -> Chunk {
        let context = self.computed;
        self.computed += new;
        let samples = u32::from(self.computed == self.prefill);
        self.generated += samples;
        Chunk {
            new,
            context,
            samples,
        }
    }

    /// Tokens in the KV cache before `step`, if it took one in each step since it decodes.
    pub(super) fn computed_before(&self, step: u64) -> u32 {
        let since = self.decodes_from.map_or(0, |from| step - from);
        self.computed + since as u32
    }

    /// Takes a token in each step since it decodes, up to the one before `step`, and decodes no more.
    pub(super) fn catch_up(&mut self, step: u64, block_size: u32) {
        let computed = self.computed_before(step);
        self.generated += computed - self.computed;
        self.computed = computed;
        self.blocks = computed.div_ceil(block_size) - self.cached.div_ceil(block_size);
        self.decodes_from = None;
    }

    /// Gives its blocks up: prompt and output so far are to be computed again, but for the prefix hit
    /// and, with prefix caching, its own full blocks as long as nobody takes them.
    pub(super) fn restart(&mut self, kept: PrefixCaching, block_size: u32) {
        self.prefill = self.request.prompt_tokens + self.generated;
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
        Sequence::new(0, &request, 0, 16)
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
        let chunk = |new, context, samples| Chunk {
            new,
            context,
            samples,
        };
        assert_eq!(sequence.advance(3), chunk(3, 16, 0));
        assert_eq!(sequence.advance(1), chunk(1, 19, 1));
        assert!(sequence.is_at_first_token());
        assert_eq!((sequence.pending(), sequence.left()), (0, 2));
        sequence.decodes_from = Some(7);
        let computed = [7, 8, 9].map(|step| sequence.computed_before(step));
        assert_eq!(computed, [20, 21, 22]);
        sequence.catch_up(9, 16);
        assert!(sequence.is_complete());
        // 22 tokens, of which the first 16 are the prefix hit.
        assert_eq!(sequence.blocks, 1);
    }

    #[test]
    fn a_restart_computes_prompt_and_output_again_and_yields_the_next_token() {
        let mut sequence = sequence(20, 9, 16);
        sequence.advance(4);
        sequence.decodes_from = Some(1);
        sequence.catch_up(2, 16);
        sequence.restart(PrefixCaching::Disabled, 16);
        // 20 of the prompt and 2 of the output, less the prefix hit.
        assert_eq!(sequence.pending(), 6);
        let all = Chunk {
            new: 6,
            context: 16,
            samples: 1,
        };
        assert_eq!(sequence.advance(6), all);
        assert_eq!((sequence.computed(), sequence.left()), (22, 6));
    }

    #[test]
    fn a_restart_finds_its_full_blocks_as_long_as_nobody_took_them() {
        let mut sequence = sequence(100, 9, 16);
        sequence.advance(84);
        sequence.decodes_from = Some(1);
        sequence.catch_up(6, 16);
        // 89 tokens beyond the prefix hit: five full blocks and one in part.
        assert_eq!(sequence.blocks, 6);
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
