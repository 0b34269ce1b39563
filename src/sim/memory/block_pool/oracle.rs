//! A naive pool that visits every block.

use alloc::vec;
use alloc::vec::Vec;

use crate::engine::FreedBlocks;

/// One block of the [`Oracle`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    /// Id of its contents, and when it was assigned.
    pub(super) contents: Option<(u64, u64)>,
    holders: u32,
    ticket: Option<usize>,
}

/// A list of all blocks, searched from end to end.
#[derive(Debug)]
pub(super) struct Oracle {
    freed: FreedBlocks,
    pub(super) blocks: Vec<Block>,
    /// Free blocks, the next to be reused first.
    pub(super) queue: Vec<usize>,
    /// Blocks in use without a handle.
    pub(super) unregistered: Vec<usize>,
    clock: u64,
    pub(super) evictions: u64,
    pub(super) peak_used: usize,
}

impl Oracle {
    pub(super) fn new(blocks: u32, freed: FreedBlocks) -> Oracle {
        Oracle {
            freed,
            blocks: vec![Block::default(); blocks as usize],
            queue: (0..blocks as usize).collect(),
            unregistered: Vec::new(),
            clock: 0,
            evictions: 0,
            peak_used: 0,
        }
    }

    pub(super) fn find(&self, id: u64) -> Option<usize> {
        let named = |block: &usize| self.blocks[*block].contents.filter(|(own, _)| *own == id);
        let all = (0..self.blocks.len()).filter(|block| named(block).is_some());
        all.min_by_key(|block| named(block).map(|(_, when)| when))
    }

    fn note_peak(&mut self) {
        self.peak_used = self.peak_used.max(self.blocks.len() - self.queue.len());
    }

    pub(super) fn take_cached(&mut self, id: u64) -> Option<usize> {
        let block = self.find(id)?;
        self.queue.retain(|queued| *queued != block);
        self.blocks[block].holders += 1;
        self.note_peak();
        Some(block)
    }

    pub(super) fn take_new(&mut self) -> Option<usize> {
        if self.queue.is_empty() {
            return None;
        }
        let block = self.queue.remove(0);
        self.evictions += u64::from(self.blocks[block].contents.is_some());
        self.blocks[block] = Block { holders: 1, ..Block::default() };
        self.note_peak();
        Some(block)
    }

    pub(super) fn assign(&mut self, block: usize, id: u64) {
        self.clock += 1;
        self.blocks[block].contents = Some((id, self.clock));
    }

    pub(super) fn release(&mut self, block: usize) {
        let has_contents = self.blocks[block].contents.is_some();
        self.queue_freed(block, has_contents);
    }

    fn queue_freed(&mut self, block: usize, has_contents: bool) {
        self.blocks[block].holders -= 1;
        if self.blocks[block].holders > 0 {
            return;
        }
        if self.freed == FreedBlocks::UncachedFirst && !has_contents {
            self.queue.insert(0, block);
        } else {
            self.queue.push(block);
        }
    }

    pub(super) fn take_unregistered(&mut self, blocks: u32) -> bool {
        let fits = blocks as usize <= self.queue.len();
        for _ in 0..if fits { blocks } else { 0 } {
            let block = self.take_new();
            self.unregistered.extend(block);
        }
        fits
    }

    pub(super) fn release_empty(&mut self, blocks: u32) {
        for _ in 0..blocks {
            let block = self.unregistered.pop().unwrap();
            self.blocks[block].ticket = None;
            self.queue_freed(block, false);
        }
    }

    pub(super) fn release_cached(&mut self, blocks: u32, ticket: Option<usize>) {
        for _ in 0..blocks {
            let block = self.unregistered.pop().unwrap();
            self.blocks[block].ticket = ticket;
            self.queue_freed(block, true);
        }
    }

    pub(super) fn parked(&self, ticket: usize) -> Vec<usize> {
        let own = |block: &usize| self.blocks[*block].ticket == Some(ticket);
        self.queue.iter().copied().filter(own).collect()
    }

    pub(super) fn reclaim(&mut self, ticket: usize) -> usize {
        let own = self.parked(ticket);
        self.queue.retain(|block| !own.contains(block));
        for block in &own {
            self.blocks[*block].holders = 1;
        }
        self.unregistered.extend(&own);
        self.note_peak();
        own.len()
    }
}
