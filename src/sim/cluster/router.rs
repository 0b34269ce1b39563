//! Routing of requests to replicas.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::sim::memory::content::mix;
use crate::sim::{Content, Request};

/// Routes requests to replicas when they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Router {
    /// One replica after the other.
    #[default]
    RoundRobin,
    /// The replica with the fewest tokens (prompt and output) of unfinished requests; ties go to the first.
    LeastOutstandingTokens,
    /// One replica for all requests of a prefix (without a prefix: of a session), for prefix cache hits.
    /// Requests that share no tokens are routed as by [`LeastOutstandingTokens`](Router::LeastOutstandingTokens).
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
    /// Number of requests routed so far.
    routed: usize,
    /// Tokens of unfinished requests, by replica.
    outstanding: Vec<u64>,
    /// Requests that finish after the last arrival: time, replica, tokens.
    finishing: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl Routing {
    pub(super) fn new(router: Router, replicas: u32) -> Routing {
        Routing {
            router,
            routed: 0,
            outstanding: (0..replicas).map(|_| 0).collect(),
            finishing: BinaryHeap::new(),
        }
    }

    /// Records that a request finishes on a replica at `finish_ns`, which may be later than the next arrival.
    pub(super) fn finished(&mut self, replica: usize, request: &Request, finish_ns: u64) {
        let finishing = (finish_ns, replica, request.tokens());
        self.finishing.push(Reverse(finishing));
    }

    /// Returns the replica that a request goes to; `ids` are its ids in a trace.
    pub(super) fn route(&mut self, request: &Request, ids: &[u64]) -> usize {
        while let Some(&Reverse((finish_ns, replica, tokens))) = self.finishing.peek()
            && finish_ns <= request.arrival_ns
        {
            self.finishing.pop();
            if let Some(outstanding) = self.outstanding.get_mut(replica) {
                *outstanding -= tokens;
            }
        }
        let replica = match (self.router, first_text(request, ids)) {
            (Router::RoundRobin, _) => self.routed % self.outstanding.len(),
            (Router::PrefixAffinity, Some(text)) => {
                (mix(0, text) % self.outstanding.len() as u64) as usize
            }
            _ => self.least_outstanding(),
        };
        self.routed += 1;
        if let Some(outstanding) = self.outstanding.get_mut(replica) {
            *outstanding += request.tokens();
        }
        replica
    }

    fn least_outstanding(&self) -> usize {
        let replicas = self.outstanding.iter().enumerate();
        replicas
            .min_by_key(|(_, tokens)| **tokens)
            .map_or(0, |(index, _)| index)
    }
}

/// Returns the id of the text that a request begins with, if others may share it.
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
