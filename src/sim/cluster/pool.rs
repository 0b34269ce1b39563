//! Identical servers behind a router.

use alloc::vec::Vec;

use super::disaggregated::ServerPool;
use super::earliest::Earliest;
use super::router::{Router, Routing};
use crate::sim::figures::Totals;
use crate::sim::memory::content::BlockIds;
use crate::sim::observer::Observer;
use crate::sim::{Progress, Request, RequestRecord, Server, StepTimeError};
use crate::step::LatencyModel;

/// Events between two reports of progress.
pub(super) const EVENTS_PER_REPORT: u64 = 1 << 10;

/// Identical servers, and the state of their router.
#[derive(Debug)]
pub(super) struct Pool<'m, M> {
    servers: Vec<Server<&'m M>>,
    /// When each begins its next step.
    begins: Earliest,
    block_size: u32,
    routing: Routing,
    /// Whether finished requests trigger new ones.
    feeds_back: bool,
    finished: Vec<FinishedRequest>,
}

/// A request that has finished on a replica.
#[derive(Debug, Clone, Copy)]
pub(super) struct FinishedRequest {
    /// The replica, counted from 0 in its pool.
    pub(super) replica: usize,
    pub(super) index: usize,
    pub(super) record: RequestRecord,
    pub(super) at_ns: u64,
}

impl<'m, M: LatencyModel> Pool<'m, M> {
    /// Creates idle servers, numbered from `first` on.
    pub(super) fn new(pool: &'m ServerPool<M>, router: Router, first: u32, feeds_back: bool) -> Pool<'m, M> {
        let server = |replica| Server::new(&pool.model, pool.config, first + replica);
        Pool {
            servers: (0..pool.replicas).map(server).collect(),
            begins: Earliest::new(pool.replicas as usize),
            block_size: pool.config.block_size,
            routing: Routing::new(router, pool.replicas),
            feeds_back,
            finished: Vec::new(),
        }
    }

    /// Sends a request to one of the replicas. Requests must come in order of arrival; `trace_ids` are its ids in a
    /// trace and the tokens per id.
    pub(super) fn push(&mut self, index: usize, request: Request, trace_ids: (&[u64], u32)) {
        let ids = BlockIds::of(request, index, self.block_size, trace_ids);
        let cached = |replica: usize| {
            let server = self.servers.get(replica);
            server.map_or(0, |server| server.cached_tokens(&ids, request.prompt_tokens))
        };
        let replica = self.routing.route(&request, cached);
        if let Some(server) = self.servers.get_mut(replica) {
            server.expect(index, request, trace_ids);
            self.begins.note(replica, server.begins_ns());
        }
    }

    /// Returns when the next step begins and the replica that runs it; `except` leaves a replica out.
    pub(super) fn next_step(&self, except: Option<usize>) -> Option<(u64, usize)> {
        self.begins.first(except)
    }

    /// Runs a step of a replica, and the decode steps after it that begin before `horizon_ns`.
    pub(super) fn step<O: Observer + ?Sized>(
        &mut self,
        replica: usize,
        horizon_ns: u64,
        observer: &mut O,
    ) -> Result<(), StepTimeError> {
        let Some(server) = self.servers.get_mut(replica) else {
            return Ok(());
        };
        let before = server.finished();
        server.run_step(observer)?;
        // A finished request may trigger one that arrives before the next step.
        if server.finished() == before || !self.feeds_back {
            server.run_decodes(horizon_ns, u64::MAX, observer)?;
        }
        self.begins.note(replica, server.begins_ns());
        let (routing, finished) = (&mut self.routing, &mut self.finished);
        server.report_finished(|index, record, at_ns| {
            routing.finished(replica, &record.request, at_ns);
            finished.push(FinishedRequest { replica, index, record: *record, at_ns });
        });
        Ok(())
    }

    /// Returns the progress of all replicas together, at the time of the busy replica that is furthest behind.
    pub(super) fn progress(&self, total: Option<u64>) -> Progress {
        let behind = self.next_step(None);
        let all = Progress { total, ..Progress::default() };
        let each = self.servers.iter().map(|server| server.progress(None));
        let all = each.fold(all, Progress::plus);
        Progress { now_ns: behind.map_or(all.now_ns, |(begins_ns, _)| begins_ns), ..all }
    }

    /// Removes and returns the requests that have finished since the last call.
    pub(super) fn drain_finished(&mut self) -> impl Iterator<Item = FinishedRequest> + '_ {
        self.finished.drain(..)
    }

    /// Returns the counts of all replicas.
    pub(super) fn totals(&self) -> Totals {
        let each = self.servers.iter().map(Server::totals);
        each.fold(Totals::default(), Totals::plus)
    }
}
