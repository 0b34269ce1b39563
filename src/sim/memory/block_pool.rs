//! The KV blocks of one server, with what they contain: vLLM V1's block pool.
//!
//! A block is held by one request or more, or waits in a queue to be taken again. In the queue it
//! keeps its contents, and a request that needs these takes it from there; a request that needs any
//! block takes the head of the queue, and the contents of that one are evicted. The queue begins with
//! the empty blocks, and blocks that are let go join at its end: least recently used goes first.
//!
//! Three things are as in `vllm/v1/core/block_pool.py` (0.16) and easily done otherwise: blocks
//! without contents queue with the others and do not jump the line; several blocks may have the same
//! id, and the oldest of them is found; contents stay until the block is taken, not until it is free.
//!
//! Blocks that no other request can use need no handle: [`take_unregistered`](BlockPool::take_unregistered)
//! counts them, and in the queue they are runs, so that they age among the others at O(1) a request.

mod id_map;
#[cfg(test)]
mod oracle;
mod slots;
mod unregistered;

use hashbrown::hash_map::Entry;

use self::id_map::IdMap;
use self::slots::{BlockSlots, State};

/// A pool of KV blocks, each held, cached or empty.
#[derive(Debug, Clone)]
pub(crate) struct BlockPool {
    blocks: u32,
    free: u32,
    least_free: u32,
    /// Blocks that are held as a mere number.
    unregistered: u32,
    slots: BlockSlots,
    /// The oldest block of each id.
    oldest: IdMap,
    tickets: u64,
    counts: CacheCounts,
}

/// One holder of one block. Lose none: [`BlockPool::release`] wants it back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockHandle(u32);

/// Blocks that a preempted request let go and may find again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    slot: u32,
    ticket: u64,
}

/// What of a request is in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hits {
    /// Leading blocks that are in the pool.
    pub(crate) blocks: u32,
    /// Those of them that nobody holds: taking them takes free blocks.
    pub(crate) idle: u32,
}

/// What the pool was asked for and what it did, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheCounts {
    /// Looked for by [`record`](BlockPool::record).
    pub(crate) lookups: u64,
    /// Found by [`record`](BlockPool::record).
    pub(crate) hits: u64,
    /// Blocks with an id that were taken for something else.
    pub(crate) evictions: u64,
}

impl BlockPool {
    /// A pool of empty blocks. Cost: O(1); memory grows with the blocks that get handles.
    pub(crate) fn new(blocks: u32) -> BlockPool {
        let mut pool = BlockPool {
            blocks,
            free: blocks,
            least_free: blocks,
            unregistered: 0,
            slots: BlockSlots::new(),
            oldest: IdMap::default(),
            tickets: 0,
            counts: CacheCounts::default(),
        };
        pool.queue_run(blocks);
        pool
    }

    /// Blocks that exist.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Blocks that can be taken now: empty and cached ones.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Blocks that are held now.
    pub(crate) fn used(&self) -> u32 {
        self.blocks - self.free
    }

    /// The most blocks that were held at any time.
    pub(crate) fn peak_used(&self) -> u32 {
        self.blocks - self.least_free
    }

    /// What was counted so far.
    pub(crate) fn counts(&self) -> CacheCounts {
        self.counts
    }

    /// How many leading `ids` are in the pool; takes and counts nothing. Cost: O(1) per hit.
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

    /// Counts that a request looked for `lookups` blocks and took the `hits` of these.
    pub(crate) fn record(&mut self, lookups: u32, hits: Hits) {
        self.counts.lookups += u64::from(lookups);
        self.counts.hits += u64::from(hits.blocks);
    }

    /// Holds the block with `id`, whoever else does; `None` if it is not in the pool. Cost: O(1).
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

    #[cfg(test)]
    /// Holds the block at the head of the queue and evicts what it contains; `None` if all blocks are
    /// held. Cost: O(1).
    #[must_use]
    pub(crate) fn take_new(&mut self) -> Option<BlockHandle> {
        if self.pop(1) == 0 {
            return None;
        }
        self.count_taken(1);
        Some(BlockHandle(self.slots.insert(State::Held(1), 0)))
    }

    /// Says what a full block contains; once per block. Cost: amortised O(1).
    pub(crate) fn assign(&mut self, block: &BlockHandle, id: u64) {
        let slot = block.0;
        if self.slots.at(slot).is_named() {
            debug_assert!(false, "contents given to a block that has some");
            return;
        }
        let oldest = match self.oldest.entry(id) {
            Entry::Occupied(oldest) => *oldest.get(),
            Entry::Vacant(none) => *none.insert(slot),
        };
        self.slots.name(slot, id, oldest);
    }

    /// One holder less; after the last the block joins the end of the queue, with its contents if it
    /// has an id. A request lets go of its last block first, so that its end is evicted before its
    /// beginning. Cost: O(1).
    pub(crate) fn release(&mut self, block: BlockHandle) {
        let slot = self.slots.at(block.0);
        match slot.state {
            State::Held(1) if slot.is_named() => self.slots.push_back(block.0, 1),
            State::Held(1) => {
                self.slots.vacate(block.0);
                self.queue_run(1);
            }
            State::Held(holders) => {
                self.slots.set_state(block.0, State::Held(holders - 1));
                return;
            }
            State::Vacant | State::Queued(_) => {
                debug_assert!(false, "a block given back that nobody holds");
                return;
            }
        }
        self.free += 1;
    }

    /// Takes up to `blocks` from the head of the queue: of a run, or the one block there.
    fn pop(&mut self, blocks: u32) -> u32 {
        let head = self.slots.head();
        let slot = self.slots.at(head);
        let State::Queued(there) = slot.state else {
            return 0;
        };
        let taken = there.min(blocks);
        if taken < there {
            self.slots.set_state(head, State::Queued(there - taken));
            return taken;
        }
        self.slots.unlink(head, State::Vacant);
        if slot.is_named() {
            self.evict(head, slot.label);
        }
        self.slots.vacate(head);
        taken
    }

    /// Forgets what `slot` contains.
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

    /// Puts blocks without contents at the end of the queue, into the run there if there is one.
    fn queue_run(&mut self, blocks: u32) {
        if blocks == 0 {
            return;
        }
        let tail = self.slots.tail();
        let last = self.slots.at(tail);
        match last.state {
            State::Queued(there) if !last.is_named() && last.label == 0 => {
                self.slots.set_state(tail, State::Queued(there + blocks));
            }
            _ => {
                let slot = self.slots.insert(State::Queued(blocks), 0);
                self.slots.push_back(slot, blocks);
            }
        }
    }

    fn count_taken(&mut self, blocks: u32) {
        self.free -= blocks;
        self.least_free = self.least_free.min(self.free);
    }
}

#[cfg(test)]
mod tests;
