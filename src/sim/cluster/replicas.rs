//! Servers behind a router.

use alloc::vec;
use alloc::vec::Vec;

use crate::error::Invalid;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::{Source, tell_source};
use crate::sim::observer::Observer;
use crate::sim::{SimConfig, SimReport, StepTimeError};
use crate::step::LatencyModel;

use super::losses::Losses;
use super::outage::{self, Outage};
use super::pool::{EVENTS_PER_REPORT, Pool};
use super::router::Router;
use super::server_pool::ServerPool;

/// Servers behind a router that takes no time: equal ones, or unlike ones in several pools.
///
/// A request goes only to servers that can ever serve it ([`SimConfig::check`]). If none can, a server of the first pool
/// rejects it.
///
/// ```
/// use rooflut::sim::cluster::{Cluster, Router, ServerPool};
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::{Request, SimConfig};
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct PerToken(f64);
/// # impl LatencyModel for PerToken {
/// #     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
/// #         Seconds::from_us(self.0 * batch.tokens() as f64)
/// #     }
/// # }
/// let requests = [Request::new(512, 128); 10];
/// // `PerToken(us)` is a latency model of so many microseconds per token.
/// let config = SimConfig::new(8_192, 1_000);
/// let cluster = Cluster::try_new(PerToken(1.0), config, 4, Router::RoundRobin)?;
/// assert_eq!(cluster.serve(&mut RequestList::new(&requests), &mut ())?.completed, 10);
///
/// // Two fast servers of one rank, and a slow one of two ranks for longer requests.
/// let fast = ServerPool::new(PerToken(1.0), config.with_max_num_seqs(256), 2);
/// let slow = ServerPool::new(PerToken(3.0), SimConfig::new(32_768, 4_000), 1).with_ranks(2);
/// let fleet = Cluster::try_of(vec![fast, slow], Router::LeastOutstandingTokens)?;
/// let long = [Request::new(16_384, 128)];
/// let report = fleet.run_source(&mut RequestList::new(&long), &mut ())?;
/// assert_eq!(report.records[0].timing().map(|timing| timing.replica), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster<M> {
    pools: Vec<ServerPool<M>>,
    router: Router,
    outages: Vec<Outage>,
}

/// The kinds of events. At the same time, arrivals come before steps.
///
/// Requests that arrive before a server is lost or back are sent before; others do not arrive as long as a change is to
/// come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request arrives.
    Arrival,
    /// A server is lost or back.
    Change,
    /// A server runs a step.
    Step(usize),
}

impl<M: LatencyModel> Cluster<M> {
    /// Creates `replicas` servers of one rank with the limits `config` each.
    ///
    /// # Errors
    /// [`Invalid`] if no step can run under these limits, or for 0 replicas.
    pub fn try_new(model: M, config: SimConfig, replicas: u32, router: Router) -> Result<Cluster<M>, Invalid> {
        Cluster::try_of(vec![ServerPool::new(model, config, replicas)], router)
    }

    /// Creates the servers of `pools` behind one router. Replicas are numbered from 0 in the order of the pools; each rank
    /// of a server is a replica.
    ///
    /// # Errors
    /// [`Invalid`] without pools, if no step can run under the limits of a pool, for 0 replicas or ranks, and for several
    /// ranks of several pipeline stages each.
    pub fn try_of(pools: Vec<ServerPool<M>>, router: Router) -> Result<Cluster<M>, Invalid> {
        if pools.is_empty() {
            return Err(Invalid::zero("pools"));
        }
        for pool in &pools {
            pool.validate("replicas")?;
        }
        Ok(Cluster { pools, router, outages: Vec::new() })
    }

    /// Sets the outages of servers, in place of those before.
    ///
    /// # Errors
    /// [`Invalid`] for a server that does not exist, and for outages of one server that overlap.
    pub fn with_outages(self, outages: Vec<Outage>) -> Result<Cluster<M>, Invalid> {
        outage::validate(&outages, u64::from(self.servers()))?;
        Ok(Cluster { outages, ..self })
    }

