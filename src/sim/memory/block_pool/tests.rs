//! The pool against a naive oracle, and single cases by name.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::oracle::Oracle;
use super::*;

/// An operation; numbers choose among the blocks at hand.
#[derive(Debug, Clone)]
enum Op {
    TakeCached(u64),
    TakeNew,
    Assign(usize, u64),
    Release(usize),
    TakeUnregistered(u32),
    ReleaseUnregistered(u32, u32),
    Park(u32),
    Reclaim(usize),
    RegisterParked(usize, u64),
}

const IDS: u64 = 6;

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0..IDS).prop_map(Op::TakeCached),
        3 => Just(Op::TakeNew),
        4 => (any::<usize>(), 0..IDS).prop_map(|(which, id)| Op::Assign(which, id)),
        4 => any::<usize>().prop_map(Op::Release),
        1 => (0..6_u32).prop_map(Op::TakeUnregistered),
        1 => (0..6_u32, 0..6_u32).prop_map(|(empty, cached)| Op::ReleaseUnregistered(empty, cached)),
        1 => (0..6_u32).prop_map(Op::Park),
        1 => any::<usize>().prop_map(Op::Reclaim),
        1 => (any::<usize>(), 0..IDS).prop_map(|(which, id)| Op::RegisterParked(which, id)),
    ]
}

/// The pool, the oracle, and the blocks taken from both.
struct Pair {
    pool: BlockPool,
    oracle: Oracle,
    handles: Vec<(BlockHandle, usize)>,
    parked: Vec<(Parked, usize)>,
    tickets: usize,
}

impl Pair {
    fn new(blocks: u32, freed: FreedBlocks) -> Pair {
        Pair {
            pool: BlockPool::new(blocks, freed),
            oracle: Oracle::new(blocks, freed),
            handles: Vec::new(),
            parked: Vec::new(),
            tickets: 0,
        }
    }

    fn keep(&mut self, taken: (Option<BlockHandle>, Option<usize>)) {
        match taken {
            (Some(handle), Some(block)) => self.handles.push((handle, block)),
            (None, None) => {}
            other => panic!("{other:?}"),
        }
    }

    fn apply(&mut self, op: &Op) {
        let Pair { pool, oracle, .. } = self;
        match *op {
            Op::TakeCached(id) => {
                let taken = (pool.take_cached(id), oracle.take_cached(id));
                self.keep(taken);
            }
            Op::TakeNew => {
                let taken = (pool.take_new(), oracle.take_new());
                self.keep(taken);
            }
            Op::Assign(which, id) => {
                let blank = |(_, block): &&(_, usize)| oracle.blocks[*block].contents.is_none();
                let blank: Vec<_> = self.handles.iter().filter(blank).collect();
                if let Some((handle, block)) = blank.get(which % blank.len().max(1)) {
                    pool.assign(handle, id);
                    oracle.assign(*block, id);
                }
            }
            Op::Release(which) if !self.handles.is_empty() => {
                let (handle, block) = self.handles.swap_remove(which % self.handles.len());
                pool.release(handle);
                oracle.release(block);
            }
            Op::TakeUnregistered(blocks) => {
                let fits = oracle.take_unregistered(blocks);
                assert_eq!(pool.take_unregistered(blocks), fits);
            }
            Op::ReleaseUnregistered(empty, cached) => {
                let taken = oracle.unregistered.len() as u32;
                let empty = empty.min(taken);
                let cached = cached.min(taken - empty);
                pool.release_unregistered(empty, cached);
                oracle.release_empty(empty);
                oracle.release_cached(cached, None);
            }
            Op::Park(blocks) => {
                let blocks = blocks.min(oracle.unregistered.len() as u32);
                self.tickets += 1;
                oracle.release_cached(blocks, Some(self.tickets));
                self.parked.push((pool.park(blocks), self.tickets));
            }
            Op::Reclaim(which) if !self.parked.is_empty() => {
                let (parked, ticket) = self.parked.swap_remove(which % self.parked.len());
                assert_eq!(pool.reclaim(parked, u32::MAX) as usize, oracle.reclaim(ticket));
            }
            Op::RegisterParked(which, first) if !self.parked.is_empty() => {
                let (parked, ticket) = self.parked.swap_remove(which % self.parked.len());
                let ids = (first..).map(|id| id % IDS);
                pool.register_parked(&parked, ids.clone());
                for (block, id) in oracle.parked(ticket).into_iter().zip(ids) {
                    oracle.assign(block, id);
                }
            }
            Op::Release(_) | Op::Reclaim(_) | Op::RegisterParked(..) => {}
        }
    }

