//! Routing of requests to replicas.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::sim::Request;

/// Routes requests to servers when they arrive, or start again after an [`Outage`](super::Outage).
///
/// Only servers that can serve a request, and are not lost, are considered. Tokens count the same on all servers, so
/// that a router does not balance servers of unlike speed: on slow ones requests wait longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Router {
    /// One server after the other.
    #[default]
    RoundRobin,
    /// The server with the fewest tokens (prompt and output) of unfinished requests; ties go to the first.
    LeastOutstandingTokens,
    /// The server with the fewest tokens of unfinished requests plus tokens of the prompt to compute. Ties go to the
    /// server that was sent the fewest tokens so far. A prefix in the server's cache, or in the cache of one of its ranks,
    /// need not be computed if it is more than half of the prompt. A shorter prefix, such as a text that all prompts
    /// begin with, does not count; otherwise it would draw all requests to the first server that had it.
    ///
    /// Sources: the KV router of NVIDIA Dynamo (docs, "KV cache routing") adds the tokens that a worker would prefill
    /// to its active tokens, with equal weights by default, and takes the smallest sum; SGLang's cache-aware router
    /// follows matches of more than half of the prompt (`cache_threshold` 0.5) and else balances the caches. Assumes:
    /// the router knows the caches of the servers when a request arrives, as Dynamo does by their events. Cost: O(log
    /// blocks of the prompt) per rank.
    PrefixAffinity,
}

crate::names!(Router {
    RoundRobin => "round-robin",
    LeastOutstandingTokens => "least-tokens",
    PrefixAffinity => "prefix-affinity",
});

/// A router and the load of its servers.
#[derive(Debug)]
pub(super) struct Routing {
    router: Router,
    /// The server whose turn is next.
    turn: usize,
    servers: Vec<Load>,
    /// Requests that finish after the last arrival: time, server, tokens.
    finishing: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

/// The tokens of a server.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    /// Tokens routed so far.
    sent: u64,
    /// Tokens of unfinished requests.
    outstanding: u64,
}

impl Routing {
    pub(super) fn new(router: Router, servers: usize) -> Routing {
        let servers = (0..servers).map(|_| Load::default()).collect();
        Routing { router, turn: 0, servers, finishing: BinaryHeap::new() }
    }

    /// Records that a request of so many tokens was sent to a server.
    pub(super) fn sent(&mut self, server: usize, tokens: u64) {
        if let Some(load) = self.servers.get_mut(server) {
            load.sent += tokens;
            load.outstanding += tokens;
        }
    }

    /// Records that a request of so many tokens finishes on a server at `finish_ns`, which may be later than the next
    /// arrival.
    pub(super) fn finished(&mut self, server: usize, tokens: u64, finish_ns: u64) {
        self.finishing.push(Reverse((finish_ns, server, tokens)));
    }

    /// Records that an unfinished request of so many tokens is no longer on a server.
    pub(super) fn removed(&mut self, server: usize, tokens: u64) {
        if let Some(load) = self.servers.get_mut(server) {
            load.outstanding -= tokens;
        }
    }

    /// Returns the server that a request goes to, one of those for which `is_candidate`; `cached` returns how many tokens
    /// of its prompt a server has in its prefix cache.
    pub(super) fn route(
        &mut self,
        request: &Request,
        is_candidate: impl Fn(usize) -> bool,
        cached: impl Fn(usize) -> u32,
    ) -> Option<usize> {
        while let Some(&Reverse((finish_ns, server, tokens))) = self.finishing.peek()
            && finish_ns <= request.arrival_ns
        {
            self.finishing.pop();
            self.removed(server, tokens);
        }
        match self.router {
            Router::RoundRobin => {
                let servers = self.servers.len();
                let server = (self.turn..servers).chain(0..self.turn).find(|server| is_candidate(*server))?;
                self.turn = (server + 1) % servers;
                Some(server)
            }
            Router::LeastOutstandingTokens => self.least(is_candidate, |_, _| (0, 0)),
            Router::PrefixAffinity => {
                let prompt = request.prompt_tokens;
                let shared = |server| cached(server).min(prompt);
                let saved = |server| Some(shared(server)).filter(|shared| *shared > prompt / 2);
                self.least(is_candidate, |server, load| {
                    let computed = prompt - saved(server).unwrap_or(0);
                    (computed, load.sent)
                })
            }
        }
    }

    /// Returns the candidate with the fewest outstanding tokens, `cost` included; ties go to the first.
    fn least(&self, is_candidate: impl Fn(usize) -> bool, cost: impl Fn(usize, &Load) -> (u32, u64)) -> Option<usize> {
        let candidates = self.servers.iter().enumerate().filter(|(server, _)| is_candidate(*server));
        let costs = candidates.map(|(server, load)| {
            let (tokens, tie) = cost(server, load);
            (load.outstanding + u64::from(tokens), tie, server)
        });
        costs.min().map(|(.., server)| server)
    }
}
