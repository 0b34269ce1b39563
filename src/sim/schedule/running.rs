//! The requests that hold a slot. Those that decode are known as sums: between its first token and its
//! last, a request only grows by a token per step.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::sim::schedule::sequence::Sequence;
use crate::step::DecodeGroup;

/// A request that holds a slot. Slots are used again; the admission tells whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Admitted {
    admission: u64,
    slot: u32,
}

/// Requests that hold a slot.
///
/// Costs: a step of the whole decode set O(1), a request that begins or ends to decode O(log n), the
/// last admitted one amortised O(1).
#[derive(Debug)]
pub(crate) struct Running {
    slots: Vec<Option<(u64, Sequence)>>,
    vacant: Vec<u32>,
    /// In the order of admission; those that have left are found out when they are reached.
    order: VecDeque<Admitted>,
    admissions: u64,
    count: usize,
    /// The one whose prompt is not computed yet: always the last admitted, for nobody is admitted
    /// behind a prompt that the budget cuts.
    pub(crate) partial: Option<Admitted>,
    decode: DecodeSet,
}

/// All requests that take a token in the next step.
#[derive(Debug)]
struct DecodeSet {
    /// Requests, and their KV tokens in the next step.
    next: DecodeGroup,
    /// Requests by the step at which they need a block, modulo the block size.
    growing: Vec<u32>,
    /// Last steps.
    ends: BinaryHeap<Reverse<(u64, Admitted)>>,
}

impl Running {
    pub(crate) fn new(block_size: u32) -> Running {
        Running {
            slots: Vec::new(),
            vacant: Vec::new(),
            order: VecDeque::new(),
            admissions: 0,
            count: 0,
            partial: None,
            decode: DecodeSet {
                next: DecodeGroup::EMPTY,
                growing: vec![0; block_size.max(1) as usize],
                ends: BinaryHeap::new(),
            },
        }
    }

    /// Requests that hold a slot.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// What decodes in the next step.
    pub(crate) fn decoding(&self) -> DecodeGroup {
        self.decode.next
    }

    /// How many of those that decode need one more block in step `step`, the next one.
    pub(crate) fn growing(&self, step: u64) -> u32 {
        let growing = &self.decode.growing;
        let index = (step % growing.len() as u64) as usize;
        growing.get(index).copied().unwrap_or(0)
    }

    /// The last step of the request that ends first; `None` where nobody decodes.
    pub(crate) fn first_end(&self) -> Option<u64> {
        self.decode.ends.peek().map(|Reverse((step, _))| *step)
    }

    /// Everyone who decodes takes a token in the next step.
    pub(crate) fn advance(&mut self) -> DecodeGroup {
        let taken = self.decode.next;
        self.decode.next.kv_tokens += u64::from(taken.requests);
        taken
    }

    /// Those that decode and have their last token in `step`, one by one; they decode no more but hold
    /// their slot.
    pub(crate) fn next_end(&mut self, step: u64) -> Option<Admitted> {
        loop {
            let &Reverse((end, admitted)) = self.decode.ends.peek()?;
            if end > step {
                return None;
            }
            self.decode.ends.pop();
            if self.get(admitted).is_some() {
                self.leave_decode(admitted, step + 1);
                return Some(admitted);
            }
        }
    }

    /// A request takes a slot.
    pub(crate) fn admit(&mut self, sequence: Sequence) -> Admitted {
        self.admissions += 1;
        self.count += 1;
        let admission = self.admissions;
        let held = Some((admission, sequence));
        let slot = match self.vacant.pop() {
            Some(slot) => {
                if let Some(index) = self.slots.get_mut(slot as usize) {
                    *index = held;
                }
                slot
            }
            None => {
                self.slots.push(held);
                (self.slots.len() - 1) as u32
            }
        };
        let admitted = Admitted { admission, slot };
        self.forget_who_left();
        self.order.push_back(admitted);
        admitted
    }

    /// The request, if it still holds its slot.
    pub(crate) fn get(&self, admitted: Admitted) -> Option<&Sequence> {
        held(&self.slots, admitted)
    }

