//! The KV cache of a server, and the blocks of each request in it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use crate::engine::Scheduling;
use crate::model::KvGroups;
use crate::sim::memory::block_pool::{BlockHandle, BlockPool, Hits, Parked};
use crate::sim::memory::content::BlockIds;
use crate::sim::schedule::group_blocks::GroupBlocks;
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{PrefixCaching, SimConfig};

/// The KV blocks of one request. With several groups of layers all numbers are those of each group, blocks behind the
/// window included.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks {
    /// Its first full blocks, registered in the prefix cache.
    registered: Vec<BlockHandle>,
    /// Number of the other blocks.
    pub(crate) unregistered: u32,
    /// Blocks with its states, in all groups that keep one.
    states: u32,
    /// Full blocks that it freed when it was preempted, if no other request can share them.
    parked: Option<Parked>,
    /// Blocks by group in place of `registered`, if the model has several groups or windows.
    pub(super) groups: Option<Box<GroupBlocks>>,
}

impl Blocks {
    /// Returns the number of blocks that are registered in the prefix cache.
    pub(crate) fn registered(&self) -> u32 {
        match &self.groups {
            None => self.registered.len() as u32,
            Some(groups) => groups.registered,
        }
    }

    /// Returns the number of blocks in use.
    pub(crate) fn held(&self) -> u32 {
        self.registered() + self.unregistered
    }
}

/// The KV cache of a server: its block pool, and the rules by which requests use it.
#[derive(Debug, Clone)]
pub(crate) struct KvCache {
    pub(crate) pool: BlockPool,
    pub(super) groups: KvGroups,
    /// Whether there are several groups, or windows.
    pub(super) grouped: bool,
    /// The largest number of blocks that a request holds in a group with a window or chunks.
    pub(super) most_limited: u32,
    pub(super) window_in_flight: bool,
    /// Whether steps are scheduled ahead.
    pub(super) ahead: bool,
    pub(super) block_size: u32,
    pub(super) caching: PrefixCaching,
    /// Whether the last block of a prefix hit is computed again.
    drops_last_hit: bool,
    /// Tokens beyond those of a step for which running requests reserve blocks, up to `max_model_len`.
    lookahead_tokens: u32,
    /// Likewise for requests that are admitted.
    admission_lookahead_tokens: u32,
    max_model_len: u32,
    /// Whether a request is admitted only if the blocks of its whole prompt are free.
    pub(super) reserve_full_prompt: bool,
    /// Blocks that admission leaves free while requests run.
    pub(crate) watermark_blocks: u32,
}

impl KvCache {
    /// Creates an empty cache.
    pub(crate) fn new(config: &SimConfig) -> KvCache {
        let lookahead_tokens = config.speculation.map_or(0, |speculation| speculation.lookahead_tokens());
        KvCache {
            pool: BlockPool::new(config.kv_blocks, config.rules.freed_blocks),
            groups: config.kv_groups,
            grouped: config.kv_groups.count() > 1 || config.kv_groups.limited > 0,
            most_limited: (config.kv_groups).most_limited(config.block_size, config.in_flight_tokens()),
            window_in_flight: config.rules.window_in_flight && config.rules.scheduling == Scheduling::OneStepAhead,
            ahead: config.rules.scheduling == Scheduling::OneStepAhead,
            block_size: config.block_size,
            caching: config.prefix_caching,
            drops_last_hit: config.rules.mtp_drops_block && config.speculation.is_some_and(|drafts| drafts.is_mtp()),
            lookahead_tokens,
            admission_lookahead_tokens: if config.rules.admission_lookahead { lookahead_tokens } else { 0 },
            max_model_len: config.max_model_len,
            reserve_full_prompt: config.rules.scheduler_reserve_full_isl,
            watermark_blocks: config.watermark_blocks(),
        }
    }

    /// Returns the blocks that a running request lacks for `tokens` more, in each group.
    pub(crate) fn missing(&self, sequence: &Sequence, tokens: u32) -> u32 {
        let needed = self.needed(sequence, tokens, self.lookahead_tokens);
        // Drafts that were rejected may leave it more than it needs.
        needed.saturating_sub(sequence.blocks.held())
    }

