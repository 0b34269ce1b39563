//! The KV blocks of requests in several groups of layers, of which some read only a window or chunk.
//!
//! Follows `vllm/v1/core/kv_cache_coordinator.py` and `single_type_kv_cache_manager.py`: all groups take blocks for the
//! same tokens, those with a window free the ones behind it, and a prefix hit is one of all groups.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use crate::model::Span;
use crate::sim::PrefixCaching;
use crate::sim::memory::block_pool::{BlockHandle, Hits, Parked};
use crate::sim::memory::content::{BlockIds, mix};
use crate::sim::schedule::kv_cache::{Blocks, KvCache};
use crate::sim::schedule::sequence::Sequence;

/// The KV blocks of one request in each group.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupBlocks {
    /// Number of blocks of each group that have been registered in the prefix cache, without those of the prefix hit
    /// given with the request.
    pub(super) registered: u32,
    /// The first block that limited groups hold, counted from the start of the request.
    first: u32,
    /// The registered blocks that each group holds.
    handles: Vec<VecDeque<BlockHandle>>,
    /// The blocks that its windows left behind last, if no other request can share them, and their range.
    behind: Option<(Range<u32>, Parked)>,
    /// The last step with tokens of its prompt or drafts, and their number.
    last: (u64, u32),
}

impl Blocks {
    /// Sets the number of its tokens in `step`.
    pub(super) fn set_tokens(&mut self, step: u64, tokens: u32) {
        if let Some(groups) = &mut self.groups {
            groups.last = (step, tokens);
        }
    }

    /// Returns the number of its tokens in `step`, if that is the last one in which it did not decode a single token.
    pub(super) fn tokens_in(&self, step: u64) -> u32 {
        let groups = self.groups.as_ref();
        let last = groups.map(|groups| groups.last);
        last.filter(|(last, _)| *last == step).map_or(0, |(_, tokens)| tokens)
    }
}

impl KvCache {
    /// Frees the blocks of a running request that its next tokens, in `step`, do not read, if it believes that `unused`
    /// more than its tokens are computed. Blocks that tokens in flight read are kept if that is the rule.
    pub(super) fn slide(&mut self, sequence: &mut Sequence, step: u64, unused: u32) {
        if !self.grouped {
            return;
        }
        let mut computed = sequence.computed_before(step) + unused;
        // The value of a token that the step in flight samples is not known.
        let known = match sequence.decodes_from {
            Some(from) if from < step => computed - u32::from(self.ahead),
            _ => sequence.known(),
        };
        if self.window_in_flight {
            computed = computed.saturating_sub(sequence.tokens_in_flight(step));
        }
        let first = self.skipped(computed);
        let shares = self.caching == PrefixCaching::Enabled && sequence.shares();
        let given = sequence.given_blocks(self.block_size);
        let Some(groups) = &mut sequence.blocks.groups else {
            return;
        };
        let old = groups.first;
        if first <= old {
            return;
        }
        groups.first = first;
        if !shares {
            let named = match self.caching {
                PrefixCaching::Enabled => first.min(known / self.block_size).max(old),
                PrefixCaching::Disabled => old,
            };
            let blocks = |blocks: u32| blocks * self.groups.limited;
            if first > named {
                self.pool.release_unregistered(blocks(first - named), 0);
            }
            if named > old {
                // With contents that only the request itself could find.
                let parked = self.pool.park(blocks(named - old));
                if let Some((_, before)) = groups.behind.replace((old..named, parked)) {
                    self.pool.forget(&before);
                }
            }
            return;
        }
        let registered = first.min(given + groups.registered).saturating_sub(old);
        let others = first - old - registered;
        let limited = self.limited();
        for handles in groups.handles.get_mut(limited).unwrap_or_default() {
            self.pool.release_unregistered(others, 0);
            let registered = handles.len().min(registered as usize);
            for handle in handles.drain(..registered).rev() {
                self.pool.release(handle);
            }
        }
    }

