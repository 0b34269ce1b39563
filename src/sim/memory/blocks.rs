//! The KV blocks of one request, and how they are taken and given back.

use alloc::vec::Vec;

use crate::sim::PrefixCaching;
use crate::sim::memory::block_pool::{BlockHandle, BlockPool, Hits, Parked};
use crate::sim::schedule::sequence::Sequence;

/// The KV blocks of one request.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Its first blocks, filled, by which others with the same tokens find them.
    named: Vec<BlockHandle>,
    /// The rest, which are but a number.
    pub(crate) others: u32,
    /// What it gave up when it was preempted, if nobody else can have its tokens.
    parked: Option<Parked>,
}

impl Blocks {
    /// Filled blocks by which others find them.
    pub(crate) fn named(&self) -> u32 {
        self.named.len() as u32
    }

    /// Blocks that it holds.
    pub(crate) fn held(&self) -> u32 {
        self.named() + self.others
    }
}

/// Takes the blocks that a running request needs for `tokens` more; says whether there were enough.
#[must_use]
pub(crate) fn grow(
    pool: &mut BlockPool,
    sequence: &mut Sequence,
    tokens: u32,
    block_size: u32,
) -> bool {
    let own = sequence.blocks_for(sequence.computed() + tokens, block_size);
    let missing = own - sequence.blocks.held();
    let fits = pool.take_unregistered(missing);
    if fits {
        sequence.blocks.others += missing;
    }
    fits
}

/// What a waiting request would find of its prompt in the cache. Cost: O(blocks found) if it shares
/// tokens, else O(1).
pub(crate) fn look_up(
    pool: &BlockPool,
    sequence: &Sequence,
    caching: PrefixCaching,
    block_size: u32,
) -> Hits {
    let most = sequence.findable(block_size);
    if caching == PrefixCaching::Disabled {
        return Hits::default();
    }
    if sequence.shares() {
        return pool.hits(sequence.block_ids(block_size).take(most as usize));
    }
    let parked = sequence.blocks.parked.as_ref();
    let blocks = parked.map_or(0, |parked| pool.parked(parked)).min(most);
    Hits {
        blocks,
        idle: blocks,
    }
}

/// Takes what [`look_up`] found and the blocks that `tokens` more need; says whether there were enough,
/// and takes nothing if not.
#[must_use]
pub(crate) fn admit(
    pool: &mut BlockPool,
    sequence: &mut Sequence,
    hits: Hits,
    tokens: u32,
    block_size: u32,
) -> bool {
    let computed = sequence.computed();
    let missing = sequence.blocks_for(computed + tokens, block_size) - hits.blocks;
    if missing + hits.idle > pool.free() {
        return false;
    }
    if let Some(parked) = sequence.blocks.parked.take() {
        sequence.blocks.others = pool.reclaim(parked);
    }
    if sequence.shares() {
        let ids = sequence.block_ids(block_size).take(hits.blocks as usize);
        let named: Vec<BlockHandle> = ids.filter_map(|id| pool.take_cached(id)).collect();
        sequence.blocks.named = named;
        pool.record(sequence.findable(block_size), hits);
    }
    let taken = pool.take_unregistered(missing);
    debug_assert!(taken, "blocks were counted and are gone");
    sequence.blocks.others += missing;
    true
}

/// Lets others find the blocks that a request has filled. Cost: O(1) for each.
pub(crate) fn name_full(pool: &mut BlockPool, sequence: &mut Sequence, block_size: u32) {
    if !sequence.shares() {
        return;
    }
    let full = sequence.full_blocks(sequence.computed(), block_size);
    let named = sequence.blocks.named();
    let new = full.saturating_sub(named);
    let ids = sequence.block_ids(block_size).skip(named as usize);
    let handles: Vec<BlockHandle> = ids.take(new as usize).map(|id| pool.adopt(id)).collect();
    sequence.blocks.named.extend(handles);
    sequence.blocks.others -= new;
}

/// Gives all blocks back, the last first: the beginning is found longest.
pub(crate) fn give_back(
    pool: &mut BlockPool,
    sequence: &mut Sequence,
    caching: PrefixCaching,
    block_size: u32,
) {
    if caching == PrefixCaching::Enabled {
        name_full(pool, sequence, block_size);
    }
    pool.release_unregistered(core::mem::take(&mut sequence.blocks.others));
    while let Some(block) = sequence.blocks.named.pop() {
        pool.release(block);
    }
}

/// Gives the blocks of a preempted request back; what it finds of them when it is admitted again depends
/// on who takes blocks in the meantime.
pub(crate) fn give_up(
    pool: &mut BlockPool,
    sequence: &mut Sequence,
    caching: PrefixCaching,
    block_size: u32,
) {
    if caching == PrefixCaching::Enabled && !sequence.shares() {
        let full = sequence.full_blocks(sequence.computed(), block_size);
        pool.release_unregistered(sequence.blocks.others - full);
        sequence.blocks.others = 0;
        sequence.blocks.parked = Some(pool.park(full));
    } else {
        give_back(pool, sequence, caching, block_size);
    }
}
