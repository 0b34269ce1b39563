//! Slots of a block pool: one per held or cached block, one per run of blocks without contents.
//!
//! Two intrusive lists go through them: the queue of blocks that can be taken, next to go first, and
//! a ring through all blocks that have the same id, oldest first. Every operation is O(1).

use alloc::vec::Vec;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// What a slot stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing; it can be used again.
    Vacant,
    /// A block with so many holders.
    Held(u32),
    /// So many blocks in the queue: one with an id, or a run of blocks without.
    Queued(u32),
}

/// One slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) state: State,
    /// The id of the contents; of a run without ids the ticket of who parked it, or 0.
    pub(super) label: u64,
    /// Neighbours in the queue; `next` also links vacant slots.
    prev: u32,
    next: u32,
    /// Neighbours in the ring of blocks with the same id; [`NONE`] for a block without.
    older: u32,
    newer: u32,
}

impl Slot {
    const VACANT: Slot = Slot {
        state: State::Vacant,
        label: 0,
        prev: NONE,
        next: NONE,
        older: NONE,
        newer: NONE,
    };

    /// Whether it has contents that can be found.
    pub(super) fn is_named(&self) -> bool {
        self.newer != NONE
    }
}

/// The slots. Memory grows with the most slots in use at any time, 32 bytes each.
#[derive(Debug, Clone)]
pub(super) struct BlockSlots {
    slots: Vec<Slot>,
    vacant: u32,
    head: u32,
    tail: u32,
}

impl BlockSlots {
    /// No slots.
    pub(super) fn new() -> BlockSlots {
        BlockSlots {
            slots: Vec::new(),
            vacant: NONE,
            head: NONE,
            tail: NONE,
        }
    }

    /// The slot at `at`; a vacant one where there is none.
    pub(super) fn at(&self, at: u32) -> Slot {
        let slot = self.slots.get(at as usize);
        slot.copied().unwrap_or(Slot::VACANT)
    }

    /// The slot whose blocks are to be taken next.
    pub(super) fn head(&self) -> u32 {
        self.head
    }

    /// The slot whose blocks came last into the queue.
    pub(super) fn tail(&self) -> u32 {
        self.tail
    }

    /// A slot with `state` and `label`, in no list. Cost: amortised O(1).
    pub(super) fn insert(&mut self, state: State, label: u64) -> u32 {
        let slot = Slot {
            state,
            label,
            ..Slot::VACANT
        };
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

    /// Gives a slot up that is in no list.
    pub(super) fn vacate(&mut self, at: u32) {
        let next = self.vacant;
        self.edit(at, |slot| {
            *slot = Slot {
                next,
                ..Slot::VACANT
            }
        });
        self.vacant = at;
    }

    /// Changes the state of a slot that stays in its lists.
    pub(super) fn set_state(&mut self, at: u32, state: State) {
        self.edit(at, |slot| slot.state = state);
    }

    /// Puts a slot with `blocks` at the end of the queue.
    pub(super) fn push_back(&mut self, at: u32, blocks: u32) {
        let prev = self.tail;
        self.edit(at, |slot| {
            slot.state = State::Queued(blocks);
            slot.prev = prev;
            slot.next = NONE;
        });
        self.tail = at;
        if prev == NONE {
            self.head = at;
        } else {
            self.edit(prev, |slot| slot.next = at);
        }
    }

    /// Takes a slot out of the queue, from wherever it stands, and leaves it in `state`.
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

    /// Gives a slot an id. `oldest` is the first slot with that id, or the slot itself.
    pub(super) fn name(&mut self, at: u32, id: u64, oldest: u32) {
        let newest = if oldest == at {
            at
        } else {
            self.at(oldest).older
        };
        self.edit(at, |slot| {
            slot.label = id;
            slot.older = newest;
            slot.newer = oldest;
        });
        self.edit(newest, |slot| slot.newer = at);
        self.edit(oldest, |slot| slot.older = at);
    }

    /// Takes a slot's id away; returns the next newer slot that has it, if any.
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

    /// The queue, next to go first.
    #[cfg(test)]
    pub(super) fn queue(&self) -> Vec<u32> {
        let next = |at: &u32| Some(self.at(*at).next);
        let all = core::iter::successors(Some(self.head), next);
        all.take_while(|at| *at != NONE).collect()
    }

    /// Slots that were ever in use at the same time.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(slots: &BlockSlots) -> Vec<u64> {
        let queue = slots.queue().into_iter();
        queue.map(|at| slots.at(at).label).collect()
    }

    #[test]
    fn slots_leave_the_queue_from_anywhere() {
        let mut slots = BlockSlots::new();
        let [a, b, c] = [1, 2, 3].map(|label| slots.insert(State::Held(1), label));
        for at in [a, b, c] {
            slots.push_back(at, 1);
        }
        assert_eq!(queue(&slots), [1, 2, 3]);
        slots.unlink(b, State::Held(1));
        assert_eq!(queue(&slots), [1, 3]);
        slots.unlink(c, State::Held(1));
        slots.push_back(b, 1);
        assert_eq!((queue(&slots), slots.tail()), (Vec::from([1, 2]), b));
        slots.unlink(a, State::Held(1));
        slots.unlink(b, State::Held(1));
        assert_eq!((slots.head(), slots.tail()), (NONE, NONE));
    }

    #[test]
    fn vacant_slots_are_used_again_before_new_ones() {
        let mut slots = BlockSlots::new();
        let [a, b] = [1, 2].map(|label| slots.insert(State::Held(1), label));
        slots.vacate(a);
        slots.vacate(b);
        assert_eq!(slots.insert(State::Held(1), 3), b);
        assert_eq!(slots.insert(State::Held(1), 4), a);
        assert_eq!(slots.insert(State::Held(1), 5), 2);
        assert_eq!(slots.at(a).label, 4);
    }

    #[test]
    fn of_the_slots_with_one_id_the_next_newer_follows() {
        let mut slots = BlockSlots::new();
        let [a, b, c] = [(); 3].map(|()| slots.insert(State::Held(1), 0));
        assert!(!slots.at(a).is_named());
        for at in [a, b, c] {
            slots.name(at, 7, a);
        }
        assert!(slots.at(a).is_named() && slots.at(c).is_named());
        assert_eq!(slots.unname(b), Some(c));
        assert_eq!(slots.unname(a), Some(c));
        assert_eq!(slots.unname(c), None);
        assert!(!slots.at(c).is_named());
    }

    #[test]
    fn a_slot_takes_32_bytes() {
        assert!(size_of::<Slot>() <= 32);
    }
}