    /// Returns the number of blocks that are `blocks` in each group.
    #[inline]
    pub(crate) fn in_groups(&self, blocks: u32) -> u32 {
        if self.grouped { blocks * self.groups.count() } else { blocks }
    }

    /// Returns the blocks that a request needs for `tokens` more and the `lookahead` after them, in each group.
    fn needed(&self, sequence: &Sequence, tokens: u32, lookahead: u32) -> u32 {
        let tokens = sequence.computed() + tokens;
        let reserved = tokens.saturating_add(lookahead).min(self.max_model_len);
        sequence.blocks_for(reserved, self.block_size)
    }

    /// Takes the blocks that a running request needs for `tokens` more; returns whether there were enough.
    #[must_use]
    pub(crate) fn grow(&mut self, sequence: &mut Sequence, tokens: u32) -> bool {
        let missing = self.missing(sequence, tokens);
        let fits = self.pool.take_unregistered(self.in_groups(missing));
        if fits {
            sequence.blocks.unregistered += missing;
        }
        fits
    }

    /// Looks up the prompt of a waiting request in the prefix cache. Cost: O(blocks found) if the request can
    /// share tokens, else O(1).
    pub(crate) fn look_up(&self, sequence: &Sequence) -> Hits {
        if self.caching == PrefixCaching::Disabled || !sequence.looks_up() {
            return Hits::default();
        }
        if self.grouped {
            return self.look_up_groups(sequence);
        }
        let max_blocks = sequence.findable(self.block_size);
        if sequence.shares() {
            let ids = || sequence.block_ids(self.block_size);
            let hits = self.pool.hits(ids().take(max_blocks as usize));
            return match self.without_dropped(hits.blocks) {
                blocks if blocks == hits.blocks => hits,
                blocks => self.pool.hits(ids().take(blocks as usize)),
            };
        }
        let parked = sequence.blocks.parked.as_ref().map_or(0, |parked| self.pool.parked(parked));
        let blocks = parked.min(max_blocks);
        Hits { blocks, idle: blocks }
    }

    /// Returns the blocks of a prefix hit of `found` without the one that is computed again.
    fn without_dropped(&self, found: u32) -> u32 {
        found.saturating_sub(u32::from(self.drops_last_hit))
    }

    /// Returns how many tokens of a prompt with these `ids` are in the prefix cache. Cost: O(log blocks).
    ///
    /// Assumes: a block is evicted before those that precede it, so that the cached ones are the first.
    pub(crate) fn cached_tokens(&self, ids: &BlockIds<'_>, prompt_tokens: u32) -> u32 {
        if self.caching == PrefixCaching::Disabled {
            return 0;
        }
        // The last token is always computed.
        let (mut cached, mut end) = (0, prompt_tokens.saturating_sub(1) / self.block_size);
        if self.grouped {
            return self.longest_hit(ids, 0, end) * self.block_size;
        }
        while cached < end {
            let middle = cached.midpoint(end);
            if self.pool.contains(ids.id(middle)) { cached = middle + 1 } else { end = middle }
        }
        self.without_dropped(cached) * self.block_size
    }

    /// Takes the blocks of the prefix hit and those that `tokens` more need; returns whether there were enough,
    /// `kept_free` more included, and takes none if not.
    #[must_use]
    pub(crate) fn admit(&mut self, sequence: &mut Sequence, hits: Hits, tokens: u32, kept_free: u32) -> bool {
        let states = self.groups.states;
        if !self.admit_tokens(sequence, hits, tokens, kept_free.saturating_add(states)) {
            return false;
        }
        let taken = self.pool.take_unregistered(states);
        debug_assert!(taken, "fewer blocks than were kept free");
        sequence.blocks.states = states;
        true
    }

