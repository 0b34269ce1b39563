//! Clients that send an abandoned request again.

use alloc::collections::BTreeMap;

use crate::sim::Request;
use crate::sim::load::source::Source;

/// A source whose clients send a request again at once when they have given up on it.
///
/// A retry is a request of its own: it arrives when the one before it was aborted, and has an index of its own, as
/// indices number the requests in the order in which they are taken. The source within hears of the last attempt only.
/// With 0 retries all calls, and indices, are those of the source within.
///
/// Does not model: blocks of an abandoned attempt of [`Content::Unique`](crate::sim::Content::Unique), which a retry
/// would find in the prefix cache.
///
/// Memory: O(requests in service).
///
/// ```
/// use rooflut::sim::Request;
/// use rooflut::sim::load::{RequestList, Retries, Source};
/// let requests = [Request::new(512, 128)];
/// let mut clients = Retries::new(RequestList::new(&requests), 1);
/// let (first, request) = clients.take().expect("the request");
/// clients.abandoned(first, &request, 5_000);
/// assert_eq!(clients.next_arrival_ns(), Some(5_000));
/// let (second, request) = clients.take().expect("its retry");
/// assert_eq!((second, request.arrival_ns), (1, 5_000));
/// clients.abandoned(second, &request, 9_000);
/// assert_eq!(clients.next_arrival_ns(), None); // the client asks no third time
/// assert_eq!(clients.retried(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Retries<S> {
    source: S,
    retries: u32,
    /// Requests taken so far.
    taken: usize,
    retried: u64,
    /// Requests in service, by index.
    attempts: BTreeMap<usize, Attempt>,
    /// Retries that have not been taken, by arrival and the index of the attempt before.
    pending: BTreeMap<(u64, usize), (Attempt, Request)>,
}

/// A request in service.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    /// Its index in the source within.
    index: usize,
    /// Attempts before it.
    earlier: u32,
}

impl<S> Retries<S> {
    /// Creates a source of the requests of `source`, each sent again up to `retries` times.
    pub fn new(source: S, retries: u32) -> Retries<S> {
        Retries { source, retries, taken: 0, retried: 0, attempts: BTreeMap::new(), pending: BTreeMap::new() }
    }

    /// Returns the number of retries so far, those included that have not been taken.
    pub fn retried(&self) -> u64 {
        self.retried
    }
}

impl<S: Source> Source for Retries<S> {
    fn next_arrival_ns(&mut self) -> Option<u64> {
        let retry = self.pending.keys().next().map(|(arrival_ns, _)| *arrival_ns);
        retry.into_iter().chain(self.source.next_arrival_ns()).min()
    }

    /// A retry comes before another request of the same nanosecond.
    fn take(&mut self) -> Option<(usize, Request)> {
        if self.retries == 0 {
            return self.source.take();
        }
        let next_ns = self.source.next_arrival_ns().unwrap_or(u64::MAX);
        let (attempt, request) = match self.pending.first_entry() {
            Some(retry) if retry.key().0 <= next_ns => retry.remove(),
            _ => {
                let (index, request) = self.source.take()?;
                (Attempt { index, earlier: 0 }, request)
            }
        };
        let index = self.taken;
        self.taken += 1;
        self.attempts.insert(index, attempt);
        Some((index, request))
    }

    fn finished(&mut self, index: usize, request: &Request, now_ns: u64) {
        if self.retries == 0 {
            self.source.finished(index, request, now_ns);
        } else if let Some(attempt) = self.attempts.remove(&index) {
            self.source.finished(attempt.index, request, now_ns);
        }
    }

    fn abandoned(&mut self, index: usize, request: &Request, now_ns: u64) {
        if self.retries == 0 {
            return self.source.abandoned(index, request, now_ns);
        }
        let Some(Attempt { index: within, earlier }) = self.attempts.remove(&index) else {
            return;
        };
        if earlier == self.retries {
            self.source.abandoned(within, request, now_ns);
            return;
        }
        self.retried += 1;
        let retry = Attempt { index: within, earlier: earlier + 1 };
        self.pending.insert((now_ns, index), (retry, request.at_ns(now_ns)));
    }

    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        self.source.trace_blocks(request)
    }

    /// Returns the requests of the source within, and the retries so far.
    fn total(&self) -> Option<u64> {
        Some(self.source.total()? + self.retried)
    }

    fn feeds_back(&self) -> bool {
        self.retries > 0 || self.source.feeds_back()
    }
}
