//! The queue of waiting requests.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::sim::load::arrived::Arrived;
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{Request, SchedulingPolicy, SimConfig};

/// Waiting requests in the order of admission. Each costs O(log n).
///
/// Memory: under overload most requests are waiting, so that new ones are kept as an [`Arrived`] (160 bytes in the
/// map) until they come first. Preempted requests, and new ones while the queue is short, are kept as a
/// [`Sequence`] (440 bytes).
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    policy: SchedulingPolicy,
    block_size: u32,
    arrived: BTreeMap<Rank, Arrived>,
    sequences: BTreeMap<Rank, Sequence>,
    /// Arrivals of the requests without a token, if clients give up.
    clients: Option<BTreeSet<(u64, Rank)>>,
    /// Requests pushed so far.
    pushed: i64,
    /// Preempted requests that were put before all others so far.
    preempted: i64,
}

/// Length up to which new requests are kept as sequences: converting them later costs time.
const SHORT: usize = 16;

/// Sort key of a waiting request: priority, length, order. The smallest is admitted first.
pub(crate) type Rank = (u32, u32, i64);

impl Queue {
    pub(crate) fn new(config: &SimConfig) -> Queue {
        Queue {
            policy: config.policy,
            block_size: config.block_size,
            arrived: BTreeMap::new(),
            sequences: BTreeMap::new(),
            clients: config.patience_ns.map(|_| BTreeSet::new()),
            pushed: 0,
            preempted: 0,
        }
    }

    /// Adds a request that has arrived.
    #[inline]
    pub(crate) fn push(&mut self, arrived: Arrived) {
        self.pushed += 1;
        let rank = self.rank(&arrived.request, self.pushed);
        if let Some(clients) = &mut self.clients {
            clients.insert((arrived.request.arrival_ns, rank));
        }
        if self.sequences.len() >= SHORT {
            self.arrived.insert(rank, arrived);
        } else {
            self.insert_sequence(rank, arrived);
        }
    }

    #[inline]
    fn insert_sequence(&mut self, rank: Rank, arrived: Arrived) {
        let mut sequence = Sequence::new(arrived, self.block_size);
        (_, _, sequence.order) = rank;
        self.sequences.insert(rank, sequence);
    }

    /// Adds a preempted request: before all others, or where the policy wants it.
    pub(crate) fn push_preempted(&mut self, mut sequence: Sequence) {
        if self.policy == SchedulingPolicy::Fcfs {
            self.preempted += 1;
            sequence.order = -self.preempted;
        }
        let rank = self.rank(&sequence.request, sequence.order);
        if let Some(clients) = &mut self.clients
            && !sequence.has_token()
        {
            clients.insert((sequence.request.arrival_ns, rank));
        }
        self.sequences.insert(rank, sequence);
    }

    fn rank(&self, request: &Request, order: i64) -> Rank {
        match self.policy {
            SchedulingPolicy::Fcfs => (0, 0, order),
            SchedulingPolicy::ShortestPrompt => (0, request.prompt_tokens, order),
            SchedulingPolicy::Priority => (request.priority, 0, order),
        }
    }

    /// Returns the first request.
    pub(crate) fn first_mut(&mut self) -> Option<&mut Sequence> {
        self.convert_first();
        self.sequences.first_entry().map(|entry| entry.into_mut())
    }

    /// Makes the first request a sequence if it is not one yet.
    #[inline]
    fn convert_first(&mut self) {
        if !self.arrived.is_empty() {
            self.compare_firsts();
        }
    }

    #[cold]
    fn compare_firsts(&mut self) {
        let first = self.sequences.keys().next();
        let arrived = self.arrived.keys().next();
        if arrived.is_some_and(|rank| first.is_none_or(|first| rank < first))
            && let Some((rank, arrived)) = self.arrived.pop_first()
        {
            self.insert_sequence(rank, arrived);
        }
    }

    /// Removes the first request.
    pub(crate) fn pop(&mut self) -> Option<Sequence> {
        self.convert_first();
        let first = self.sequences.first_entry()?;
        let rank = *first.key();
        let sequence = first.remove();
        self.forget_client(sequence.request.arrival_ns, rank);
        Some(sequence)
    }

