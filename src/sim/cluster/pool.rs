//! Servers behind a router.

use alloc::vec::Vec;
use core::ops::Range;

use super::earliest::Earliest;
use super::losses::Losses;
use super::member::Member;
use super::router::{Router, Routing};
use super::server_pool::ServerPool;
use crate::sim::figures::Totals;
use crate::sim::observer::Observer;
use crate::sim::{Progress, Request, RequestRecord, StepTimeError};
use crate::step::LatencyModel;

/// Events between two reports of progress.
pub(super) const EVENTS_PER_REPORT: u64 = 1 << 10;

/// Servers, and the state of their router.
#[derive(Debug)]
pub(super) struct Pool<'m, M> {
    members: Vec<Member<'m, M>>,
    /// When each begins its next step.
    begins: Earliest,
    routing: Routing,
    /// The pools that the servers belong to.
    kinds: &'m [ServerPool<M>],
    /// Shortest time between an arrival and the engine.
    api_server_ns: u64,
    /// Whether finished requests trigger new ones.
    feeds_back: bool,
    finished: Vec<FinishedRequest>,
    losses: Option<Losses>,
}

/// A request that has finished on a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct FinishedRequest {
    pub(super) index: usize,
    pub(super) record: RequestRecord,
    pub(super) at_ns: u64,
}

/// Servers that are lost, and their unfinished requests.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// The numbers of their ranks.
    pub(super) ranks: Vec<Range<u32>>,
    /// In the order of indices.
    pub(super) requests: Vec<(usize, Request)>,
}

impl<'m, M: LatencyModel> Pool<'m, M> {
    /// Creates the idle servers of `kinds`, whose ranks are numbered from `first` on.
    pub(super) fn new(kinds: &'m [ServerPool<M>], router: Router, first: u32, feeds_back: bool) -> Pool<'m, M> {
        let mut number = first;
        let all = kinds.iter().flat_map(|kind| (0..kind.replicas).map(move |_| kind));
        let members = all.map(|kind| {
            let member = Member::new(kind, number);
            number = member.ranks().end;
            member
        });
        Pool::of(members.collect(), kinds, router, feeds_back)
    }

    /// Creates a pool of these servers of `kinds`.
    pub(super) fn of(
        members: Vec<Member<'m, M>>,
        kinds: &'m [ServerPool<M>],
        router: Router,
        feeds_back: bool,
    ) -> Pool<'m, M> {
        Pool {
            begins: Earliest::new(members.len()),
            routing: Routing::new(router, members.len()),
            api_server_ns: kinds.iter().map(|kind| kind.config.api_server_ns).min().unwrap_or(0),
            members,
            kinds,
            feeds_back,
            finished: Vec::new(),
            losses: None,
        }
    }

