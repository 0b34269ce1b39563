//! A request inside the engine.

use alloc::vec::Vec;

use crate::sim::load::arrived::Arrived;
use crate::sim::memory::blocks::Blocks;
use crate::sim::memory::content::{BlockIds, TraceIds};
use crate::sim::{Content, Outcome, Request, RequestRecord, Timing};
use crate::step::Chunk;

/// How far the steps scheduled so far bring a request.
///
/// Everything here is as of the end of the last step that is scheduled, which with
/// [`OneStepAhead`](crate::engine::Scheduling::OneStepAhead) is a step that has not ended yet; while it
/// decodes, as of the step before it began to, but for speculative decoding.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// Its id: the place in the source, or the number of the push.
    pub(crate) index: usize,
    pub(crate) request: Request,
    /// Its order among the requests that have come, below 0 for one that was put before all.
    pub(crate) order: i64,
    /// When things happened to it, as far as they have.
    pub(crate) timing: Timing,
    /// The ids that a trace gives its tokens, and how many tokens one stands for.
    listed: (Vec<u64>, u32),
    /// Tokens of the prefix hit that came with it: whole blocks, never the last token of the prompt.
    cached: u32,
    /// Tokens whose KV entries came with it from another server and wait for blocks.
    arrived: u32,
    /// Output tokens sampled.
    generated: u32,
    /// Tokens in the KV cache, prefix hits included.
    computed: u32,
    /// Tokens that are computed in chunks before it decodes: the prompt, and after a preemption also
    /// the output so far.
    prefill: u32,
    /// Its blocks, the shared ones of the prefix hit that came with it left out.
    pub(crate) blocks: Blocks,
    /// The first of the steps in which it takes one token each; the figures above are as of the end
    /// of the step before it, until [`catch_up`](Sequence::catch_up).
    pub(crate) decodes_from: Option<u64>,
}

impl Sequence {
    /// A request that has computed nothing beyond its prefix hit. If the KV entries of its prompt came with it, only
    /// the last token of the prompt is computed again, for the first token of the output.
    #[inline]
    pub(crate) fn new(arrived: Arrived, block_size: u32) -> Sequence {
        let Arrived {
            index,
            request,
            at_engine_ns,
            with_kv,
            listed,
        } = arrived;
        let but_last = request.prompt_tokens.saturating_sub(1);
        let reusable = request.cached_prompt_tokens.min(but_last);
        let cached = reusable - reusable % block_size.max(1);
        Sequence {
            index,
            request,
            order: 0,
            timing: Timing {
                at_engine_ns,
                ..Timing::default()
            },
            listed: listed.map_or((Vec::new(), 0), |listed| *listed),
            cached,
            arrived: if with_kv { but_last } else { 0 },
            generated: 0,
            computed: cached,
            prefill: request.prompt_tokens,
            blocks: Blocks::default(),
            decodes_from: None,
        }
    }

