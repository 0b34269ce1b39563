//! Blocks that are taken and freed as a number, because no other request can share them.

use crate::sim::memory::block_pool::slots::{NONE, State};
use crate::sim::memory::block_pool::{BlockHandle, BlockPool, Parked};

impl BlockPool {
    /// Takes `blocks` from the head of the queue; returns false and takes none if fewer are free. Cost: amortised
    /// O(1), one step per block that was released by its handle and one per run.
    #[must_use]
    pub(in crate::sim) fn take_unregistered(&mut self, blocks: u32) -> bool {
        if blocks > self.free {
            return false;
        }
        if blocks == 0 {
            return true;
        }
        let mut left = blocks;
        while left > 0 {
            let popped = self.pop(left);
            if popped == 0 {
                debug_assert!(false, "fewer blocks in the queue than free");
                break;
            }
            left -= popped;
        }
        self.unregistered += blocks;
        self.count_taken(blocks);
        true
    }

    /// Frees `blocks` without contents and then `cached` with contents that nothing looks up again. Cost: O(1).
    pub(in crate::sim) fn release_unregistered(&mut self, blocks: u32, cached: u32) {
        let blocks = self.count_freed(blocks);
        self.queue_empty(blocks);
        let cached = self.count_freed(cached);
        self.queue_run(cached);
    }

    /// Frees the full blocks of a preempted request, which may [`reclaim`](BlockPool::reclaim) those that were not
    /// taken in the meantime. Cost: O(1).
    #[must_use]
    pub(in crate::sim) fn park(&mut self, blocks: u32) -> Parked {
        let blocks = self.count_freed(blocks);
        let ticket = self.tickets;
        self.tickets = ticket.saturating_add(1);
        let slot = if blocks == 0 { NONE } else { self.slots.insert_back(blocks, ticket.get()) };
        Parked { slot, ticket }
    }

    /// Returns how many of the parked blocks, the first ones, can be reclaimed. Cost: O(1).
    pub(in crate::sim) fn parked(&self, parked: &Parked) -> u32 {
        let slot = self.slots.at(parked.slot);
        match slot.state {
            State::Queued(blocks) if !slot.is_named() && slot.label == parked.ticket.get() => blocks,
            _ => 0,
        }
    }

    /// Takes the parked blocks that can be reclaimed, `most` at most; returns how many. The others stay in the queue.
    /// Cost: O(1).
    pub(in crate::sim) fn reclaim(&mut self, parked: Parked, most: u32) -> u32 {
        let blocks = self.parked(&parked);
        let taken = blocks.min(most);
        if taken < blocks {
            self.slots.set_state(parked.slot, State::Queued(blocks - taken));
        } else if blocks > 0 {
            self.slots.unlink(parked.slot, State::Vacant);
            self.slots.vacate(parked.slot);
        }
        self.unregistered += taken;
        self.count_taken(taken);
        taken
    }

    /// Turns parked blocks into blocks with contents, which others can share; `ids` are in the order of the queue.
    /// Cost: O(1) per block.
    pub(in crate::sim) fn register_parked(&mut self, parked: &Parked, ids: impl Iterator<Item = u64>) {
        let blocks = self.parked(parked);
        if blocks == 0 {
            return;
        }
        for id in ids.take(blocks as usize) {
            let slot = self.slots.insert(State::Queued(1), 0);
            self.slots.push_before(parked.slot, slot, 1);
            self.assign(&BlockHandle(slot), id);
        }
        self.slots.unlink(parked.slot, State::Vacant);
        self.slots.vacate(parked.slot);
    }

    /// Gives up the claim to parked blocks: their run joins the one before it. Cost: O(1).
    ///
    /// The queue is then one run for many requests and stays in the caches of the processor.
    pub(in crate::sim) fn forget(&mut self, parked: &Parked) {
        let blocks = self.parked(parked);
        if blocks == 0 {
            return;
        }
        if self.extend_run(self.slots.before(parked.slot), blocks) {
            self.slots.unlink(parked.slot, State::Vacant);
            self.slots.vacate(parked.slot);
        } else {
            self.slots.clear_label(parked.slot);
        }
    }

    /// Turns a block without a handle into one with contents `id`, which others can share. Cost: O(1).
    #[must_use]
    pub(in crate::sim) fn register(&mut self, id: u64) -> BlockHandle {
        debug_assert!(self.unregistered > 0, "no block to register");
        self.unregistered = self.unregistered.saturating_sub(1);
        let block = BlockHandle(self.slots.insert(State::Held(1), 0));
        self.assign(&block, id);
        block
    }

    /// Counts up to `blocks` as free; returns how many.
    fn count_freed(&mut self, blocks: u32) -> u32 {
        debug_assert!(blocks <= self.unregistered, "more blocks freed than taken");
        let blocks = blocks.min(self.unregistered);
        self.unregistered -= blocks;
        self.free += blocks;
        blocks
    }
}
