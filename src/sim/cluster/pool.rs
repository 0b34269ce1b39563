//! Equal servers behind a router.

use alloc::vec::Vec;

use super::router::{Router, Routing};
use crate::sim::figures::Totals;
use crate::sim::observer::Observer;
use crate::sim::{Progress, Request, RequestRecord, Server, SimConfig};
use crate::step::LatencyModel;

/// Turns of a router between two reports of progress.
pub(super) const TURNS_PER_REPORT: u64 = 1 << 10;

/// Equal servers, and the state of their router.
#[derive(Debug)]
pub(super) struct Pool<'m, M> {
    servers: Vec<Server<&'m M>>,
    routing: Routing,
    /// Whether requests come because others have finished.
    feeds_back: bool,
    departures: Vec<Departure>,
}

/// A request that has finished at a replica.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departure {
    /// The replica, counted from 0 in its pool.
    pub(super) replica: usize,
    pub(super) index: usize,
    pub(super) record: RequestRecord,
    pub(super) at_ns: u64,
}

impl<'m, M: LatencyModel> Pool<'m, M> {
    /// Idle servers, numbered from `first` on.
    pub(super) fn new(
        model: &'m M,
        config: SimConfig,
        replicas: u32,
        router: Router,
        first: u32,
        feeds_back: bool,
    ) -> Pool<'m, M> {
        let server = |replica| Server::new(model, config, first + replica);
        Pool {
            servers: (0..replicas).map(server).collect(),
            routing: Routing::new(router, replicas),
            feeds_back,
            departures: Vec::new(),
        }
    }

    /// Sends a request to one of the replicas. Requests come in the order of their arrival; `listed` are the ids of
    /// its trace, and how many tokens one stands for.
    pub(super) fn push(&mut self, index: usize, request: Request, listed: (&[u64], u32)) {
        let (ids, _) = listed;
        let replica = self.routing.route(&request, ids);
        if let Some(server) = self.servers.get_mut(replica) {
            server.expect(index, request, listed);
        }
    }

    /// When the next step begins, and which replica, other than `except`, runs it; `None` where there is
    /// nothing to do.
    pub(super) fn next(&self, except: Option<usize>) -> Option<(u64, usize)> {
        let servers = self.servers.iter().enumerate();
        let busy = servers.filter_map(|(replica, server)| {
            let asked = Some(replica) != except;
            Some((server.begins_ns().filter(|_| asked)?, replica))
        });
        busy.min()
    }

    /// Runs a step of a replica, and those after it that begin before `horizon_ns` and only decode.
    pub(super) fn step<O: Observer + ?Sized>(
        &mut self,
        replica: usize,
        horizon_ns: u64,
        observer: &mut O,
    ) {
        let Some(server) = self.servers.get_mut(replica) else {
            return;
        };
        let before = server.finished();
        server.run_step(observer);
        // The answer to a departure may arrive before the next step.
        if server.finished() == before || !self.feeds_back {
            server.run_decodes(horizon_ns, u64::MAX, observer);
        }
        let (routing, departures) = (&mut self.routing, &mut self.departures);
        server.report_departures(|index, record, at_ns| {
            routing.finished(replica, &record.request, at_ns);
            departures.push(Departure {
                replica,
                index,
                record: *record,
                at_ns,
            });
        });
    }

    /// State of all replicas together, at the time of the busy one that is furthest behind.
    pub(super) fn progress(&self, total: Option<u64>) -> Progress {
        let behind = self.next(None);
        let all = Progress {
            total,
            ..Progress::default()
        };
        let each = self.servers.iter().map(|server| server.progress(None));
        let all = each.fold(all, Progress::plus);
        Progress {
            now_ns: behind.map_or(all.now_ns, |(begins_ns, _)| begins_ns),
            ..all
        }
    }

    /// The requests that have finished since the last call.
    pub(super) fn drain_departures(&mut self) -> impl Iterator<Item = Departure> + '_ {
        self.departures.drain(..)
    }

    /// Counts of all replicas.
    pub(super) fn totals(&self) -> Totals {
        let each = self.servers.iter().map(Server::totals);
        each.fold(Totals::default(), Totals::plus)
    }
}