    /// Sets the outages of the servers.
    pub(super) fn with_losses(self, losses: Option<Losses>) -> Pool<'m, M> {
        Pool { losses, ..self }
    }

    /// Returns the earliest time at which an engine sees a request that arrives at `arrival_ns`.
    pub(super) fn at_engine_ns(&self, arrival_ns: u64) -> u64 {
        arrival_ns.saturating_add(self.api_server_ns)
    }

    /// Sends a request to one of the servers at `at_ns`, its arrival or later. Requests must come in the order of these
    /// times; `trace_ids` are its ids in a trace and the tokens per id.
    pub(super) fn push(&mut self, index: usize, request: Request, at_ns: u64, trace_ids: (&[u64], u32)) {
        let sent = Request { arrival_ns: at_ns, ..request };
        let chosen = self.route(index, &sent, trace_ids);
        let member = chosen.and_then(|server| Some((server, self.members.get_mut(server)?)));
        match (member, &mut self.losses) {
            (Some((server, member)), losses) => {
                self.routing.sent(server, member.config().served_tokens(&sent));
                member.expect(index, sent, trace_ids);
                self.begins.note(server, member.begins_ns());
                if let Some(losses) = losses {
                    losses.sent(server, index, request);
                }
            }
            (None, Some(losses)) => losses.wait(index, request),
            (None, None) => {}
        }
    }

    /// Chooses a server that is not lost and can serve the request; `None` if there is none at present. If no server can
    /// ever serve it, one of the first kind rejects it.
    fn route(&mut self, index: usize, request: &Request, trace_ids: (&[u64], u32)) -> Option<usize> {
        let Pool { members, routing, losses, .. } = self;
        let kinds = self.kinds;
        let serves = |kind: &ServerPool<M>| kind.config.check(request).is_ok();
        let is_served = kinds.len() > 1 && kinds.iter().any(serves);
        let suits = |member: &Member<'m, M>| match (kinds, is_served) {
            ([_], _) => true,
            (_, true) => serves(member.pool()),
            (_, false) => kinds.first().is_some_and(|first| core::ptr::eq(first, member.pool())),
        };
        let is_lost = |server: usize| losses.as_ref().is_some_and(|losses| losses.is_lost(server));
        let is_candidate = |server: usize| !is_lost(server) && members.get(server).is_some_and(&suits);
        let cached = |server: usize| {
            let member = members.get(server);
            member.map_or(0, |member| member.cached_tokens(index, request, trace_ids))
        };
        routing.route(request, is_candidate, cached)
    }

    /// Returns when the next step begins and the server that runs it; `except` leaves a server out.
    pub(super) fn next_step(&self, except: Option<usize>) -> Option<(u64, usize)> {
        self.begins.first(except)
    }

    /// Runs a step of a server, and the decode steps after it that begin before `horizon_ns`.
    pub(super) fn step<O: Observer + ?Sized>(
        &mut self,
        server: usize,
        horizon_ns: u64,
        observer: &mut O,
    ) -> Result<(), StepTimeError> {
        let Some(member) = self.members.get_mut(server) else {
            return Ok(());
        };
        member.step(horizon_ns, self.feeds_back, observer)?;
        self.begins.note(server, member.begins_ns());
        let (routing, finished, losses) = (&mut self.routing, &mut self.finished, &mut self.losses);
        let config = member.config();
        member.report_finished(|index, record, at_ns| {
            routing.finished(server, config.served_tokens(&record.request), at_ns);
            let mut record = *record;
            if let Some(losses) = losses {
                losses.finished(server, index, &mut record);
            }
            finished.push(FinishedRequest { index, record, at_ns });
        });
        Ok(())
    }

    /// Returns when the next server is lost or back.
    pub(super) fn next_change_ns(&self) -> Option<u64> {
        self.losses.as_ref().and_then(Losses::next_ns)
    }

    /// Lets the servers be lost and back that are at `now_ns`. Returns the lost ones.
    pub(super) fn change(&mut self, now_ns: u64) -> Lost {
        let mut lost = Lost::default();
        let Some(losses) = &mut self.losses else {
            return lost;
        };
        while let Some(change) = losses.next_at(now_ns) {
            let (server, Some(until_ns)) = (change.server, change.until_ns) else {
                continue;
            };
            let Some(member) = self.members.get_mut(server) else {
                continue;
            };
            let unfinished = losses.take_unfinished(server, member.totals());
            for request in unfinished.values() {
                self.routing.removed(server, member.config().served_tokens(request));
            }
            lost.requests.extend(unfinished);
            lost.ranks.push(member.ranks());
            *member = member.replaced_at(until_ns);
            self.begins.note(server, None);
        }
        lost.requests.sort_unstable_by_key(|(index, _)| *index);
        lost
    }

    /// Returns when the first server is back if all are lost.
    pub(super) fn all_lost_until_ns(&self) -> Option<u64> {
        self.losses.as_ref().and_then(Losses::all_lost_until_ns)
    }

    /// Returns whether a request waits for a server to be back.
    pub(super) fn has_waiting(&self) -> bool {
        self.losses.as_ref().is_some_and(Losses::has_waiting)
    }

    /// Removes and returns the requests that wait for a server to be back, in the order in which they came.
    pub(super) fn take_waiting(&mut self) -> Vec<(usize, Request)> {
        self.losses.as_mut().map(Losses::take_waiting).unwrap_or_default()
    }

    /// Returns the progress of all servers together, at the time of the busy server that is furthest behind.
    pub(super) fn progress(&self, total: Option<u64>) -> Progress {
        let behind = self.next_step(None);
        let all = Progress { total, ..Progress::default() };
        let each = self.members.iter().enumerate().map(|(server, member)| {
            let since = member.progress();
            self.losses.as_ref().map_or(since, |losses| losses.progress(server, since))
        });
        let all = each.fold(all, Progress::plus);
        Progress { now_ns: behind.map_or(all.now_ns, |(begins_ns, _)| begins_ns), ..all }
    }

    /// Removes and returns the requests that have finished since the last call.
    pub(super) fn drain_finished(&mut self) -> impl Iterator<Item = FinishedRequest> + '_ {
        self.finished.drain(..)
    }

    /// Returns the counts of all servers.
    pub(super) fn totals(&self) -> Totals {
        let Some(losses) = &self.losses else {
            return self.members.iter().map(Member::totals).fold(Totals::default(), Totals::plus);
        };
        let each = self.members.iter().enumerate().map(|(server, member)| losses.totals(server, member.totals()));
        losses.with_requests(each.fold(Totals::default(), Totals::plus))
    }
}
