//! Servers of a pool that are lost and back, and their unfinished requests.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::outage::Outage;
use crate::sim::figures::Totals;
use crate::sim::{Progress, Request, RequestRecord};

/// The outages of a pool, and what must be known of its requests and servers for them.
#[derive(Debug)]
pub(super) struct Losses {
    /// The next one is last.
    changes: Vec<Change>,
    servers: Vec<State>,
    /// Requests that came while all servers that can serve them were lost.
    waiting: Vec<(usize, Request)>,
    /// Served requests whose output was cut.
    truncated: u64,
    /// First arrival of a served request.
    first_arrival_ns: u64,
}

/// A server that is lost or back. At the same time, servers are back first, so that requests can be sent to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    at_ns: u64,
    /// When it is back; `None` for a server that is back now.
    pub(super) until_ns: Option<u64>,
    /// Number of the server in its pool.
    pub(super) server: usize,
}

/// A server with outages.
#[derive(Debug, Default)]
struct State {
    is_lost: bool,
    /// Unfinished requests as they came to the pool, by index.
    unfinished: BTreeMap<usize, Request>,
    /// Counts up to its last loss.
    before: Totals,
}

impl Losses {
    /// Creates the state of `servers` servers with these outages, which are valid.
    pub(super) fn new(outages: impl Iterator<Item = Outage>, servers: u32) -> Losses {
        let changes = outages.flat_map(|Outage { server, from_ns, to_ns }| {
            let server = server as usize;
            let back = Change { at_ns: to_ns, until_ns: None, server };
            [Change { at_ns: from_ns, until_ns: Some(to_ns), server }, back]
        });
        let mut changes: Vec<Change> = changes.collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        let servers = (0..servers).map(|_| State::default()).collect();
        Losses { changes, servers, waiting: Vec::new(), truncated: 0, first_arrival_ns: u64::MAX }
    }

    /// Returns when the next server is lost or back.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.changes.last().map(|change| change.at_ns)
    }

    /// Removes and returns the next change if it is at `ns`; the server is lost or back from now on.
    pub(super) fn next_at(&mut self, ns: u64) -> Option<Change> {
        let change = self.changes.pop_if(|change| change.at_ns == ns)?;
        if let Some(state) = self.servers.get_mut(change.server) {
            state.is_lost = change.until_ns.is_some();
        }
        Some(change)
    }

    /// Returns whether a server is lost.
    pub(super) fn is_lost(&self, server: usize) -> bool {
        self.servers.get(server).is_some_and(|state| state.is_lost)
    }

    /// Returns when the first server is back if all are lost.
    pub(super) fn all_lost_until_ns(&self) -> Option<u64> {
        let is_back = |change: &&Change| change.until_ns.is_none();
        let all_lost = self.servers.iter().all(|state| state.is_lost);
        let back = self.changes.iter().rev().find(is_back).filter(|_| all_lost);
        back.map(|change| change.at_ns)
    }

    /// Keeps a request until a server is back.
    pub(super) fn wait(&mut self, index: usize, request: Request) {
        self.waiting.push((index, request));
    }

    /// Returns whether a request waits for a server to be back.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Removes and returns the requests that wait for a server, in the order in which they came.
    pub(super) fn take_waiting(&mut self) -> Vec<(usize, Request)> {
        core::mem::take(&mut self.waiting)
    }

    /// Records that a request was sent to a server.
    pub(super) fn sent(&mut self, server: usize, index: usize, request: Request) {
        if let Some(state) = self.servers.get_mut(server) {
            state.unfinished.insert(index, request);
        }
    }

    /// Records that a request has finished, and sets the arrival of its record to the original one.
    pub(super) fn finished(&mut self, server: usize, index: usize, record: &mut RequestRecord) {
        let Some(request) = self.servers.get_mut(server).and_then(|state| state.unfinished.remove(&index)) else {
            return;
        };
        record.request.arrival_ns = request.arrival_ns;
        if record.timing().is_some() {
            self.truncated += u64::from(record.request.output_tokens < request.output_tokens);
            self.first_arrival_ns = self.first_arrival_ns.min(request.arrival_ns);
        }
    }

    /// Removes and returns the unfinished requests of a server, which is lost after these counts.
    pub(super) fn take_unfinished(&mut self, server: usize, totals: Totals) -> BTreeMap<usize, Request> {
        let Some(state) = self.servers.get_mut(server) else {
            return BTreeMap::new();
        };
        state.before = state.totals(totals);
        core::mem::take(&mut state.unfinished)
    }

    /// Returns the counts of a server, given those since its last loss.
    pub(super) fn totals(&self, server: usize, since: Totals) -> Totals {
        self.servers.get(server).map_or(since, |state| state.totals(since))
    }

    /// Returns the counts of all servers with those of the requests as they came to the pool: requests that started
    /// again came later to their last server, and may have been cut on each.
    pub(super) fn with_requests(&self, all: Totals) -> Totals {
        let span_ns = all.span_ns.map(|(first, last)| (first.min(self.first_arrival_ns), last));
        Totals { truncated: self.truncated, span_ns, ..all }
    }

    /// Returns the progress of a server, given that since its last loss.
    pub(super) fn progress(&self, server: usize, since: Progress) -> Progress {
        let Some(State { before, .. }) = self.servers.get(server) else {
            return since;
        };
        Progress {
            steps: before.steps + since.steps,
            completed: before.completed + since.completed,
            rejected: before.rejected + since.rejected,
            ..since
        }
    }
}

impl State {
    fn totals(&self, since: Totals) -> Totals {
        Totals {
            replicas: since.replicas,
            kv_blocks: since.kv_blocks,
            peak_kv_blocks: since.peak_kv_blocks.max(self.before.peak_kv_blocks),
            ..self.before.plus(since)
        }
    }
}