    /// The ids of its KV blocks, from the first one beyond the prefix hit that came with it.
    pub(crate) fn block_ids(&self, block_size: u32) -> impl Iterator<Item = u64> + '_ {
        let (ids, tokens) = &self.listed;
        let trace = TraceIds {
            ids,
            tokens: *tokens,
        };
        let mut request = self.request;
        if let Content::TraceBlocks { first, .. } = &mut request.content {
            *first = 0;
        }
        let ids = BlockIds::new(&request, self.index, block_size, trace);
        let first = self.cached / block_size;
        (first..).map(move |block| ids.id(block))
    }

    /// Whether another request may have tokens of it.
    pub(crate) fn shares(&self) -> bool {
        self.request.content != Content::Unique
    }

    /// Blocks that `tokens` fill, the last one perhaps in part, beyond the prefix hit that came with it.
    pub(crate) fn blocks_for(&self, tokens: u32, block_size: u32) -> u32 {
        tokens.div_ceil(block_size) - self.cached / block_size
    }

    /// Blocks that `tokens` fill in full, likewise.
    pub(crate) fn full_blocks(&self, tokens: u32, block_size: u32) -> u32 {
        tokens / block_size - self.cached / block_size
    }

    /// It finds `blocks` of its prompt computed, beyond the prefix hit that came with it.
    pub(crate) fn found(&mut self, blocks: u32, block_size: u32) {
        self.computed = (self.cached + blocks * block_size).max(self.arrived);
    }

    /// Blocks of its prompt that it may find computed: never that of the last token, which yields the
    /// next one.
    pub(crate) fn findable(&self, block_size: u32) -> u32 {
        self.full_blocks(self.prefill.saturating_sub(1), block_size)
    }

    /// What became of it, at the end.
    pub(crate) fn record(&self) -> RequestRecord {
        RequestRecord {
            request: self.request,
            outcome: Outcome::Completed(self.timing),
        }
    }

    /// Tokens in the KV cache, the prefix hit included.
    pub(crate) fn computed(&self) -> u32 {
        self.computed
    }

    /// Output tokens sampled.
    pub(crate) fn generated(&self) -> u32 {
        self.generated
    }

    /// Whether all its tokens but the last one sampled are computed, and another is to be sampled.
    pub(crate) fn decodes(&self) -> bool {
        self.pending() == 0 && !self.is_complete()
    }

    /// A step has verified its drafts and accepted so many: they and one more are sampled, as far as it wants
    /// them. Answers how many that are.
    pub(crate) fn verified(&mut self, accepted: u32) -> u32 {
        let sampled = (accepted + 1).min(self.remaining());
        self.generated += sampled;
        self.computed += sampled;
        sampled
    }

    /// Tokens of the prompt (and of the output before a preemption) that are still to be computed.
    pub(crate) fn pending(&self) -> u32 {
        self.prefill.saturating_sub(self.computed)
    }

    /// Output tokens that are still to be sampled.
    pub(crate) fn remaining(&self) -> u32 {
        self.request.output_tokens - self.generated
    }

    /// Whether its last token is scheduled.
    pub(crate) fn is_complete(&self) -> bool {
        self.generated == self.request.output_tokens
    }

    /// Whether its first token is scheduled.
    pub(crate) fn has_token(&self) -> bool {
        self.generated > 0
    }

    /// Whether its first token is scheduled, and no other.
    pub(crate) fn is_at_first_token(&self) -> bool {
        self.generated == 1
    }

    /// Computes `new` tokens, at most [`pending`](Sequence::pending); the last chunk samples one.
    pub(crate) fn advance(&mut self, new: u32) -> Chunk {
        self.computed += new;
        let last = self.computed == self.prefill;
        self.generated += u32::from(last);
        Chunk {
            new,
            kv_len: self.computed,
            last,
        }
    }

    /// Tokens in the KV cache before `step`, if it took one in each step since it decodes.
    pub(crate) fn computed_before(&self, step: u64) -> u32 {
        let since = self.decodes_from.map_or(0, |from| step - from);
        self.computed + since as u32
    }

    /// Takes a token in each step since it decodes, up to the one before `step`, and decodes no more.
    pub(crate) fn catch_up(&mut self, step: u64, block_size: u32) {
        let computed = self.computed_before(step);
        self.generated += computed - self.computed;
        self.computed = computed;
        self.blocks.others = self.blocks_for(computed, block_size) - self.blocks.named();
        self.decodes_from = None;
    }

    /// It has given its blocks up: prompt and output so far are to be computed again, but for what it
    /// will find in the cache.
    pub(crate) fn restart(&mut self) {
        self.prefill = self.request.prompt_tokens + self.generated;
        self.computed = self.cached;
        self.arrived = 0;
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
        Sequence::new(Arrived::new(0, request, (&[], 0), 0), 16)
    }

    #[test]
    fn a_prefix_hit_is_whole_blocks_and_never_the_last_token() {
        let cached = |prompt, hit| sequence(prompt, 1, hit).computed();
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
        assert_eq!(Ok(sequence.advance(3)), Chunk::partial(3, 19));
        assert_eq!(Ok(sequence.advance(1)), Chunk::last(1, 20));
        assert!(sequence.is_at_first_token());
        assert_eq!((sequence.pending(), sequence.remaining()), (0, 2));
        sequence.decodes_from = Some(7);
        let computed = [7, 8, 9].map(|step| sequence.computed_before(step));
        assert_eq!(computed, [20, 21, 22]);
        sequence.catch_up(9, 16);
        assert!(sequence.is_complete());
        // 22 tokens, of which the first 16 are the prefix hit.
        assert_eq!(sequence.blocks.held(), 1);
    }

    #[test]
    fn a_restart_computes_prompt_and_output_again_and_yields_the_next_token() {
        let mut sequence = sequence(20, 9, 16);
        sequence.advance(4);
        sequence.decodes_from = Some(1);
        sequence.catch_up(2, 16);
        sequence.restart();
        // 20 of the prompt and 2 of the output, less the prefix hit.
        assert_eq!((sequence.pending(), sequence.findable(16)), (6, 0));
        assert_eq!(Ok(sequence.advance(6)), Chunk::last(6, 22));
        assert_eq!((sequence.computed(), sequence.remaining()), (22, 6));
    }
}
