//! The requests that wait.

use alloc::collections::BTreeMap;

use crate::sim::load::arrived::Arrived;
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{Request, SchedulingPolicy};

/// Requests in the order in which they are admitted. Each costs O(log n).
///
/// Memory: 160 bytes for each request beyond the first few, and 440 for each that was preempted.
#[derive(Debug)]
pub(crate) struct Queue {
    policy: SchedulingPolicy,
    block_size: u32,
    /// Those that are kept in short.
    arrived: BTreeMap<Turn, Arrived>,
    /// Those that have been first, or that were preempted, and a few others.
    begun: BTreeMap<Turn, Sequence>,
    /// Requests that have come.
    came: i64,
    /// Preempted requests that were put before all others.
    preempted: i64,
}

/// So many are kept as they are: it costs time to make them short and whole again.
const FEW: usize = 16;

/// When it is a request's turn: class, length, order.
type Turn = (u32, u32, i64);

impl Queue {
    pub(crate) fn new(policy: SchedulingPolicy, block_size: u32) -> Queue {
        Queue {
            policy,
            block_size,
            arrived: BTreeMap::new(),
            begun: BTreeMap::new(),
            came: 0,
            preempted: 0,
        }
    }

    /// A request has come.
    #[inline]
    pub(crate) fn push(&mut self, arrived: Arrived) {
        self.came += 1;
        let turn = self.turn(&arrived.request, self.came);
        if self.begun.len() >= FEW {
            self.arrived.insert(turn, arrived);
        } else {
            self.begin(turn, arrived);
        }
    }

    #[inline]
    fn begin(&mut self, turn: Turn, arrived: Arrived) {
        let mut sequence = Sequence::new(arrived, self.block_size);
        (_, _, sequence.order) = turn;
        self.begun.insert(turn, sequence);
    }

    /// A request was preempted: it goes before all others, or where the policy wants it.
    pub(crate) fn push_preempted(&mut self, mut sequence: Sequence) {
        if self.policy == SchedulingPolicy::Fcfs {
            self.preempted += 1;
            sequence.order = -self.preempted;
        }
        let turn = self.turn(&sequence.request, sequence.order);
        self.begun.insert(turn, sequence);
    }

    fn turn(&self, request: &Request, order: i64) -> Turn {
        match self.policy {
            SchedulingPolicy::Fcfs => (0, 0, order),
            SchedulingPolicy::ShortestPrompt => (0, request.prompt_tokens, order),
            SchedulingPolicy::Priority => (request.priority, 0, order),
        }
    }

    /// The request whose turn it is.
    pub(crate) fn first_mut(&mut self) -> Option<&mut Sequence> {
        self.make_first_whole();
        self.begun.first_entry().map(|entry| entry.into_mut())
    }

    /// Makes the request whose turn it is whole if it is kept in short.
    #[inline]
    fn make_first_whole(&mut self) {
        if !self.arrived.is_empty() {
            self.compare_firsts();
        }
    }

    #[cold]
    fn compare_firsts(&mut self) {
        let begun = self.begun.keys().next();
        let next = self.arrived.keys().next();
        if next.is_some_and(|turn| begun.is_none_or(|first| turn < first))
            && let Some((turn, arrived)) = self.arrived.pop_first()
        {
            self.begin(turn, arrived);
        }
    }

    /// Takes the request whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Sequence> {
        self.make_first_whole();
        self.begun.pop_first().map(|(_, sequence)| sequence)
    }

    pub(crate) fn len(&self) -> usize {
        self.arrived.len() + self.begun.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All requests that have been preempted, and perhaps others.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sequence> {
        self.begun.values_mut()
    }

    /// Places of all requests, whose turn it is first.
    #[cfg(test)]
    pub(crate) fn indices(&self) -> alloc::vec::Vec<usize> {
        let arrived = self.arrived.iter().map(|(turn, of)| (*turn, of.index));
        let begun = self.begun.iter().map(|(turn, of)| (*turn, of.index));
        let all: BTreeMap<Turn, usize> = arrived.chain(begun).collect();
        all.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::sim::Content;

    fn arrived(index: usize, prompt_tokens: u32) -> Arrived {
        let request = Request {
            prompt_tokens,
            output_tokens: 2,
            content: Content::TraceBlocks { first: 3, count: 2 },
            ..Request::default()
        };
        Arrived::new(index, request, (&[8, 9], 16), 7)
    }

    fn sequence(index: usize, prompt_tokens: u32) -> Sequence {
        Sequence::new(arrived(index, prompt_tokens), 16)
    }

    #[test]
    fn a_request_comes_back_as_it_went_in_and_one_that_has_begun_keeps_its_state() {
        let mut queue = Queue::new(SchedulingPolicy::ShortestPrompt, 16);
        // Those that are kept as they are.
        (0..FEW).for_each(|index| queue.push(arrived(index, 1_000)));
        let others = queue.len();
        queue.push(arrived(100, 60));
        let mut begun = sequence(101, 40);
        begun.advance(40);
        queue.push_preempted(begun);
        queue.push(arrived(102, 20));
        assert_eq!(queue.arrived.len(), 2);
        assert_eq!(queue.len(), others + 3);
        assert_eq!(queue.indices()[..3], [102, 101, 100]);
        let first = queue.pop().unwrap();
        assert_eq!((first.index, first.order), (102, FEW as i64 + 2));
        assert_eq!((first.pending(), first.timing.at_engine_ns), (20, 7));
        let ids = |of: &Sequence| of.block_ids(16).take(3).collect::<vec::Vec<u64>>();
        assert_eq!(ids(&first), ids(&sequence(102, 20)));
        assert_eq!(queue.pop().unwrap().remaining(), 1);
        // One that is looked at and waits on.
        queue.first_mut().unwrap().found(1, 16);
        queue.push(arrived(103, 50));
        assert_eq!(queue.indices()[..2], [103, 100]);
        assert_eq!(queue.pop().unwrap().index, 103);
        assert_eq!(queue.pop().unwrap().pending(), 44);
        assert_eq!(queue.indices(), (0..FEW).collect::<vec::Vec<usize>>());
        while queue.pop().is_some() {}
        assert!(queue.is_empty());
    }
}
