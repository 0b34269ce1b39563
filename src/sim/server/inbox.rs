//! Requests that the engine has not seen yet.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use crate::sim::load::arrived::Arrived;
use crate::sim::{Request, SimConfig};

/// Requests in the order of their arrival, ties in the order of the pushes, and the API server that tokenizes their
/// prompts one after another.
#[derive(Debug, Clone)]
pub(super) struct Inbox {
    requests: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
    tokens: u64,
    api_server_ns: u64,
    api_token_ns: u64,
    /// When the tokenizer has finished the last prompt that was taken.
    tokenized_ns: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    number: u64,
    arrived: Arrived,
}

impl Inbox {
    pub(super) fn new(config: &SimConfig) -> Inbox {
        Inbox {
            requests: BinaryHeap::new(),
            pushed: 0,
            tokens: 0,
            api_server_ns: config.api_server_ns,
            api_token_ns: config.api_token_ns,
            tokenized_ns: 0,
        }
    }

    pub(super) fn push(&mut self, arrived: Arrived) {
        let number = self.pushed;
        self.pushed += 1;
        self.tokens += arrived.request.tokens();
        self.requests.push(Reverse(Entry { number, arrived }));
    }

    /// Returns when the engine sees the next request.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        Some(self.next_tokenized_ns()?.saturating_add(self.api_server_ns))
    }

    /// Returns when the prompt of the next request is tokenized.
    #[inline]
    fn next_tokenized_ns(&self) -> Option<u64> {
        let Reverse(Entry { arrived, .. }) = self.requests.peek()?;
        let request = &arrived.request;
        let tokens = u64::from(request.prompt_tokens);
        let begins_ns = request.arrival_ns.max(self.tokenized_ns);
        Some(begins_ns.saturating_add(tokens.saturating_mul(self.api_token_ns)))
    }

    /// Returns whether the engine sees a request by `now_ns`.
    #[inline]
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.next_ns().is_some_and(|ns| ns <= now_ns)
    }

    /// Removes the next request if the engine sees it by `now_ns`.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Arrived> {
        let tokenized_ns = self.next_tokenized_ns()?;
        let at_engine_ns = tokenized_ns.saturating_add(self.api_server_ns);
        if at_engine_ns > now_ns {
            return None;
        }
        let Reverse(Entry { mut arrived, .. }) = self.requests.pop()?;
        self.tokenized_ns = tokenized_ns;
        self.tokens -= arrived.request.tokens();
        arrived.at_engine_ns = at_engine_ns;
        Some(arrived)
    }

    /// Returns the request with this index. Cost: O(n).
    pub(super) fn request(&self, index: usize) -> Option<&Request> {
        let requests = self.requests.iter().map(|Reverse(Entry { arrived, .. })| arrived);
        requests.filter(|arrived| arrived.index == index).map(|arrived| &arrived.request).next()
    }

    /// Removes the request with this index. Cost: O(n).
    pub(super) fn remove(&mut self, index: usize) {
        let tokens = &mut self.tokens;
        self.requests.retain(|Reverse(Entry { arrived, .. })| {
            let is_kept = arrived.index != index;
            *tokens -= if is_kept { 0 } else { arrived.request.tokens() };
            is_kept
        });
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
        (self.arrived.request.arrival_ns, self.number)
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
