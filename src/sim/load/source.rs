//! Where requests come from.

use alloc::vec::Vec;
use core::iter::Peekable;

use crate::sim::{Content, Request};

/// Requests in the order of their arrival, one at a time: a run takes each when its time has come.
pub trait Source {
    /// When the next request arrives, in nanoseconds from the start; `None` where none is on its way.
    /// Answers never go back in time.
    fn next_arrival_ns(&mut self) -> Option<u64>;

    /// The next request, and its place: a number by which observers know it.
    fn take(&mut self) -> Option<(usize, Request)>;

    /// A request has been served, or rejected, at `now_ns`. A source whose users wait for their answers
    /// sends the next then.
    fn finished(&mut self, index: usize, request: &Request, now_ns: u64) {
        let _ = (index, request, now_ns);
    }

    /// The ids that a trace gives the tokens of a request with [`Content::TraceBlocks`](crate::sim::Content),
    /// and how many tokens one of them stands for. It is asked when a request is taken, and once more when its
    /// KV entries come to a decode server.
    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        let _ = request;
        (&[], 0)
    }

    /// How many requests there are in all, if it is known.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Whether requests come because others have [finished](Source::finished).
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

/// A list of requests in any order; those of the same nanosecond come in the order of the list.
#[derive(Debug, Clone)]
pub struct RequestList<'r> {
    requests: &'r [Request],
    /// Arrivals and places, ascending.
    order: Vec<(u64, usize)>,
    taken: usize,
    ids: (&'r [u64], u32),
}

impl<'r> RequestList<'r> {
    /// Sorts the list by arrival.
    pub fn new(requests: &'r [Request]) -> RequestList<'r> {
        let arrivals = requests.iter().map(|request| request.arrival_ns);
        let mut order: Vec<(u64, usize)> = arrivals.zip(0..).collect();
        if !order.is_sorted() {
            order.sort_unstable();
        }
        RequestList {
            requests,
            order,
            taken: 0,
            ids: (&[], 0),
        }
    }

    /// The same with the ids of a trace, each of which stands for `tokens` tokens.
    pub fn with_ids(self, ids: &'r [u64], tokens: u32) -> RequestList<'r> {
        RequestList {
            ids: (ids, tokens),
            ..self
        }
    }
}

impl Source for RequestList<'_> {
    #[inline]
    fn next_arrival_ns(&mut self) -> Option<u64> {
        self.order
            .get(self.taken)
            .map(|&(arrival_ns, _)| arrival_ns)
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

/// Requests of an iterator, in ascending arrival; one that would go back in time arrives with the one
/// before it. Places count from 0.
#[derive(Debug, Clone)]
pub struct Stream<I: Iterator<Item = Request>> {
    requests: Peekable<I>,
    total: Option<u64>,
    taken: usize,
    latest_ns: u64,
}

impl<I: Iterator<Item = Request>> Stream<I> {
    /// The requests of `requests`.
    pub fn new(requests: impl IntoIterator<IntoIter = I>) -> Stream<I> {
        Stream {
            requests: requests.into_iter().peekable(),
            total: None,
            taken: 0,
            latest_ns: 0,
        }
    }

    /// The same, of which it is known how many there are.
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

    /// As it was told, or where the iterator knows its length.
    fn total(&self) -> Option<u64> {
        let left = match self.requests.size_hint() {
            (least, Some(most)) if least == most => Some((self.taken + least) as u64),
            _ => None,
        };
        self.total.or(left)
    }
}
