//! Routing of requests to replicas.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::sim::memory::content::mix;
use crate::sim::{Content, Request};

/// Routes requests to replicas, at their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Router {
    /// One after the other.
    #[default]
    RoundRobin,
    /// The one whose requests, those that have not been served by then, have the fewest tokens of prompt
    /// and output; of equals the first.
    LeastOutstandingTokens,
    /// Always the same for the same prefix, or, of requests without one, for the same session, so that
    /// it finds what it has computed; requests that share nothing as
    /// [`LeastOutstandingTokens`](Router::LeastOutstandingTokens).
    PrefixAffinity,
}

crate::names!(Router {
    RoundRobin => "round-robin",
    LeastOutstandingTokens => "least-tokens",
    PrefixAffinity => "prefix-affinity",
});

/// A router and the load of its replicas.
#[derive(Debug)]
pub(super) struct Routing {
    router: Router,
    /// Requests so far.
    routed: usize,
    /// Tokens of requests that have not been served, by replica.
    outstanding: Vec<u64>,
    /// Requests that leave: time, replica, tokens.
    leaving: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl Routing {
    pub(super) fn new(router: Router, replicas: u32) -> Routing {
        Routing {
            router,
            routed: 0,
            outstanding: (0..replicas).map(|_| 0).collect(),
            leaving: BinaryHeap::new(),
        }
    }

    /// A request leaves a replica at `finish_ns`.
    pub(super) fn finished(&mut self, replica: usize, request: &Request, finish_ns: u64) {
        let leaving = (finish_ns, replica, request.tokens());
        self.leaving.push(Reverse(leaving));
    }

    /// The replica that a request goes to; `ids` are those of its trace.
    pub(super) fn route(&mut self, request: &Request, ids: &[u64]) -> usize {
        while let Some(&Reverse((finish_ns, replica, tokens))) = self.leaving.peek()
            && finish_ns <= request.arrival_ns
        {
            self.leaving.pop();
            if let Some(outstanding) = self.outstanding.get_mut(replica) {
                *outstanding -= tokens;
            }
        }
        let replica = match (self.router, first_text(request, ids)) {
            (Router::RoundRobin, _) => self.routed % self.outstanding.len(),
            (Router::PrefixAffinity, Some(text)) => {
                (mix(0, text) % self.outstanding.len() as u64) as usize
            }
            _ => self.least(),
        };
        self.routed += 1;
        if let Some(outstanding) = self.outstanding.get_mut(replica) {
            *outstanding += request.tokens();
        }
        replica
    }

    fn least(&self) -> usize {
        let replicas = self.outstanding.iter().enumerate();
        replicas
            .min_by_key(|(_, tokens)| **tokens)
            .map_or(0, |(index, _)| index)
    }
}

/// The text by which a request belongs to a replica: what it begins with. `ids` are those of its trace.
fn first_text(request: &Request, ids: &[u64]) -> Option<u64> {
    match request.content {
        Content::Unique => None,
        Content::Texts {
            prefix_tokens: 0,
            own,
            ..
        } => Some(own),
        Content::Texts { prefix, .. } => Some(prefix),
        Content::TraceBlocks { .. } => ids.first().copied(),
    }
}