    fn servers(&self) -> u32 {
        self.pools.iter().fold(0, |servers, pool| servers.saturating_add(pool.replicas))
    }

    /// Serves the requests of `source`, calls `observer`, and keeps a record of each request, in the order of
    /// their indices.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn run_source<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<SimReport, StepTimeError> {
        reported(observer, |both| self.serve(source, both))
    }

    /// Serves the requests of `source`, from empty servers until all have finished, and calls `observer`.
    ///
    /// Requests complete in the order of the replicas' reports. This is not always the order of the clock, because
    /// replicas are simulated one after the other between two arrivals. Counts, and peaks of KV blocks, are summed over
    /// the replicas. Outages after the last request have no effect.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<Totals, StepTimeError> {
        let pool = Pool::new(&self.pools, self.router, 0, source.feeds_back());
        let has_outages = !self.outages.is_empty();
        let losses = has_outages.then(|| Losses::new(self.outages.iter().copied(), self.servers()));
        serve(pool.with_losses(losses), source, observer)
    }
}

/// Serves the requests of `source` from the servers of `pool` until all have finished, and calls `observer`.
pub(super) fn serve<M: LatencyModel, S: Source + ?Sized, O: Observer + ?Sized>(
    mut pool: Pool<'_, M>,
    source: &mut S,
    observer: &mut O,
) -> Result<Totals, StepTimeError> {
    let feeds_back = source.feeds_back();
    let (mut events, mut restarted) = (0_u64, 0);
    loop {
        if events.is_multiple_of(EVENTS_PER_REPORT) {
            observer.progress(&pool.progress(source.total()));
            if !observer.wants_more() {
                break;
            }
        }
        events += 1;
        let arrival_ns = source.next_arrival_ns();
        let Some((now_ns, event)) = next_event(&pool, arrival_ns) else {
            break;
        };
        match event {
            Event::Arrival => {
                if let Some((index, request)) = source.take() {
                    pool.push(index, request, request.arrival_ns, source.trace_blocks(&request));
                }
            }
            Event::Change => {
                let lost = pool.change(now_ns);
                restarted += lost.requests.len() as u64;
                for (index, request) in pool.take_waiting().into_iter().chain(lost.requests) {
                    pool.push(index, request, now_ns, source.trace_blocks(&request));
                }
            }
            Event::Step(server) => {
                // Other servers matter only if their answers trigger new requests.
                let other = feeds_back.then(|| pool.next_step(Some(server))).flatten().map(|(begins_ns, _)| begins_ns);
                let arrival = arrival_ns.map(|ns| pool.at_engine_ns(ns));
                let others = [other, arrival, pool.next_change_ns()];
                let horizon_ns = others.into_iter().flatten().min().unwrap_or(u64::MAX);
                pool.step(server, horizon_ns, observer)?;
                for finished in pool.drain_finished() {
                    let record = &finished.record;
                    observer.finished(finished.index, record);
                    tell_source(source, finished.index, record, finished.at_ns);
                }
            }
        }
    }
    observer.progress(&pool.progress(source.total()));
    Ok(Totals { restarted, ..pool.totals() })
}

/// Returns the next event and its time; `None` if all requests have finished.
fn next_event<M: LatencyModel>(pool: &Pool<'_, M>, arrival_ns: Option<u64>) -> Option<(u64, Event)> {
    let step = pool.next_step(None).map(|(ns, server)| (ns, Event::Step(server)));
    let Some(change_ns) = pool.next_change_ns() else {
        let arrival = arrival_ns.map(|ns| (pool.at_engine_ns(ns), Event::Arrival));
        return arrival.into_iter().chain(step).min();
    };
    let arrival = arrival_ns.filter(|ns| *ns < change_ns);
    let arrival = arrival.map(|ns| (pool.at_engine_ns(ns).min(change_ns), Event::Arrival));
    let is_unfinished = arrival_ns.is_some() || step.is_some() || pool.has_waiting();
    let change = is_unfinished.then_some((change_ns, Event::Change));
    [arrival, change, step].into_iter().flatten().min()
}