    /// Compares all queries, and the queue from end to end.
    fn check(&self) {
        let Pair { pool, oracle, .. } = self;
        assert_eq!(pool.free() as usize, oracle.queue.len());
        assert_eq!(pool.used() + pool.free(), pool.blocks());
        assert_eq!(pool.peak_used() as usize, oracle.peak_used);
        assert_eq!(pool.counts().evictions, oracle.evictions);
        for id in 0..IDS {
            let idle = |block: &usize| oracle.queue.contains(block);
            let expected =
                oracle.find(id).map_or(Hits::default(), |block| Hits { blocks: 1, idle: u32::from(idle(&block)) });
            assert_eq!(pool.hits([id]), expected, "id {id}");
        }
        for (parked, ticket) in &self.parked {
            assert_eq!(pool.parked(parked) as usize, oracle.parked(*ticket).len());
        }
        let id = |block: &usize| oracle.blocks[*block].contents.map(|(id, _)| id);
        let expected: Vec<Option<u64>> = oracle.queue.iter().map(id).collect();
        assert_eq!(queue(pool), expected);
        // Every block is in exactly one state.
        let mut held: Vec<usize> = self.handles.iter().map(|(_, block)| *block).collect();
        held.sort_unstable();
        held.dedup();
        let all = held.len() + pool.unregistered as usize + expected.len();
        assert_eq!(all, pool.blocks() as usize);
    }
}

/// The ids in the queue of the pool, block by block.
fn queue(pool: &BlockPool) -> Vec<Option<u64>> {
    let mut ids = Vec::new();
    for at in pool.slots.queue() {
        let slot = pool.slots.at(at);
        match slot.state {
            State::Queued(1) if slot.is_named() => ids.push(Some(slot.label)),
            State::Queued(blocks) if !slot.is_named() => {
                ids.extend((0..blocks).map(|_| None));
            }
            other => panic!("{other:?} in the queue"),
        }
    }
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn the_pool_does_what_the_oracle_does(
        blocks in 0..12_u32,
        freed in prop_oneof![Just(FreedBlocks::Last), Just(FreedBlocks::UncachedFirst)],
        ops in prop::collection::vec(op(), 0..200),
    ) {
        let mut pair = Pair::new(blocks, freed);
        for op in &ops {
            pair.apply(op);
            pair.check();
        }
    }
}

#[test]
fn requests_that_share_nothing_need_no_memory() {
    for freed in [FreedBlocks::Last, FreedBlocks::UncachedFirst] {
        let mut pool = BlockPool::new(u32::MAX, freed);
        for _ in 0..1_000 {
            assert!(pool.take_unregistered(u32::MAX));
            pool.release_unregistered(7, 5);
            pool.release_unregistered(u32::MAX - 19, 7);
        }
        assert_eq!((pool.slots.len(), pool.free()), (1, u32::MAX));
    }
}

#[test]
fn lookups_and_hits_are_counted() {
    let mut pool = BlockPool::new(4, FreedBlocks::Last);
    for id in [1, 2] {
        let block = pool.take_new().unwrap();
        pool.assign(&block, id);
    }
    let hits = pool.hits([1, 2, 3]);
    pool.record(3, hits);
    let counts = pool.counts();
    assert_eq!((counts.lookups, counts.hits, counts.evictions), (3, 2, 0));
}
