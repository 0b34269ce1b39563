//! The KV blocks of one server and their contents: vLLM V1's block pool.
//!
//! A block is either in use by one or more requests, or free and in the free queue. In the queue it keeps
//! its contents, and a request with the same prefix takes it from there. A request that needs any block takes
//! the head of the queue, which evicts the contents of that block. The queue starts with the empty blocks, and
//! freed blocks join its end: the least recently used block is evicted first. [`FreedBlocks`] has the place of freed
//! blocks without contents.
//!
//! Two details follow `vllm/v1/core/block_pool.py` (0.16): several blocks may have the same id, and a lookup finds the
//! oldest; contents stay until the block is reused, not until it is freed.
//!
//! Blocks that no other request can share need no handle: [`take_unregistered`](BlockPool::take_unregistered)
//! counts them, and in the queue they form runs, so that they age among the others at O(1) per request.

mod id_map;
#[cfg(test)]
mod oracle;
mod slots;
mod unregistered;

use core::num::NonZeroU64;

use hashbrown::hash_map::Entry;

use self::id_map::IdMap;
use self::slots::{BlockSlots, NONE, State};
use crate::engine::FreedBlocks;

/// A pool of KV blocks, each in use, cached or empty.
#[derive(Debug, Clone)]
pub(crate) struct BlockPool {
    blocks: u32,
    freed: FreedBlocks,
    free: u32,
    min_free: u32,
    /// Number of blocks in use without a handle.
    unregistered: u32,
    slots: BlockSlots,
    /// The oldest block of each id.
    oldest: IdMap,
    tickets: NonZeroU64,
    counts: CacheCounts,
}

/// One reference to one block, to be returned with [`BlockPool::release`]. Only copies of a whole server copy it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockHandle(u32);

/// Blocks that a preempted request freed and may reclaim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parked {
    slot: u32,
    ticket: NonZeroU64,
}

/// A prefix hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hits {
    /// Leading blocks that are in the pool.
    pub(crate) blocks: u32,
    /// Cached blocks with no owner; reusing one consumes a free block.
    pub(crate) idle: u32,
}

/// Use of the prefix cache, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheCounts {
    /// Blocks looked up by admitted requests.
    pub(crate) lookups: u64,
    /// Blocks found by admitted requests.
    pub(crate) hits: u64,
    /// Blocks whose contents were evicted.
    pub(crate) evictions: u64,
}

