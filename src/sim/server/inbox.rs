//! Requests that the engine has not seen yet.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use crate::sim::load::arrived::Arrived;

/// Requests ordered by the time at which the engine sees them, ties in the order of the pushes.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    requests: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
    tokens: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    arrived: Arrived,
}

impl Inbox {
    pub(super) fn push(&mut self, arrived: Arrived) {
        let number = self.pushed;
        self.pushed += 1;
        self.tokens += arrived.request.tokens();
        self.requests.push(Reverse(Entry { number, arrived }));
    }

    /// Returns when the engine sees the next request.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        let Reverse(next) = self.requests.peek()?;
        Some(next.arrived.at_engine_ns)
    }

    /// Removes the next request if the engine sees it by `now_ns`.
    #[inline]
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Arrived> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let Reverse(Entry { arrived, .. }) = self.requests.pop()?;
        self.tokens -= arrived.request.tokens();
        Some(arrived)
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns the tokens of prompt and output of all requests.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }
}

impl Entry {
    fn key(&self) -> (u64, u64) {
        (self.arrived.at_engine_ns, self.number)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}