    /// The request, if it still holds its slot.
    pub(crate) fn get_mut(&mut self, admitted: Admitted) -> Option<&mut Sequence> {
        match self.slots.get_mut(admitted.slot as usize) {
            Some(Some((admission, sequence))) if *admission == admitted.admission => Some(sequence),
            _ => None,
        }
    }

    /// A request whose prompt is computed and that has tokens left decodes from `step` on.
    pub(crate) fn decode_from(&mut self, admitted: Admitted, step: u64) {
        let Some(sequence) = self.get_mut(admitted) else {
            return;
        };
        sequence.decodes_from = Some(step);
        let computed = sequence.computed();
        let end = step + u64::from(sequence.remaining()) - 1;
        self.decode.next.requests += 1;
        self.decode.next.kv_tokens += u64::from(computed) + 1;
        let index = self.decode.index(computed, step);
        self.decode.change(index, 1);
        self.decode.ends.push(Reverse((end, admitted)));
    }

    /// A request decodes no more; `step` is the next step.
    fn leave_decode(&mut self, admitted: Admitted, step: u64) {
        let block_size = self.decode.growing.len() as u32;
        let Some(sequence) = self.get_mut(admitted) else {
            return;
        };
        sequence.catch_up(step, block_size);
        let computed = sequence.computed();
        self.decode.next.requests -= 1;
        self.decode.next.kv_tokens -= u64::from(computed) + 1;
        let index = self.decode.index(computed, step);
        self.decode.change(index, u32::MAX);
    }

    /// A request gives its slot up; `step` is the next step.
    pub(crate) fn remove(&mut self, admitted: Admitted, step: u64) -> Option<Sequence> {
        self.get(admitted)?;
        if self.get(admitted).is_some_and(|s| s.decodes_from.is_some()) {
            self.leave_decode(admitted, step);
        }
        if self.partial == Some(admitted) {
            self.partial = None;
        }
        self.count -= 1;
        self.vacant.push(admitted.slot);
        let (_, sequence) = self.slots.get_mut(admitted.slot as usize)?.take()?;
        Some(sequence)
    }

    /// The most recently admitted request.
    pub(crate) fn last(&mut self) -> Option<Admitted> {
        while let Some(&last) = self.order.back() {
            if self.get(last).is_some() {
                return Some(last);
            }
            self.order.pop_back();
        }
        None
    }

    /// All requests that hold a slot, in the order of their admission.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Admitted> + '_ {
        let held = |admitted: &Admitted| self.get(*admitted).is_some();
        self.order.iter().copied().filter(held)
    }

    /// Whether a request needs one more block in `step`, the next one.
    pub(crate) fn grows(&self, admitted: Admitted, step: u64) -> bool {
        let block = self.decode.growing.len() as u64;
        self.get(admitted).is_some_and(|sequence| {
            sequence
                .decodes_from
                .is_some_and(|_| u64::from(sequence.computed_before(step)) % block == 0)
        })
    }

    /// Keeps the order no longer than twice the requests that hold a slot.
    fn forget_who_left(&mut self) {
        while let Some(&first) = self.order.front()
            && self.get(first).is_none()
        {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.count + 16 {
            let Running { order, slots, .. } = self;
            order.retain(|admitted| held(slots, *admitted).is_some());
        }
    }
}

fn held(slots: &[Option<(u64, Sequence)>], admitted: Admitted) -> Option<&Sequence> {
    match slots.get(admitted.slot as usize) {
        Some(Some((admission, sequence))) if *admission == admitted.admission => Some(sequence),
        _ => None,
    }
}

impl DecodeSet {
    /// Where a request with `computed` tokens before `step` is counted: the steps at which it needs
    /// a block, modulo the block size.
    fn index(&self, computed: u32, step: u64) -> usize {
        let block = self.growing.len() as u64;
        // It grows at the step t with computed + (t - step) = 0 modulo the block size.
        let until = (block - u64::from(computed) % block) % block;
        ((step + until) % block) as usize
    }

    fn change(&mut self, index: usize, by: u32) {
        if let Some(count) = self.growing.get_mut(index) {
            *count = count.wrapping_add(by);
        }
    }
}
