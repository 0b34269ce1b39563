//! The requests that wait.

use alloc::collections::BTreeMap;

use crate::sim::Policy;
use crate::sim::arrived::Arrived;
use crate::sim::sequence::Sequence;

/// Requests in the order in which they are admitted. Each costs O(log n).
///
/// Memory: 160 bytes for each request that has not been looked at, and 440 for each that has been, or that
/// was preempted.
#[derive(Debug)]
pub(super) struct Queue {
    policy: Policy,
    block_size: u32,
    /// Those that nobody has looked at.
    arrived: BTreeMap<Turn, Arrived>,
    /// Those that have been first, or that were preempted.
    begun: BTreeMap<Turn, Sequence>,
    /// Requests that have come.
    came: i64,
    /// Preempted requests that were put before all others.
    preempted: i64,
}

/// When it is a request's turn: class, length, order.
type Turn = (u32, u32, i64);

impl Queue {
    pub(super) fn new(policy: Policy, block_size: u32) -> Queue {
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
    pub(super) fn push(&mut self, mut sequence: Sequence) {
        self.came += 1;
        sequence.order = self.came;
        let turn = self.turn(&sequence);
        match sequence.into_arrived() {
            Ok(arrived) => {
                self.arrived.insert(turn, arrived);
            }
            Err(sequence) => {
                self.begun.insert(turn, sequence);
            }
        }
    }

    /// A request was preempted: it goes before all others, or where the policy wants it.
    pub(super) fn push_preempted(&mut self, mut sequence: Sequence) {
        if self.policy == Policy::Fcfs {
            self.preempted += 1;
            sequence.order = -self.preempted;
        }
        self.begun.insert(self.turn(&sequence), sequence);
    }

    fn turn(&self, sequence: &Sequence) -> Turn {
        let request = &sequence.request;
        match self.policy {
            Policy::Fcfs => (0, 0, sequence.order),
            Policy::ShortestPrompt => (0, request.prompt_tokens, sequence.order),
            Policy::Priority => (request.priority, 0, sequence.order),
        }
    }

    /// The request whose turn it is.
    pub(super) fn first_mut(&mut self) -> Option<&mut Sequence> {
        let begun = self.begun.keys().next();
        let next = self.arrived.keys().next();
        if next.is_some_and(|turn| begun.is_none_or(|first| turn < first))
            && let Some((turn, arrived)) = self.arrived.pop_first()
        {
            let mut sequence = arrived.into_sequence(self.block_size);
            (_, _, sequence.order) = turn;
            self.begun.insert(turn, sequence);
        }
        self.begun.first_entry().map(|entry| entry.into_mut())
    }

    /// Takes the request whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Sequence> {
        self.first_mut()?;
        self.begun.pop_first().map(|(_, sequence)| sequence)
    }

    pub(super) fn len(&self) -> usize {
        self.arrived.len() + self.begun.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All requests that have been preempted, and perhaps others.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sequence> {
        self.begun.values_mut()
    }

    /// Places of all requests, whose turn it is first.
    #[cfg(test)]
    pub(super) fn places(&self) -> alloc::vec::Vec<usize> {
        let arrived = self.arrived.iter().map(|(turn, of)| (*turn, of.place));
        let begun = self.begun.iter().map(|(turn, of)| (*turn, of.place));
        let all: BTreeMap<Turn, usize> = arrived.chain(begun).collect();
        all.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::sim::{Content, Request};

    fn sequence(place: usize, prompt_tokens: u32) -> Sequence {
        let request = Request {
            prompt_tokens,
            output_tokens: 2,
            content: Content::Listed { first: 3, count: 2 },
            ..Request::default()
        };
        Sequence::new(place, &request, (&[8, 9], 16), 7, 16)
    }

    #[test]
    fn a_request_comes_back_as_it_went_in_and_one_that_has_begun_keeps_its_state() {
        let mut queue = Queue::new(Policy::ShortestPrompt, 16);
        queue.push(sequence(0, 60));
        let mut begun = sequence(1, 40);
        begun.advance(40);
        queue.push_preempted(begun);
        queue.push(sequence(2, 20));
        assert_eq!((queue.places(), queue.len()), (vec![2, 1, 0], 3));
        let first = queue.pop().unwrap();
        assert_eq!((first.place, first.order), (2, 2));
        assert_eq!((first.pending(), first.timing.at_engine_ns), (20, 7));
        assert!(
            first
                .block_ids(16)
                .take(2)
                .eq(sequence(2, 20).block_ids(16).take(2))
        );
        assert_eq!(queue.pop().unwrap().left(), 1);
        // One that is looked at and waits on.
        queue.first_mut().unwrap().found(1, 16);
        queue.push(sequence(3, 50));
        assert_eq!(queue.places(), [3, 0]);
        assert_eq!(queue.pop().unwrap().place, 3);
        assert_eq!(queue.pop().unwrap().pending(), 44);
        assert!(queue.pop().is_none() && queue.is_empty());
    }
}
