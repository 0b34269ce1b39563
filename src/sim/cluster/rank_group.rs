//! Data-parallel ranks that step together, one step at a time.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::server_pool::ServerPool;
use crate::sim::clock::end_of_step;
use crate::sim::figures::Totals;
use crate::sim::load::arrived::Arrived;
use crate::sim::memory::content::BlockIds;
use crate::sim::observer::Observer;
use crate::sim::server::RankStep;
use crate::sim::{Progress, Request, RequestRecord, Server, StepTimeError};
use crate::step::LatencyModel;

/// The ranks of a server, and the requests that none of them has yet.
#[derive(Debug)]
pub(super) struct RankGroup<'m, M> {
    model: &'m M,
    api_server_ns: u64,
    now_ns: u64,
    /// In order of arrival.
    arriving: VecDeque<Arrived>,
    ranks: Vec<Rank<'m, M>>,
}

/// A rank and its work in the current step.
#[derive(Debug)]
struct Rank<'m, M> {
    server: Server<&'m M>,
    step: RankStep,
}

impl<'m, M: LatencyModel> RankGroup<'m, M> {
    /// Creates the idle ranks of a server of `pool`, numbered from `first` on.
    pub(super) fn new(pool: &'m ServerPool<M>, first: u32) -> RankGroup<'m, M> {
        let rank = |number| Rank {
            server: Server::new(&pool.model, pool.config, first.saturating_add(number)),
            step: RankStep::Idle,
        };
        RankGroup {
            model: &pool.model,
            api_server_ns: pool.config.api_server_ns,
            now_ns: 0,
            arriving: VecDeque::new(),
            ranks: (0..pool.ranks).map(rank).collect(),
        }
    }

    /// Adds a request; requests must come in order of arrival.
    pub(super) fn expect(&mut self, index: usize, request: Request, trace_ids: (&[u64], u32)) {
        self.arriving.push_back(Arrived::new(index, request, trace_ids));
    }

    /// Moves the clock of ranks without work forward.
    pub(super) fn wait_until(&mut self, ns: u64) {
        self.now_ns = self.now_ns.max(ns);
        for rank in &mut self.ranks {
            rank.server.wait_until(ns);
        }
    }

    /// Returns when the next step begins; `None` if there is none.
    pub(super) fn begins_ns(&self) -> Option<u64> {
        if self.ranks.iter().any(|rank| rank.server.has_work()) {
            return Some(self.now_ns);
        }
        let expected = self.ranks.iter().filter_map(|rank| rank.server.next_at_engine_ns());
        let next_ns = self.next_arrival_ns().into_iter().chain(expected).min()?;
        Some(next_ns.max(self.now_ns))
    }

    /// Runs the step that is due next, if any rank has work then.
    pub(super) fn step<O: Observer + ?Sized>(&mut self, observer: &mut O) -> Result<(), StepTimeError> {
        let Some(now_ns) = self.begins_ns() else {
            return Ok(());
        };
        if now_ns > self.now_ns {
            self.wait_until(now_ns);
        }
        self.receive_arrivals();
        let RankGroup { model, ranks, .. } = self;
        for rank in ranks.iter_mut() {
            rank.step = rank.server.begin_rank_step();
        }
        if ranks.iter().all(|rank| matches!(rank.step, RankStep::Idle)) {
            return Ok(());
        }
        let batches = || ranks.iter().map(|rank| rank.server.batch_of(&rank.step));
        let time = model.lockstep_time(&mut batches());
        let end_ns = end_of_step(now_ns, time).ok_or_else(|| StepTimeError::new(now_ns, batches(), time))?;
        for rank in ranks {
            rank.server.end_rank_step(rank.step, end_ns, observer);
        }
        self.now_ns = end_ns;
        Ok(())
    }

    /// Returns when the engines can see the next request that no rank has yet.
    fn next_arrival_ns(&self) -> Option<u64> {
        let arrived = self.arriving.front()?;
        Some(arrived.request.arrival_ns.saturating_add(self.api_server_ns))
    }

    /// Sends the requests that the engines can see by now to the ranks.
    fn receive_arrivals(&mut self) {
        while self.next_arrival_ns().is_some_and(|ns| ns <= self.now_ns)
            && let Some(Arrived { index, request, trace_ids, .. }) = self.arriving.pop_front()
        {
            let load = |rank: &&mut Rank<'_, M>| {
                let server = &rank.server;
                4 * (server.waiting() + server.arriving()) + server.running()
            };
            if let Some(rank) = self.ranks.iter_mut().min_by_key(load) {
                let trace_ids = trace_ids.as_deref().map_or((&[][..], 0), |(ids, tokens)| (ids.as_slice(), *tokens));
                rank.server.expect(index, request, trace_ids);
            }
        }
    }

    /// Returns how many tokens of a prompt with these `ids` are in the prefix cache of a rank, at most.
    pub(super) fn cached_tokens(&self, ids: &BlockIds<'_>, prompt_tokens: u32) -> u32 {
        let cached = self.ranks.iter().map(|rank| rank.server.cached_tokens(ids, prompt_tokens));
        cached.max().unwrap_or(0)
    }

    /// Calls `report` as [`Server::report_finished`] does, for one rank after the other.
    pub(super) fn report_finished(&mut self, mut report: impl FnMut(usize, &RequestRecord, u64)) {
        for rank in &mut self.ranks {
            rank.server.report_finished(&mut report);
        }
    }

    /// Returns the progress of all ranks together.
    pub(super) fn progress(&self) -> Progress {
        let each = self.ranks.iter().map(|rank| rank.server.progress(None));
        each.fold(Progress::default(), Progress::plus)
    }

    /// Returns the counts of all ranks.
    pub(super) fn totals(&self) -> Totals {
        let each = self.ranks.iter().map(|rank| rank.server.totals());
        each.fold(Totals::default(), Totals::plus)
    }
}