    /// Looks up the prompt of a waiting request.
    pub(super) fn look_up_groups(&self, sequence: &Sequence) -> Hits {
        if !sequence.shares() {
            return Hits::default();
        }
        let given = sequence.given_blocks(self.block_size);
        let most = given + sequence.findable(self.block_size);
        let ids = sequence.ids(self.block_size);
        let hit = self.longest_hit(&ids, given, most);
        let blocks = hit - given;
        let first = self.skipped(sequence.computed_with(blocks, self.block_size)).max(given);
        Hits { blocks, idle: self.idle(&ids, given..hit, first) }
    }

    /// Returns the end of the longest prefix of blocks with these `ids` that all groups have, between `given` and
    /// `most`.
    pub(super) fn longest_hit(&self, ids: &BlockIds<'_>, given: u32, most: u32) -> u32 {
        let has = |block: u32, groups: Range<usize>| {
            let id = ids.id(block);
            groups.into_iter().all(|group| self.pool.contains(mix(id, group as u64)))
        };
        let mut end = given;
        while end < most && has(end, self.full()) {
            end += 1;
        }
        self.longest_limited(given, end, |block| has(block, self.limited()))
    }

    /// Returns the end of the longest prefix up to `most` of which limited groups have all blocks that the next token
    /// reads (`find_longest_cache_hit`).
    fn longest_limited(&self, given: u32, most: u32, has: impl Fn(u32) -> bool) -> u32 {
        match self.groups.span {
            Span::Full => most,
            Span::Window(tokens) => {
                let needed = tokens.saturating_sub(1).div_ceil(self.block_size).max(1);
                let mut run = 0;
                for block in (given..most).rev() {
                    run = if has(block) { run + 1 } else { 0 };
                    if run == needed {
                        return block + run;
                    }
                }
                given + run
            }
            Span::Chunk(_) => {
                let start = self.skipped(most * self.block_size).max(given);
                let missing = (start..most).find(|block| !has(*block));
                missing.unwrap_or(most.max(start))
            }
        }
    }

    /// Returns how many of the blocks of a prefix hit are free, in limited groups of those from `first` on.
    fn idle(&self, ids: &BlockIds<'_>, hit: Range<u32>, first: u32) -> u32 {
        let idle = |start: u32, groups: Range<usize>| {
            let ids = (start..hit.end).map(|block| ids.id(block));
            let of_group = move |id, group| self.pool.hits([mix(id, group as u64)]).idle;
            ids.map(|id| groups.clone().map(|group| of_group(id, group)).sum::<u32>()).sum::<u32>()
        };
        idle(hit.start, self.full()) + idle(first, self.limited())
    }

    /// Takes the blocks of the prefix hit and those up to `needed` in each group; returns whether there were enough,
    /// and takes none if not.
    #[must_use]
    pub(super) fn admit_groups(&mut self, sequence: &mut Sequence, hits: Hits, needed: u32, kept_free: u32) -> bool {
        let given = sequence.given_blocks(self.block_size);
        let (hit, end) = (given + hits.blocks, given + needed);
        // Tokens that a preemption lost and that count as computed skip none.
        let counted = !sequence.looks_up();
        let computed = if counted { 0 } else { sequence.computed() };
        let first = self.skipped(computed).max(given);
        let missing = |end: u32, most: u32| {
            let limited = end.min(most).saturating_sub(hit.max(first));
            self.groups.full * (end - hit) + self.groups.limited * limited
        };
        let taken = missing(end, u32::MAX);
        let mut reserved = taken;
        if self.reserve_full_prompt {
            let prompt = sequence.computed() + sequence.pending();
            let end = given + sequence.blocks_for(prompt, self.block_size);
            reserved = reserved.max(missing(end, self.most_limited));
        }
        if reserved + hits.idle + kept_free > self.pool.free() {
            return false;
        }
        let mut groups = sequence.blocks.groups.take().unwrap_or_default();
        if sequence.shares() {
            let ids = sequence.ids(self.block_size);
            groups.handles.clear();
            for group in 0..self.groups.count() as usize {
                let start = if self.limited().contains(&group) { first.min(hit) } else { given };
                let ids = (start..hit).map(|block| mix(ids.id(block), group as u64));
                let handles = ids.filter_map(|id| self.pool.take_cached(id)).collect();
                groups.handles.push(handles);
            }
            groups.registered = hits.blocks;
            self.pool.record(sequence.findable(self.block_size), hits);
        }
        groups.first = first;
        sequence.blocks.groups = Some(groups);
        let fits = self.pool.take_unregistered(taken);
        debug_assert!(fits, "fewer blocks than the pool said were free");
        sequence.blocks.unregistered += end - hit;
        true
    }

