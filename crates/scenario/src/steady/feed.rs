//! A source of requests that can be closed.

use std::cell::Cell;

use rooflut::sim::load::Source;
use rooflut::sim::{Request, SimConfig};

/// A gate between the source and the observer of a run: counts requests, and ends their arrivals.
#[derive(Debug)]
pub(crate) struct Gate {
    taken: Cell<u64>,
    answered: Cell<u64>,
    limit: u64,
    /// When arrivals end whatever their number: the clock represents none that is later.
    until_ns: u64,
    /// When the last request arrived, or the observer closed the source; the end of time before.
    closed_ns: Cell<u64>,
}

impl Gate {
    /// Creates a gate that closes after `limit` requests.
    pub(crate) fn new(limit: u64) -> Gate {
        let (taken, answered, closed_ns) = (Cell::new(0), Cell::new(0), Cell::new(u64::MAX));
        Gate { taken, answered, limit, until_ns: SimConfig::LAST_ARRIVAL_NS, closed_ns }
    }

    /// Returns the gate with the time after which it closes.
    pub(crate) fn until(self, ns: u64) -> Gate {
        Gate { until_ns: ns.min(self.until_ns), ..self }
    }

    /// Number of requests that have arrived.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Number of requests that have arrived and were not served, rejected or abandoned for the last time.
    pub(crate) fn held(&self) -> u64 {
        self.taken().saturating_sub(self.answered.get())
    }

    /// When arrivals ended, in nanoseconds from the start; the end of time before.
    pub(crate) fn closed_ns(&self) -> u64 {
        self.closed_ns.get()
    }

    /// Number of requests that may still arrive.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed_ns() < u64::MAX
    }

    /// Ends the arrivals.
    pub(crate) fn close(&self, now_ns: u64) {
        self.closed_ns.set(self.closed_ns().min(now_ns));
    }

    fn pass(&self, request: &Request) {
        self.taken.set(self.taken() + 1);
        if self.taken() >= self.limit {
            self.close(request.arrival_ns);
        }
    }
}

/// A source whose requests pass a gate.
#[derive(Debug)]
pub(crate) struct Feed<'g, S> {
    pub(crate) source: S,
    pub(crate) gate: &'g Gate,
}

impl<S: Source> Source for Feed<'_, S> {
    fn next_arrival_ns(&mut self) -> Option<u64> {
        match self.gate.is_closed() {
            true => None,
            false => {
                let next_ns = self.source.next_arrival_ns();
                next_ns.filter(|ns| *ns <= self.gate.until_ns)
            }
        }
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        if self.gate.is_closed() {
            return None;
        }
        let taken = self.source.take();
        if let Some((_, request)) = &taken {
            self.gate.pass(request);
        }
        taken
    }

    fn finished(&mut self, index: usize, request: &Request, now_ns: u64) {
        self.gate.answered.set(self.gate.answered.get() + 1);
        self.source.finished(index, request, now_ns);
    }

    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        self.source.trace_blocks(request)
    }

    fn total(&self) -> Option<u64> {
        if self.gate.is_closed() { Some(self.gate.taken()) } else { self.source.total() }
    }

    fn feeds_back(&self) -> bool {
        self.source.feeds_back()
    }
}