impl BlockPool {
    /// Creates a pool of empty blocks. Cost: O(1); memory grows with the number of handles.
    pub(crate) fn new(blocks: u32, freed: FreedBlocks) -> BlockPool {
        let mut pool = BlockPool {
            blocks,
            freed,
            free: blocks,
            min_free: blocks,
            unregistered: 0,
            slots: BlockSlots::new(),
            oldest: IdMap::default(),
            tickets: NonZeroU64::MIN,
            counts: CacheCounts::default(),
        };
        pool.queue_run(blocks);
        pool
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Returns the number of free blocks, empty or cached.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Returns the number of blocks in use.
    pub(crate) fn used(&self) -> u32 {
        self.blocks - self.free
    }

    /// Returns the maximum number of blocks in use at any time.
    pub(crate) fn peak_used(&self) -> u32 {
        self.blocks - self.min_free
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> CacheCounts {
        self.counts
    }

    /// Returns how many leading `ids` are in the pool, without taking or counting them. Cost: O(1) per hit.
    pub(crate) fn hits(&self, ids: impl IntoIterator<Item = u64>) -> Hits {
        let mut hits = Hits::default();
        for id in ids {
            let Some(&slot) = self.oldest.get(&id) else {
                break;
            };
            hits.blocks += 1;
            hits.idle += u32::from(matches!(self.slots.at(slot).state, State::Queued(_)));
        }
        hits
    }

    /// Returns whether a block with `id` is in the pool.
    pub(crate) fn contains(&self, id: u64) -> bool {
        self.oldest.contains_key(&id)
    }

    /// Counts a request that looked up `lookups` blocks and took `hits`.
    pub(crate) fn record(&mut self, lookups: u32, hits: Hits) {
        self.counts.lookups += u64::from(lookups);
        self.counts.hits += u64::from(hits.blocks);
    }

    /// Takes a reference to the block with `id`; `None` if it is not in the pool. Cost: O(1).
    #[must_use]
    pub(crate) fn take_cached(&mut self, id: u64) -> Option<BlockHandle> {
        let slot = *self.oldest.get(&id)?;
        match self.slots.at(slot).state {
            State::Held(holders) => self.slots.set_state(slot, State::Held(holders + 1)),
            State::Queued(_) => {
                self.slots.unlink(slot, State::Held(1));
                self.count_taken(1);
            }
            State::Vacant => return None,
        }
        Some(BlockHandle(slot))
    }

    /// Takes the block at the head of the queue and evicts its contents; `None` if no block is free.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn take_new(&mut self) -> Option<BlockHandle> {
        if self.pop(1) == 0 {
            return None;
        }
        self.count_taken(1);
        Some(BlockHandle(self.slots.insert(State::Held(1), 0)))
    }

    /// Sets the id of a full block's contents; once per block. Cost: amortised O(1).
    pub(crate) fn assign(&mut self, block: &BlockHandle, id: u64) {
        let slot = block.0;
        if self.slots.at(slot).is_named() {
            debug_assert!(false, "a block was assigned an id twice");
            return;
        }
        let oldest = match self.oldest.entry(id) {
            Entry::Occupied(oldest) => *oldest.get(),
            Entry::Vacant(none) => *none.insert(slot),
        };
        self.slots.name(slot, id, oldest);
    }

    /// Returns a reference. After the last one the block joins the queue, at its end if it has an id. A request
    /// releases its last block first, so that its end is evicted before its beginning. Cost: O(1).
    pub(crate) fn release(&mut self, block: BlockHandle) {
        let slot = self.slots.at(block.0);
        match slot.state {
            State::Held(1) if slot.is_named() => self.slots.push_before(NONE, block.0, 1),
            State::Held(1) => {
                self.slots.vacate(block.0);
                self.queue_empty(1);
            }
            State::Held(holders) => {
                self.slots.set_state(block.0, State::Held(holders - 1));
                return;
            }
            State::Vacant | State::Queued(_) => {
                debug_assert!(false, "a block was released that is not in use");
                return;
            }
        }
        self.free += 1;
    }

    /// Removes up to `blocks` from the head of the queue, from one run at most; returns how many.
    fn pop(&mut self, blocks: u32) -> u32 {
        let head = self.slots.head();
        let slot = self.slots.at(head);
        let State::Queued(queued) = slot.state else {
            return 0;
        };
        let taken = queued.min(blocks);
        if taken < queued {
            self.slots.set_state(head, State::Queued(queued - taken));
            return taken;
        }
        self.slots.unlink(head, State::Vacant);
        if slot.is_named() {
            self.evict(head, slot.label);
        }
        self.slots.vacate(head);
        taken
    }

    /// Evicts the contents `id` of `slot`.
    fn evict(&mut self, slot: u32, id: u64) {
        self.counts.evictions += 1;
        match (self.slots.unname(slot), self.oldest.get_mut(&id)) {
            (Some(newer), Some(oldest)) if *oldest == slot => *oldest = newer,
            (Some(_), _) => {}
            (None, _) => {
                self.oldest.remove(&id);
            }
        }
    }

    /// Adds blocks without an id to the end of the queue.
    fn queue_run(&mut self, blocks: u32) {
        if blocks > 0 && !self.extend_run(self.slots.tail(), blocks) {
            self.slots.insert_back(blocks, 0);
        }
    }

    /// Adds blocks without contents to the queue.
    fn queue_empty(&mut self, blocks: u32) {
        match self.freed {
            FreedBlocks::Last => self.queue_run(blocks),
            FreedBlocks::UncachedFirst => {
                if blocks > 0 && !self.extend_run(self.slots.head(), blocks) {
                    let slot = self.slots.insert(State::Queued(blocks), 0);
                    self.slots.push_before(self.slots.head(), slot, blocks);
                }
            }
        }
    }

    /// Adds blocks to the run at `at`; returns false if there is none, or one that may be reclaimed.
    fn extend_run(&mut self, at: u32, blocks: u32) -> bool {
        let run = self.slots.at(at);
        match run.state {
            State::Queued(queued) if !run.is_named() && run.label == 0 => {
                self.slots.set_state(at, State::Queued(queued + blocks));
                true
            }
            _ => false,
        }
    }

    fn count_taken(&mut self, blocks: u32) {
        self.free -= blocks;
        self.min_free = self.min_free.min(self.free);
    }
}

#[cfg(test)]
mod tests;
