//! Blocks that are held and let go as a mere number, because no other request can use them.

use crate::sim::memory::block_pool::slots::{NONE, State};
use crate::sim::memory::block_pool::{BlockHandle, BlockPool, Parked};

impl BlockPool {
    /// Holds `blocks` from the head of the queue as a mere number, or none and says so. Cost:
    /// amortised O(1): one step per block that was let go by its handle, one per run.
    #[must_use]
    pub(in crate::sim) fn take_unregistered(&mut self, blocks: u32) -> bool {
        if blocks > self.free {
            return false;
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

    /// Gives `blocks` of those back; they join the end of the queue. Cost: O(1).
    pub(in crate::sim) fn release_unregistered(&mut self, blocks: u32) {
        let blocks = self.let_go(blocks);
        self.queue_run(blocks);
    }

    /// As [`release_unregistered`](BlockPool::release_unregistered), but the request may come back for
    /// what nobody took: its full blocks when it is preempted. Cost: O(1).
    #[must_use]
    pub(in crate::sim) fn park(&mut self, blocks: u32) -> Parked {
        let blocks = self.let_go(blocks);
        self.tickets += 1;
        let ticket = self.tickets;
        let slot = if blocks == 0 {
            NONE
        } else {
            let slot = self.slots.insert(State::Queued(blocks), ticket);
            self.slots.push_back(slot, blocks);
            slot
        };
        Parked { slot, ticket }
    }

    /// How many of its parked blocks a request would find again: the first ones. Cost: O(1).
    pub(in crate::sim) fn parked(&self, parked: &Parked) -> u32 {
        let slot = self.slots.at(parked.slot);
        match slot.state {
            State::Queued(blocks) if !slot.is_named() && slot.label == parked.ticket => blocks,
            _ => 0,
        }
    }

    /// Holds what is left of parked blocks, again as a mere number, and says how many. Cost: O(1).
    pub(in crate::sim) fn reclaim(&mut self, parked: Parked) -> u32 {
        let blocks = self.parked(&parked);
        if blocks > 0 {
            self.slots.unlink(parked.slot, State::Vacant);
            self.slots.vacate(parked.slot);
            self.unregistered += blocks;
            self.count_taken(blocks);
        }
        blocks
    }

    /// Gives a block held as a mere number contents, and a handle: it was filled, and others may use it.
    /// Cost: O(1).
    #[must_use]
    pub(in crate::sim) fn adopt(&mut self, id: u64) -> BlockHandle {
        debug_assert!(self.unregistered > 0, "no block to give contents to");
        self.unregistered = self.unregistered.saturating_sub(1);
        let block = BlockHandle(self.slots.insert(State::Held(1), 0));
        self.assign(&block, id);
        block
    }

    /// Frees up to `blocks` of those held as a mere number; returns how many.
    fn let_go(&mut self, blocks: u32) -> u32 {
        debug_assert!(
            blocks <= self.unregistered,
            "more blocks given back than taken"
        );
        let blocks = blocks.min(self.unregistered);
        self.unregistered -= blocks;
        self.free += blocks;
        blocks
    }
}