    /// Registers the full blocks of a request in the prefix cache.
    pub(super) fn register_groups(&mut self, sequence: &mut Sequence) {
        let given = sequence.given_blocks(self.block_size);
        let full = sequence.full_blocks(sequence.known(), self.block_size);
        let Some(mut groups) = sequence.blocks.groups.take() else {
            return;
        };
        let registered = groups.registered;
        if full > registered {
            let (limited, ids) = (self.limited(), sequence.ids(self.block_size));
            groups.handles.resize_with(self.groups.count() as usize, VecDeque::new);
            for (group, handles) in groups.handles.iter_mut().enumerate() {
                let first = if limited.contains(&group) { groups.first } else { 0 };
                let blocks = (given + registered).max(first)..given + full;
                let ids = blocks.map(|block| mix(ids.id(block), group as u64));
                handles.extend(ids.map(|id| self.pool.register(id)));
            }
            groups.registered = full;
            sequence.blocks.unregistered -= full - registered;
        }
        sequence.blocks.groups = Some(groups);
    }

    /// Registers the blocks that the windows of a preempted request left behind last: a prefix hit may end before the
    /// tokens that moved the windows on.
    pub(super) fn register_behind(&mut self, sequence: &mut Sequence) {
        let groups = sequence.blocks.groups.as_mut();
        let Some((blocks, parked)) = groups.and_then(|groups| groups.behind.take()) else {
            return;
        };
        let ids = sequence.ids(self.block_size);
        // In the order in which groups leave blocks: one group after the other, the last block first.
        let all = self.limited().flat_map(|group| {
            let blocks = blocks.clone().rev();
            blocks.map(move |block| (block, group as u64))
        });
        let ids = all.map(|(block, group)| mix(ids.id(block), group));
        let lost = blocks.len() as u32 * self.groups.limited - self.pool.parked(&parked);
        self.pool.register_parked(&parked, ids.skip(lost as usize));
    }

    /// Frees all blocks of a request, group by group, the last ones first.
    pub(super) fn release_groups(&mut self, sequence: &mut Sequence) {
        let given = sequence.given_blocks(self.block_size);
        let held = given + sequence.blocks.held();
        let own = self.caching == PrefixCaching::Enabled && !sequence.shares();
        let full = given + sequence.full_blocks(sequence.known(), self.block_size);
        sequence.blocks.unregistered = 0;
        let Some(groups) = &mut sequence.blocks.groups else {
            return;
        };
        let registered = given + mem::take(&mut groups.registered);
        let named = if own { full } else { registered };
        if let Some((_, behind)) = groups.behind.take() {
            self.pool.forget(&behind);
        }
        for group in 0..self.groups.count() as usize {
            let limited = self.limited().contains(&group);
            let start = if limited { groups.first } else { given };
            let start = start.max(registered).min(held);
            let named = named.clamp(start, held);
            self.pool.release_unregistered(held - named, named - start);
            let handles = groups.handles.get_mut(group);
            for handle in handles.map(mem::take).unwrap_or_default().into_iter().rev() {
                self.pool.release(handle);
            }
        }
    }

    /// Returns the number of leading blocks that limited groups do not read after `computed` tokens
    /// (`get_num_skipped_tokens`).
    fn skipped(&self, computed: u32) -> u32 {
        let tokens = match self.groups.span {
            Span::Full => 0,
            Span::Window(tokens) => computed.saturating_add(1).saturating_sub(tokens),
            Span::Chunk(tokens) => computed - computed % tokens.max(1),
        };
        tokens / self.block_size
    }

    /// Returns the groups that have all blocks.
    fn full(&self) -> Range<usize> {
        let (full, limited) = (self.groups.full as usize, self.groups.limited as usize);
        if self.groups.limited_first { limited..limited + full } else { 0..full }
    }

    /// Returns the groups with a window or chunks.
    fn limited(&self) -> Range<usize> {
        let (full, limited) = (self.groups.full as usize, self.groups.limited as usize);
        if self.groups.limited_first { 0..limited } else { full..full + limited }
    }
}