    /// Returns the earliest arrival of a request without a token, if clients give up.
    #[inline]
    pub(crate) fn first_client_ns(&self) -> Option<u64> {
        let (arrival_ns, _) = self.clients.as_ref()?.first()?;
        Some(*arrival_ns)
    }

    /// Removes the request with [`first_client_ns`](Queue::first_client_ns).
    pub(crate) fn remove_first_client(&mut self) -> Option<Sequence> {
        let (_, rank) = *self.clients.as_ref()?.first()?;
        self.remove(rank)
    }

    /// Removes the request with this rank.
    pub(crate) fn remove(&mut self, rank: Rank) -> Option<Sequence> {
        let sequence = match self.arrived.remove(&rank) {
            Some(arrived) => Sequence::new(arrived, self.block_size),
            None => self.sequences.remove(&rank)?,
        };
        self.forget_client(sequence.request.arrival_ns, rank);
        Some(sequence)
    }

    /// Notes that the client of a request no longer waits.
    #[inline]
    fn forget_client(&mut self, arrival_ns: u64, rank: Rank) {
        if let Some(clients) = &mut self.clients {
            clients.remove(&(arrival_ns, rank));
        }
    }

    /// Returns the rank of a request. Cost: O(n).
    pub(crate) fn rank_of(&self, index: usize) -> Option<Rank> {
        let arrived = self.arrived.iter().map(|(rank, of)| (rank, of.index));
        let sequences = self.sequences.iter().map(|(rank, of)| (rank, of.index));
        arrived.chain(sequences).find(|(_, of)| *of == index).map(|(rank, _)| *rank)
    }

    pub(crate) fn len(&self) -> usize {
        self.arrived.len() + self.sequences.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all sequences, among them all preempted requests.
    pub(crate) fn sequences_mut(&mut self) -> impl Iterator<Item = &mut Sequence> {
        self.sequences.values_mut()
    }

    /// Returns the indices of all requests, in the order of admission.
    #[cfg(test)]
    pub(crate) fn indices(&self) -> alloc::vec::Vec<usize> {
        let arrived = self.arrived.iter().map(|(rank, of)| (*rank, of.index));
        let sequences = self.sequences.iter().map(|(rank, of)| (*rank, of.index));
        let all: BTreeMap<Rank, usize> = arrived.chain(sequences).collect();
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
            arrival_ns: 7,
            content: Content::TraceBlocks { first: 3, count: 2 },
            ..Request::default()
        };
        Arrived::new(index, request, (&[8, 9], 16))
    }

    fn sequence(index: usize, prompt_tokens: u32) -> Sequence {
        Sequence::new(arrived(index, prompt_tokens), 16)
    }

    #[test]
    fn a_request_comes_back_as_it_went_in_and_a_sequence_keeps_its_state() {
        let mut queue =
            Queue::new(&SimConfig { policy: SchedulingPolicy::ShortestPrompt, ..SimConfig::new(2_000, 100) });
        // From here on new requests are not kept as sequences.
        (0..SHORT).for_each(|index| queue.push(arrived(index, 1_000)));
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
        assert_eq!((first.index, first.order), (102, SHORT as i64 + 2));
        assert_eq!((first.pending(), first.timing.at_engine_ns), (20, 7));
        let ids = |of: &Sequence| of.block_ids(16).take(3).collect::<vec::Vec<u64>>();
        assert_eq!(ids(&first), ids(&sequence(102, 20)));
        assert_eq!(queue.pop().unwrap().remaining(), 1);
        // A first request that does not fit keeps what it found when a shorter one arrives.
        queue.first_mut().unwrap().found(1, 16);
        queue.push(arrived(103, 50));
        assert_eq!(queue.indices()[..2], [103, 100]);
        assert_eq!(queue.pop().unwrap().index, 103);
        assert_eq!(queue.pop().unwrap().pending(), 44);
        assert_eq!(queue.indices(), (0..SHORT).collect::<vec::Vec<usize>>());
        while queue.pop().is_some() {}
        assert!(queue.is_empty());
    }
}
