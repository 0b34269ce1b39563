//! The KV cache: blocks are counted, not placed.

/// A pool of KV blocks of which every one is either free or held by one request.
#[derive(Debug, Clone)]
pub(crate) struct KvCache {
    block_size: u32,
    blocks: u32,
    used: u32,
    peak_used: u32,
}

impl KvCache {
    /// A pool of `blocks` free blocks of `block_size` tokens.
    pub(crate) fn new(blocks: u32, block_size: u32) -> KvCache {
        KvCache {
            block_size: block_size.max(1),
            blocks,
            used: 0,
            peak_used: 0,
        }
    }

    /// Blocks that `tokens` fill, the last one perhaps in part.
    pub(crate) fn blocks_for(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_size)
    }

    /// Takes all of `blocks`, or none and says so.
    #[must_use]
    pub(crate) fn try_take(&mut self, blocks: u32) -> bool {
        let fits = blocks <= self.blocks - self.used;
        if fits {
            self.used += blocks;
            self.peak_used = self.peak_used.max(self.used);
        }
        fits
    }

    /// Gives `blocks` back.
    pub(crate) fn release(&mut self, blocks: u32) {
        debug_assert!(blocks <= self.used, "more blocks given back than taken");
        self.used = self.used.saturating_sub(blocks);
    }

    /// Blocks that are held now.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// The most blocks that were held at any time.
    pub(crate) fn peak_used(&self) -> u32 {
        self.peak_used
    }
}
