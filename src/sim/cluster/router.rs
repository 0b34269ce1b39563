//! Routing of requests to replicas.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::sim::Request;

/// Routes requests to replicas when they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Router {
    /// One replica after the other.
    #[default]
    RoundRobin,
    /// The replica with the fewest tokens (prompt and output) of unfinished requests; ties go to the first.
    LeastOutstandingTokens,
    /// The replica with the fewest tokens of unfinished requests plus tokens of the prompt to compute. Ties go to the
    /// replica that was sent the fewest tokens so far. A prefix in the replica's cache need not be computed if it is
    /// more than half of the prompt. A shorter prefix, such as a text that all prompts begin with, does not count;
    /// otherwise it would draw all requests to the first replica that had it.
    ///
    /// Sources: the KV router of NVIDIA Dynamo (docs, "KV cache routing") adds the tokens that a worker would prefill
    /// to its active tokens, with equal weights by default, and takes the smallest sum; SGLang's cache-aware router
    /// follows matches of more than half of the prompt (`cache_threshold` 0.5) and else balances the caches. Assumes:
    /// the router knows the caches of the replicas when a request arrives, as Dynamo does by their events. Cost: O(log
    /// blocks of the prompt) per replica.
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
    /// Tokens routed so far, by replica.
    sent: Vec<u64>,
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
            sent: (0..replicas).map(|_| 0).collect(),
            outstanding: (0..replicas).map(|_| 0).collect(),
            finishing: BinaryHeap::new(),
        }
    }

    /// Records that a request finishes on a replica at `finish_ns`, which may be later than the next arrival.
    pub(super) fn finished(&mut self, replica: usize, request: &Request, finish_ns: u64) {
        let finishing = (finish_ns, replica, request.tokens());
        self.finishing.push(Reverse(finishing));
    }

    /// Returns the replica that a request goes to; `cached` returns how many tokens of its prompt a replica has in
    /// its prefix cache.
    pub(super) fn route(&mut self, request: &Request, cached: impl Fn(usize) -> u32) -> usize {
        while let Some(&Reverse((finish_ns, replica, tokens))) = self.finishing.peek()
            && finish_ns <= request.arrival_ns
        {
            self.finishing.pop();
            if let Some(outstanding) = self.outstanding.get_mut(replica) {
                *outstanding -= tokens;
            }
        }
        let replica = match self.router {
            Router::RoundRobin => self.routed % self.outstanding.len(),
            Router::LeastOutstandingTokens => self.least(|_| (0, 0)),
            Router::PrefixAffinity => {
                let prompt = request.prompt_tokens;
                let shared = |replica| cached(replica).min(prompt);
                let saved = |replica| Some(shared(replica)).filter(|shared| *shared > prompt / 2);
                self.least(|replica| {
                    let computed = prompt - saved(replica).unwrap_or(0);
                    (computed, self.sent.get(replica).copied().unwrap_or(0))
                })
            }
        };
        self.routed += 1;
        for tokens in [&mut self.outstanding, &mut self.sent] {
            if let Some(tokens) = tokens.get_mut(replica) {
                *tokens += request.tokens();
            }
        }
        replica
    }

    /// Returns the replica with the fewest outstanding tokens, `cost` included; ties go to the first.
    fn least(&self, cost: impl Fn(usize) -> (u32, u64)) -> usize {
        let replicas = self.outstanding.iter().enumerate();
        let costs = replicas.map(|(replica, outstanding)| {
            let (tokens, tie) = cost(replica);
            (outstanding + u64::from(tokens), tie, replica)
        });
        costs.min().map_or(0, |(.., replica)| replica)
    }
}
