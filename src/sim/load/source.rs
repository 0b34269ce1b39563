//! Sources of requests.

use alloc::vec::Vec;
use core::iter::Peekable;

use crate::sim::{Content, Request};

/// A source of requests, one at a time in order of arrival.
pub trait Source {
    /// Returns when the next request arrives, in nanoseconds from the start; `None` if none will arrive before
    /// another has finished. Arrivals never go back in time.
    fn next_arrival_ns(&mut self) -> Option<u64>;

    /// Removes and returns the next request with its index, which identifies it to observers.
    fn take(&mut self) -> Option<(usize, Request)>;

    /// Called when a request has been served or rejected. The client has its answer at `now_ns`, when a closed loop
    /// sends the user's next request.
    fn finished(&mut self, index: usize, request: &Request, now_ns: u64) {
        let _ = (index, request, now_ns);
    }

    /// Returns the trace's ids of a request with [`Content::TraceBlocks`](crate::sim::Content), and the tokens per
    /// id. Called when a request is taken, and until it has finished again: when its KV entries are delivered to a decode
    /// server, and when it starts again after the loss of a server.
    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        let _ = request;
        (&[], 0)
    }

    /// Returns the number of all requests, if known.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Returns whether new requests arrive because others have [`finished`](Source::finished), as in a closed loop.
    fn feeds_back(&self) -> bool {
        false
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    fn next_arrival_ns(&mut self) -> Option<u64> {
        (**self).next_arrival_ns()
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        (**self).take()
    }

    fn finished(&mut self, index: usize, request: &Request, now_ns: u64) {
        (**self).finished(index, request, now_ns);
    }

    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        (**self).trace_blocks(request)
    }

    fn total(&self) -> Option<u64> {
        (**self).total()
    }

    fn feeds_back(&self) -> bool {
        (**self).feeds_back()
    }
}

/// A source over a slice of requests in any order; requests of the same nanosecond come in the order of the slice.
#[derive(Debug, Clone)]
pub struct RequestList<'r> {
    requests: &'r [Request],
    /// Arrivals and indices, ascending.
    order: Vec<(u64, usize)>,
    taken: usize,
    ids: (&'r [u64], u32),
}

impl<'r> RequestList<'r> {
    /// Creates a source over `requests`; the index of a request is its index in the slice.
    pub fn new(requests: &'r [Request]) -> RequestList<'r> {
        let arrivals = requests.iter().map(|request| request.arrival_ns);
        let mut order: Vec<(u64, usize)> = arrivals.zip(0..).collect();
        if !order.is_sorted() {
            order.sort_unstable();
        }
        RequestList { requests, order, taken: 0, ids: (&[], 0) }
    }

    /// Sets the ids of a trace. Each id stands for `tokens` tokens.
    pub fn with_ids(self, ids: &'r [u64], tokens: u32) -> RequestList<'r> {
        RequestList { ids: (ids, tokens), ..self }
    }
}

impl Source for RequestList<'_> {
    #[inline]
    fn next_arrival_ns(&mut self) -> Option<u64> {
        self.order.get(self.taken).map(|&(arrival_ns, _)| arrival_ns)
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        let &(_, index) = self.order.get(self.taken)?;
        self.taken += 1;
        Some((index, *self.requests.get(index)?))
    }

    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        let (ids, tokens) = self.ids;
        let Content::TraceBlocks { first, count } = request.content else {
            return (&[], 0);
        };
        let first = first as usize;
        let last = first.saturating_add(count as usize).min(ids.len());
        (ids.get(first..last).unwrap_or_default(), tokens)
    }

    fn total(&self) -> Option<u64> {
        Some(self.requests.len() as u64)
    }
}

/// A source over an iterator of requests in order of arrival. A request that would go back in time arrives with the
/// request before it. Indices count from 0.
#[derive(Debug, Clone)]
pub struct Stream<I: Iterator<Item = Request>> {
    requests: Peekable<I>,
    total: Option<u64>,
    taken: usize,
    latest_ns: u64,
}

impl<I: Iterator<Item = Request>> Stream<I> {
    /// Creates a source over `requests`.
    pub fn new(requests: impl IntoIterator<IntoIter = I>) -> Stream<I> {
        Stream { requests: requests.into_iter().peekable(), total: None, taken: 0, latest_ns: 0 }
    }

    /// Sets the number of all requests, for progress reports.
    pub fn with_total(self, total: u64) -> Stream<I> {
        let total = Some(total);
        Stream { total, ..self }
    }
}

impl<I: Iterator<Item = Request>> Source for Stream<I> {
    fn next_arrival_ns(&mut self) -> Option<u64> {
        let request = self.requests.peek()?;
        Some(request.arrival_ns.max(self.latest_ns))
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        let mut request = self.requests.next()?;
        self.latest_ns = request.arrival_ns.max(self.latest_ns);
        request.arrival_ns = self.latest_ns;
        let index = self.taken;
        self.taken += 1;
        Some((index, request))
    }

    /// Returns the total as configured, or else the exact length of the iterator.
    fn total(&self) -> Option<u64> {
        let exact = match self.requests.size_hint() {
            (min, Some(max)) if min == max => Some((self.taken + min) as u64),
            _ => None,
        };
        self.total.or(exact)
    }
}
