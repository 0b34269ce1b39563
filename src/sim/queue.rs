//! The requests that wait.

use alloc::collections::BTreeMap;

use crate::sim::Policy;
use crate::sim::sequence::Sequence;

/// Requests in the order in which they are admitted. Each costs O(log n).
#[derive(Debug)]
pub(super) struct Queue {
    policy: Policy,
    waiting: BTreeMap<Turn, Sequence>,
    /// Requests that have come.
    came: i64,
    /// Preempted requests that were put before all others.
    preempted: i64,
}

/// When it is a request's turn: class, length, order.
type Turn = (u32, u32, i64);

impl Queue {
    pub(super) fn new(policy: Policy) -> Queue {
        Queue {
            policy,
            waiting: BTreeMap::new(),
            came: 0,
            preempted: 0,
        }
    }

    /// A request has come.
    pub(super) fn push(&mut self, mut sequence: Sequence) {
        self.came += 1;
        sequence.order = self.came;
        self.insert(sequence);
    }

    /// A request was preempted: it goes before all others, or where the policy wants it.
    pub(super) fn push_preempted(&mut self, mut sequence: Sequence) {
        if self.policy == Policy::Fcfs {
            self.preempted += 1;
            sequence.order = -self.preempted;
        }
        self.insert(sequence);
    }

    fn insert(&mut self, sequence: Sequence) {
        let request = &sequence.request;
        let turn = match self.policy {
            Policy::Fcfs => (0, 0, sequence.order),
            Policy::ShortestPrompt => (0, request.prompt_tokens, sequence.order),
            Policy::Priority => (request.priority, 0, sequence.order),
        };
        self.waiting.insert(turn, sequence);
    }

    /// The request whose turn it is.
    pub(super) fn first_mut(&mut self) -> Option<&mut Sequence> {
        self.waiting.first_entry().map(|entry| entry.into_mut())
    }

    /// Takes the request whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Sequence> {
        self.waiting.pop_first().map(|(_, sequence)| sequence)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// All requests, whose turn it is first.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sequence> {
        self.waiting.values_mut()
    }

    /// All requests, whose turn it is first.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sequence> {
        self.waiting.values()
    }
}
