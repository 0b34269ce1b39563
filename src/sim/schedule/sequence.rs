//! The state of a request in the engine.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::sim::load::arrived::Arrived;
use crate::sim::memory::content::BlockIds;
use crate::sim::schedule::kv_cache::Blocks;
use crate::sim::{Content, Outcome, Request, RequestRecord, Timing};
use crate::step::Chunk;

/// The state of a request after the last scheduled step.
///
/// With [`OneStepAhead`](crate::engine::Scheduling::OneStepAhead) that step has not ended yet. Without
/// speculative decoding, the state is not updated while the request decodes (see `decodes_from`).
///
/// At most 256 bytes in a sequence slot: it is moved often, and a larger move costs twice as much.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    /// Index in the source, or number of the push.
    pub(crate) index: usize,
    pub(crate) request: Request,
    /// Order among all requests; negative if it was put before all others.
    pub(crate) order: i64,
    /// Times of its events so far.
    pub(crate) timing: TimesSoFar,
    /// Ids of a trace and the tokens per id, if there are any.
    trace_ids: Option<Box<(Vec<u64>, u32)>>,
    /// Tokens of the prefix hit given with the request: full blocks, never the last token of the prompt.
    cached: u32,
    /// Tokens whose KV entries come from a prefill server and wait for blocks.
    transferred: u32,
    /// Tokens that its last preemption lost and that count as computed, see
    /// [`VictimToken`](crate::engine::VictimToken).
    counted: u32,
    /// Whether its blocks are found by their contents although no other request shares them: it was preempted, and the
    /// blocks that it finds may differ from those that it had.
    found_by_contents: bool,
    /// Output tokens sampled.
    generated: u32,
    /// Tokens in the KV cache, prefix hits included.
    computed: u32,
    /// Tokens in the KV cache whose full blocks others can find.
    known: u32,
    /// Tokens that are computed in chunks before it decodes: the prompt, and after a preemption also
    /// the output so far.
    prefill: u32,
    /// Its blocks, without those of the prefix hit given with the request.
    pub(crate) blocks: Blocks,
    /// Its tokens in the last step that verified some, or the last chunk of its prompt, with speculative decoding one
    /// step ahead or with pipeline stages.
    in_flight: InFlight,
    /// The step from which on it takes a token per step; `generated`, `computed` and `blocks` are as of the end of
    /// the step before, until [`catch_up`](Sequence::catch_up).
    pub(crate) decodes_from: Option<u64>,
    /// The last step that had no token for it while it decoded; 0 if none, as steps are counted from 1.
    pub(crate) left_out_of: u64,
}

/// The part of a [`Timing`] that is known before the last token.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimesSoFar {
    pub(crate) at_engine_ns: u64,
    pub(crate) scheduled_ns: u64,
    pub(crate) first_token_ns: u64,
    pub(crate) api_output_ns: u64,
    pub(crate) preemptions: u32,
    pub(crate) cached_tokens: u32,
}

/// Tokens of a request in a step that has not ended when the next one is scheduled, with speculative decoding.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InFlight {
    step: u64,
    /// Tokens sampled, up to the output length.
    pub(crate) yielded: u32,
    /// Tokens computed that are not `yielded`.
    pub(crate) unused: u32,
    /// Tokens sampled beyond the output length.
    pub(crate) beyond: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<(u64, Sequence)>>() <= 256, "as documented above");

impl Sequence {
    /// Creates the state of a request that has just arrived. If the KV entries of its prompt come from a prefill
    /// server, only the last token of the prompt is computed again, for the first token of the output.
    #[inline]
    pub(crate) fn new(arrived: Arrived, block_size: u32) -> Sequence {
        let Arrived { index, request, at_engine_ns, with_kv, trace_ids } = arrived;
        let but_last = request.prompt_tokens.saturating_sub(1);
        let reusable = request.cached_prompt_tokens.min(but_last);
        let cached = reusable - reusable % block_size.max(1);
        Sequence {
            index,
            request,
            order: 0,
            timing: TimesSoFar { at_engine_ns, ..TimesSoFar::default() },
            trace_ids,
            cached,
            transferred: if with_kv { but_last } else { 0 },
            counted: 0,
            found_by_contents: false,
            generated: 0,
            computed: cached,
            known: cached,
            prefill: request.prompt_tokens,
            blocks: Blocks::default(),
            in_flight: InFlight::default(),
            decodes_from: None,
            left_out_of: 0,
        }
    }

