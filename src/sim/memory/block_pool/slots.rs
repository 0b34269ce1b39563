//! Slots of a block pool: one per used or cached block, one per run of blocks without contents.
//!
//! Two intrusive lists link them: the queue of free blocks, the next to be reused first, and for each id a ring
//! of all blocks with that id, oldest first. Every operation costs O(1).

use alloc::vec::Vec;
use core::mem;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// The state of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not in use.
    Vacant,
    /// A block in use, with its number of references.
    Held(u32),
    /// Free blocks: one with an id, or a run of blocks without.
    Queued(u32),
}

/// One slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) state: State,
    /// Id of the contents; for a run the ticket of the request that parked it, or 0.
    pub(super) label: u64,
    /// Neighbours in the queue; `next` also links vacant slots.
    prev: u32,
    next: u32,
    /// Neighbours in the ring of blocks with the same id; [`NONE`] for a block without an id.
    older: u32,
    newer: u32,
}

const _: () = assert!(size_of::<Slot>() <= 32, "as documented below");

impl Slot {
    const VACANT: Slot = Slot { state: State::Vacant, label: 0, prev: NONE, next: NONE, older: NONE, newer: NONE };

    /// Returns whether the slot has contents with an id.
    pub(super) fn is_named(&self) -> bool {
        self.newer != NONE
    }
}

/// All slots of a pool. Memory grows with the maximum number of slots in use at any time, 32 bytes each.
#[derive(Debug, Clone)]
pub(super) struct BlockSlots {
    slots: Vec<Slot>,
    vacant: u32,
    head: u32,
    tail: u32,
}

impl BlockSlots {
    /// Creates an empty list of slots.
    pub(super) fn new() -> BlockSlots {
        BlockSlots { slots: Vec::new(), vacant: NONE, head: NONE, tail: NONE }
    }

    /// Returns the slot at `at`, or a vacant one if there is none.
    pub(super) fn at(&self, at: u32) -> Slot {
        let slot = self.slots.get(at as usize);
        slot.copied().unwrap_or(Slot::VACANT)
    }

    /// Returns the slot at the head of the queue.
    pub(super) fn head(&self) -> u32 {
        self.head
    }

    /// Returns the slot at the end of the queue.
    pub(super) fn tail(&self) -> u32 {
        self.tail
    }

    /// Returns the slot before another one in the queue.
    pub(super) fn before(&self, at: u32) -> u32 {
        self.at(at).prev
    }

    /// Removes the ticket of a run.
    pub(super) fn clear_label(&mut self, at: u32) {
        self.edit(at, |slot| slot.label = 0);
    }

    /// Creates a slot in no list and returns its index. Cost: amortised O(1).
    pub(super) fn insert(&mut self, state: State, label: u64) -> u32 {
        self.put(Slot { state, label, ..Slot::VACANT })
    }

    /// Creates a slot with `blocks` at the end of the queue and returns its index. Cost: amortised O(1).
    pub(super) fn insert_back(&mut self, blocks: u32, label: u64) -> u32 {
        let at = self.insert(State::Vacant, label);
        self.push_before(NONE, at, blocks);
        at
    }

    fn put(&mut self, slot: Slot) -> u32 {
        let at = self.vacant;
        if let Some(reused) = self.slots.get_mut(at as usize) {
            self.vacant = reused.next;
            *reused = slot;
            return at;
        }
        self.slots.push(slot);
        // There are no more slots than blocks, and no more blocks than fit into 32 bits.
        u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
    }

    /// Removes a slot that is in no list.
    pub(super) fn vacate(&mut self, at: u32) {
        let next = self.vacant;
        self.edit(at, |slot| *slot = Slot { next, ..Slot::VACANT });
        self.vacant = at;
    }

    /// Changes the state of a slot that stays in its lists.
    pub(super) fn set_state(&mut self, at: u32, state: State) {
        self.edit(at, |slot| slot.state = state);
    }

    /// Adds a slot with `blocks` to the queue before `next`, or to its end if that is [`NONE`].
    pub(super) fn push_before(&mut self, next: u32, at: u32, blocks: u32) {
        let prev = if next == NONE {
            mem::replace(&mut self.tail, at)
        } else {
            let before = self.before(next);
            self.edit(next, |slot| slot.prev = at);
            before
        };
        if prev == NONE {
            self.head = at;
        } else {
            self.edit(prev, |slot| slot.next = at);
        }
        self.edit(at, |slot| {
            slot.state = State::Queued(blocks);
            slot.prev = prev;
            slot.next = next;
        });
    }

    /// Removes a slot from anywhere in the queue and sets its state.
    pub(super) fn unlink(&mut self, at: u32, state: State) {
        let Slot { prev, next, .. } = self.at(at);
        if prev == NONE {
            self.head = next;
        } else {
            self.edit(prev, |slot| slot.next = next);
        }
        if next == NONE {
            self.tail = prev;
        } else {
            self.edit(next, |slot| slot.prev = prev);
        }
        self.edit(at, |slot| slot.state = state);
    }

    /// Sets the id of a slot. `oldest` is the oldest slot with that id, or the slot itself.
    pub(super) fn name(&mut self, at: u32, id: u64, oldest: u32) {
        let newest = if oldest == at { at } else { self.at(oldest).older };
        self.edit(at, |slot| {
            slot.label = id;
            slot.older = newest;
            slot.newer = oldest;
        });
        self.edit(newest, |slot| slot.newer = at);
        self.edit(oldest, |slot| slot.older = at);
    }

    /// Removes the id of a slot; returns the next newer slot with that id, if any.
    pub(super) fn unname(&mut self, at: u32) -> Option<u32> {
        let Slot { older, newer, .. } = self.at(at);
        self.edit(older, |slot| slot.newer = newer);
        self.edit(newer, |slot| slot.older = older);
        self.edit(at, |slot| {
            slot.label = 0;
            slot.older = NONE;
            slot.newer = NONE;
        });
        (newer != at).then_some(newer)
    }

    /// Returns the queue, the next to be reused first.
    #[cfg(test)]
    pub(super) fn queue(&self) -> Vec<u32> {
        let next = |at: &u32| Some(self.at(*at).next);
        let all = core::iter::successors(Some(self.head), next);
        all.take_while(|at| *at != NONE).collect()
    }

    /// Returns the maximum number of slots in use at any time.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    fn edit(&mut self, at: u32, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(at as usize) {
            change(slot);
        }
    }
}
