//! A server of a pool: an engine, or data-parallel ranks that step together.

use core::ops::Range;

use super::rank_group::RankGroup;
use super::server_pool::ServerPool;
use crate::sim::figures::Totals;
use crate::sim::memory::content::BlockIds;
use crate::sim::observer::Observer;
use crate::sim::{Progress, Request, RequestRecord, Server, SimConfig, StepTimeError};
use crate::step::LatencyModel;

/// A server of a pool.
#[derive(Debug)]
pub(super) struct Member<'m, M> {
    pool: &'m ServerPool<M>,
    /// Number of its first rank.
    first: u32,
    engine: Engine<'m, M>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most fleets have servers only, and a pointer would cost each step")]
enum Engine<'m, M> {
    Server(Server<&'m M>),
    Ranks(RankGroup<'m, M>),
}

impl<'m, M: LatencyModel> Member<'m, M> {
    /// Creates an idle server of `pool`, whose ranks are numbered from `first` on.
    pub(super) fn new(pool: &'m ServerPool<M>, first: u32) -> Member<'m, M> {
        match pool.ranks {
            1 => Member { pool, first, engine: Engine::Server(Server::new(&pool.model, pool.config, first)) },
            _ => Member::in_lockstep(pool, first),
        }
    }

    /// Creates an idle server of ranks that step together, even if there is only one.
    pub(super) fn in_lockstep(pool: &'m ServerPool<M>, first: u32) -> Member<'m, M> {
        Member { pool, first, engine: Engine::Ranks(RankGroup::new(pool, first)) }
    }

    /// Returns an empty server in place of this one, which begins at `ns`.
    pub(super) fn replaced_at(&self, ns: u64) -> Member<'m, M> {
        let mut fresh = Member::new(self.pool, self.first);
        match &mut fresh.engine {
            Engine::Server(server) => server.wait_until(ns),
            Engine::Ranks(ranks) => ranks.wait_until(ns),
        }
        fresh
    }

    /// Returns the pool that it belongs to.
    pub(super) fn pool(&self) -> &'m ServerPool<M> {
        self.pool
    }

    /// Returns the limits of the server, or of each of its ranks.
    pub(super) fn config(&self) -> &'m SimConfig {
        &self.pool.config
    }

    /// Returns the numbers of its ranks.
    pub(super) fn ranks(&self) -> Range<u32> {
        self.first..self.first.saturating_add(self.pool.ranks)
    }

    /// Adds a request under the caller's `index`. Ranks need them in order of arrival.
    pub(super) fn expect(&mut self, index: usize, request: Request, trace_ids: (&[u64], u32)) {
        match &mut self.engine {
            Engine::Server(server) => server.expect(index, request, trace_ids),
            Engine::Ranks(ranks) => ranks.expect(index, request, trace_ids),
        }
    }

    /// Returns how many tokens of the prompt of `request` are in its prefix cache, or in that of one of its ranks.
    pub(super) fn cached_tokens(&self, index: usize, request: &Request, trace_ids: (&[u64], u32)) -> u32 {
        let ids = BlockIds::of(*request, index, self.config().block_size, trace_ids);
        match &self.engine {
            Engine::Server(server) => server.cached_tokens(&ids, request.prompt_tokens),
            Engine::Ranks(ranks) => ranks.cached_tokens(&ids, request.prompt_tokens),
        }
    }

    /// Returns when the next step begins; `None` if there is none.
    pub(super) fn begins_ns(&self) -> Option<u64> {
        match &self.engine {
            Engine::Server(server) => server.begins_ns(),
            Engine::Ranks(ranks) => ranks.begins_ns(),
        }
    }

    /// Runs the next step, and the decode steps after it that begin before `horizon_ns`: with `feeds_back` only if no
    /// request has finished, as that may trigger one that arrives before the next step.
    pub(super) fn step<O: Observer + ?Sized>(
        &mut self,
        horizon_ns: u64,
        feeds_back: bool,
        observer: &mut O,
    ) -> Result<(), StepTimeError> {
        match &mut self.engine {
            Engine::Server(server) => {
                let before = server.finished();
                server.run_step(observer)?;
                if server.finished() == before || !feeds_back {
                    // The rejection of the next request may trigger one as well.
                    let next_ns = server.next_at_engine_ns().filter(|_| feeds_back);
                    server.run_decodes(horizon_ns.min(next_ns.unwrap_or(u64::MAX)), u64::MAX, observer)?;
                }
                Ok(())
            }
            Engine::Ranks(ranks) => ranks.step(observer),
        }
    }

    /// Calls `report` with the index, the record and the time of each request that has finished since the last call.
    pub(super) fn report_finished(&mut self, report: impl FnMut(usize, &RequestRecord, u64)) {
        match &mut self.engine {
            Engine::Server(server) => server.report_finished(report),
            Engine::Ranks(ranks) => ranks.report_finished(report),
        }
    }

    /// Returns the progress of its steps.
    pub(super) fn progress(&self) -> Progress {
        match &self.engine {
            Engine::Server(server) => server.progress(None),
            Engine::Ranks(ranks) => ranks.progress(),
        }
    }

    /// Returns the counts of its steps and requests.
    pub(super) fn totals(&self) -> Totals {
        match &self.engine {
            Engine::Server(server) => server.totals(),
            Engine::Ranks(ranks) => ranks.totals(),
        }
    }
}