    /// Returns the ids of all its KV blocks.
    pub(crate) fn ids(&self, block_size: u32) -> BlockIds<'_> {
        let trace_ids = self.trace_ids.as_deref().map_or((&[][..], 0), |(ids, tokens)| (ids.as_slice(), *tokens));
        BlockIds::of(self.request, self.index, block_size, trace_ids)
    }

    /// Returns the ids of its KV blocks, without those of the prefix hit given with the request.
    pub(crate) fn block_ids(&self, block_size: u32) -> impl Iterator<Item = u64> + '_ {
        let ids = self.ids(block_size);
        let first = self.given_blocks(block_size);
        (first..).map(move |block| ids.id(block))
    }

    /// Returns the blocks of the prefix hit given with the request.
    pub(crate) fn given_blocks(&self, block_size: u32) -> u32 {
        self.cached / block_size
    }

    /// Returns whether others can share its tokens, or its blocks differ from those that it would find.
    pub(crate) fn shares(&self) -> bool {
        self.request.content != Content::Unique || self.found_by_contents
    }

    /// Returns whether it looks up its tokens in the prefix cache: vLLM does not if some are computed.
    pub(crate) fn looks_up(&self) -> bool {
        self.counted == 0
    }

    /// Lets its blocks be found by their contents, as if others could share them.
    pub(crate) fn find_by_contents(&mut self) {
        self.found_by_contents = true;
    }

    /// Loses its `tokens` of a step with a preemption; `counted` ones count as computed.
    pub(crate) fn lose(&mut self, tokens: u32, counted: u32) {
        // Their blocks are registered, and not computed.
        self.found_by_contents |= tokens > 0;
        self.counted = counted;
    }

    /// Returns the blocks that `tokens` need, without those of the prefix hit given with the request.
    pub(crate) fn blocks_for(&self, tokens: u32, block_size: u32) -> u32 {
        tokens.div_ceil(block_size) - self.cached / block_size
    }

    /// Returns the blocks that `tokens` fill in full, likewise.
    pub(crate) fn full_blocks(&self, tokens: u32, block_size: u32) -> u32 {
        tokens / block_size - self.cached / block_size
    }

    /// Sets the computed tokens to a prefix hit of `blocks`.
    pub(crate) fn found(&mut self, blocks: u32, block_size: u32) {
        self.computed = self.computed_with(blocks, block_size).max(self.counted);
    }

    /// Returns the tokens that are computed with a prefix hit of `blocks`: those of blocks behind it are, too, if the
    /// request comes with the KV entries of its prompt.
    pub(crate) fn computed_with(&self, blocks: u32, block_size: u32) -> u32 {
        (self.cached + blocks * block_size).max(self.transferred)
    }

    /// Returns the largest prefix hit, in blocks. The last token is always computed, as it yields the next one.
    pub(crate) fn findable(&self, block_size: u32) -> u32 {
        self.full_blocks(self.prefill.saturating_sub(1), block_size)
    }

    /// Returns the record of the request, whose last token came from `replica` at `finish_ns`.
    pub(crate) fn record(&self, finish_ns: u64, replica: u32) -> RequestRecord {
        let TimesSoFar { at_engine_ns, scheduled_ns, first_token_ns, api_output_ns, preemptions, cached_tokens } =
            self.timing;
        let timing = Timing {
            at_engine_ns,
            scheduled_ns,
            first_token_ns,
            finish_ns,
            api_output_ns,
            preemptions,
            cached_tokens,
            replica,
            kv_transfer: None,
        };
        RequestRecord::new(self.request, Outcome::Completed(timing))
    }

    /// Returns the tokens in the KV cache, prefix hits included.
    pub(crate) fn computed(&self) -> u32 {
        self.computed
    }

    /// Returns the tokens in the KV cache whose full blocks others can find.
    pub(crate) fn known(&self) -> u32 {
        self.known
    }

    /// Returns the token that the step before `step` decodes, without speculative decoding.
    pub(crate) fn decoded_in_flight(&self, step: u64) -> InFlight {
        InFlight { yielded: u32::from(self.pending() == 0 && self.left_out_of + 1 != step), ..InFlight::default() }
    }

    /// Excludes the tokens that the step in flight decodes from [`known`](Sequence::known).
    pub(crate) fn forget_in_flight(&mut self, tokens: u32) {
        if self.computed > self.prefill {
            self.known = self.computed - tokens;
        }
    }

    /// Includes the next `tokens` in [`known`](Sequence::known), as far as their values are sampled when the step with
    /// them is scheduled: all but those `in_flight`, and drafts.
    pub(crate) fn expect(&mut self, tokens: u32, in_flight: u32) {
        let sampled = self.request.prompt_tokens + self.generated - in_flight;
        self.known = (self.computed + tokens).min(sampled);
    }

    /// Returns the output tokens sampled.
    pub(crate) fn generated(&self) -> u32 {
        self.generated
    }

    /// Sets the tokens whose full blocks others can find.
    pub(crate) fn set_known(&mut self, tokens: u32) {
        self.known = tokens;
    }

    /// Returns its tokens in the step before `step`, with speculative decoding.
    pub(crate) fn verified_in_flight(&self, step: u64) -> InFlight {
        if self.in_flight.step + 1 == step { self.in_flight } else { InFlight::default() }
    }

    /// Returns the drafted and the accepted tokens that it verifies in `step`.
    pub(crate) fn drafts_in(&self, step: u64) -> (u32, u32) {
        let InFlight { yielded, unused, beyond, .. } = self.verified_in_flight(step + 1);
        ((unused + yielded).saturating_sub(1), (beyond + yielded).saturating_sub(1))
    }

    /// Returns the last step with a token of it, with pipeline stages.
    pub(crate) fn last_step(&self) -> u64 {
        self.in_flight.step
    }

    /// Returns whether its last token is scheduled even if the step in flight accepts no draft.
    pub(crate) fn surely_ends(&self, in_flight: InFlight) -> bool {
        let sure = in_flight.yielded.min(1);
        self.generated - in_flight.yielded + sure == self.request.output_tokens
    }

    /// Sets that the last chunk of its prompt is in flight in `step`, with `unused` tokens after it.
    pub(crate) fn set_first_in_flight(&mut self, step: u64, unused: u32) {
        self.in_flight = InFlight { step, yielded: 1, unused, ..InFlight::default() };
    }

    /// Accepts `accepted` of `drafted` tokens; returns the number of tokens sampled: these and one more, up to the
    /// output length.
    pub(crate) fn accept(&mut self, accepted: u32, drafted: u32, step: u64) -> u32 {
        let yielded = (accepted + 1).min(self.remaining());
        self.generated += yielded;
        self.computed += yielded;
        self.in_flight = InFlight { step, yielded, unused: drafted + 1 - yielded, beyond: accepted + 1 - yielded };
        yielded
    }

    /// Returns the tokens of the prompt (and of the output before a preemption) that remain to be computed.
    pub(crate) fn pending(&self) -> u32 {
        self.prefill.saturating_sub(self.computed)
    }

    /// Returns its tokens in the step before `step`, which has not ended if steps are scheduled ahead.
    pub(crate) fn tokens_in_flight(&self, step: u64) -> u32 {
        match self.decodes_from {
            Some(from) if from < step => 1,
            _ => self.blocks.tokens_in(step - 1),
        }
    }

    /// Returns the output tokens that remain to be sampled.
    pub(crate) fn remaining(&self) -> u32 {
        self.request.output_tokens - self.generated
    }

    /// Returns whether its last token is scheduled.
    pub(crate) fn is_complete(&self) -> bool {
        self.generated == self.request.output_tokens
    }

    /// Returns whether its first token is scheduled.
    pub(crate) fn has_token(&self) -> bool {
        self.generated > 0
    }

    /// Returns whether its first token is scheduled, and no other.
    pub(crate) fn is_at_first_token(&self) -> bool {
        self.generated == 1
    }

    /// Schedules a chunk of `new` tokens, at most [`pending`](Sequence::pending); the last chunk samples a token.
    pub(crate) fn advance(&mut self, new: u32) -> Chunk {
        self.computed += new;
        self.known = self.computed;
        let last = self.computed == self.prefill;
        self.generated += u32::from(last);
        Chunk { new, kv_len: self.computed, last }
    }

    /// Returns the tokens in the KV cache before `step`, one more for each step since it decodes.
    pub(crate) fn computed_before(&self, step: u64) -> u32 {
        let since = self.decodes_from.map_or(0, |from| step - from);
        self.computed + since as u32
    }

    /// Returns whether it decodes and needs one more block of `block_size` tokens in `step`.
    pub(crate) fn grows_in(&self, step: u64, block_size: u64) -> bool {
        self.decodes_from.is_some() && u64::from(self.computed_before(step)) % block_size == 0
    }

    /// Returns the step with its last token; `None` unless it decodes.
    pub(crate) fn end(&self) -> Option<u64> {
        let from = self.decodes_from?;
        Some(from + u64::from(self.remaining()) - 1)
    }

    /// Adds the tokens of the steps from `decodes_from` up to the one before `step`.
    pub(crate) fn catch_up(&mut self, step: u64, block_size: u32) {
        let computed = self.computed_before(step);
        if computed > self.computed {
            self.generated += computed - self.computed;
            self.computed = computed;
            self.known = computed;
            self.blocks.unregistered = self.blocks_for(computed, block_size) - self.blocks.registered();
            self.decodes_from = Some(step);
            self.blocks.set_tokens(step - 1, 1);
        }
    }

    /// Starts over after a preemption: prompt and output so far are computed again, except for a prefix hit.
    pub(crate) fn restart(&mut self) {
        self.prefill = self.request.prompt_tokens + self.generated;
        self.computed = self.cached;
        self.transferred = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(prompt_tokens: u32, output_tokens: u32, cached_prompt_tokens: u32) -> Sequence {
        let request = Request { prompt_tokens, output_tokens, cached_prompt_tokens, ..Request::default() };
        Sequence::new(Arrived::new(0, request, (&[], 0)), 16)
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
}