    /// Likewise for the blocks of tokens, without those of states.
    fn admit_tokens(&mut self, sequence: &mut Sequence, hits: Hits, tokens: u32, kept_free: u32) -> bool {
        let needed = self.needed(sequence, tokens, self.admission_lookahead_tokens);
        if self.grouped {
            return self.admit_groups(sequence, hits, needed, kept_free);
        }
        let missing = needed - hits.blocks;
        let reserved = if self.reserve_full_prompt {
            let prompt = sequence.computed() + sequence.pending();
            missing.max(sequence.blocks_for(prompt, self.block_size) - hits.blocks)
        } else {
            missing
        };
        if reserved + hits.idle + kept_free > self.pool.free() {
            return false;
        }
        if let Some(parked) = sequence.blocks.parked.take() {
            sequence.blocks.unregistered = self.pool.reclaim(parked, hits.blocks);
        }
        if sequence.shares() {
            let ids = sequence.block_ids(self.block_size);
            let hit = ids.take(hits.blocks as usize);
            let registered: Vec<BlockHandle> = hit.filter_map(|id| self.pool.take_cached(id)).collect();
            sequence.blocks.registered = registered;
            self.pool.record(sequence.findable(self.block_size), hits);
        }
        let taken = self.pool.take_unregistered(missing);
        debug_assert!(taken, "fewer blocks than the pool said were free");
        sequence.blocks.unregistered += missing;
        true
    }

    /// Registers the full blocks of a request in the prefix cache, if others can share them. Cost: O(1) per block.
    pub(crate) fn register_full(&mut self, sequence: &mut Sequence) {
        if self.caching == PrefixCaching::Disabled || !sequence.shares() {
            return;
        }
        if self.grouped {
            self.register_groups(sequence);
            return;
        }
        let full = sequence.full_blocks(sequence.known(), self.block_size);
        let registered = sequence.blocks.registered();
        let new = full.saturating_sub(registered);
        let ids = sequence.block_ids(self.block_size).skip(registered as usize);
        let handles: Vec<BlockHandle> = ids.take(new as usize).map(|id| self.pool.register(id)).collect();
        sequence.blocks.registered.extend(handles);
        sequence.blocks.unregistered -= new;
    }

    /// Registers the full blocks of a decoding request, whose token number `computed` fills one.
    pub(crate) fn register_decoded(&mut self, sequence: &mut Sequence, computed: u32) {
        let held = sequence.blocks_for(computed, self.block_size);
        sequence.blocks.unregistered = held - sequence.blocks.registered();
        sequence.set_known(computed);
        self.register_full(sequence);
    }

    /// Frees all blocks of a request, the last one first: the beginning stays in the cache longest.
    pub(crate) fn release(&mut self, sequence: &mut Sequence) {
        self.pool.release_unregistered(mem::take(&mut sequence.blocks.states), 0);
        self.register_full(sequence);
        if self.grouped {
            self.release_groups(sequence);
            return;
        }
        let cached = self.cached(sequence);
        let unregistered = mem::take(&mut sequence.blocks.unregistered);
        self.pool.release_unregistered(unregistered - cached, cached);
        while let Some(block) = sequence.blocks.registered.pop() {
            self.pool.release(block);
        }
    }

    /// Frees the blocks of a preempted request. When it is admitted again, it reuses those that were not taken in
    /// the meantime.
    pub(crate) fn release_preempted(&mut self, sequence: &mut Sequence) {
        if (self.grouped || self.drops_last_hit) && self.caching == PrefixCaching::Enabled {
            // Its prefix hit may be shorter than what it left in the cache: another preemption may find the rest.
            self.register_behind(sequence);
            sequence.find_by_contents();
        }
        if self.caching == PrefixCaching::Disabled || sequence.shares() {
            self.release(sequence);
            return;
        }
        let cached = self.cached(sequence);
        let unregistered = mem::take(&mut sequence.blocks.unregistered);
        self.pool.release_unregistered(unregistered - cached, 0);
        sequence.blocks.parked = Some(self.pool.park(cached));
    }

    /// Returns the number of unregistered blocks with contents in the prefix cache, which no other request shares.
    fn cached(&self, sequence: &Sequence) -> u32 {
        if self.caching == PrefixCaching::Disabled || sequence.shares() {
            return 0;
        }
        sequence.full_blocks(sequence.known(), self.block_size)
    }
}
