//! The KV cache: blocks are counted, not placed.

/// A pool of KV blocks of which every one is either free or held by one request.
#[derive(Debug, Clone)]
pub(super) struct KvCache {
    block_size: u32,
    blocks: u32,
    used: u32,
    peak_used: u32,
}

impl KvCache {
    /// A pool of `blocks` free blocks of `block_size` tokens.
    pub(super) fn new(blocks: u32, block_size: u32) -> KvCache {
        KvCache {
            block_size: block_size.max(1),
            blocks,
            used: 0,
            peak_used: 0,
        }
    }

    /// Blocks that `tokens` fill, the last one perhaps in part.
    pub(super) fn blocks_for(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_size)
    }

    /// Takes all of `blocks`, or none and says so.
    #[must_use]
    pub(super) fn try_take(&mut self, blocks: u32) -> bool {
        let fits = blocks <= self.blocks - self.used;
        if fits {
            self.used += blocks;
            self.peak_used = self.peak_used.max(self.used);
        }
        fits
    }

    /// Gives `blocks` back.
    pub(super) fn release(&mut self, blocks: u32) {
        debug_assert!(blocks <= self.used, "more blocks given back than taken");
        self.used = self.used.saturating_sub(blocks);
    }

    /// Blocks that exist.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Blocks that are held now.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// The most blocks that were held at any time.
    pub(super) fn peak_used(&self) -> u32 {
        self.peak_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_is_all_or_nothing_and_the_peak_stays() {
        let mut kv = KvCache::new(10, 16);
        assert!(kv.try_take(7));
        assert!(!kv.try_take(4));
        assert_eq!(kv.used(), 7);
        assert!(kv.try_take(3));
        assert!(kv.try_take(0));
        kv.release(8);
        assert_eq!(kv.used(), 2);
        assert_eq!(kv.peak_used(), 10);
    }

    #[test]
    fn a_block_counts_from_its_first_token() {
        let kv = KvCache::new(10, 16);
        let blocks = [0, 1, 16, 17, 32, 33].map(|tokens| kv.blocks_for(tokens));
        assert_eq!(blocks, [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "more blocks given back than taken")]
    #[cfg(debug_assertions)]
    fn a_block_given_back_twice_is_caught() {
        let mut kv = KvCache::new(10, 16);
        assert!(kv.try_take(1));
        kv.release(1);
        kv.release(1);
    }
}
