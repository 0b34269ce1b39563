//! Replicas of a server behind a router.

use crate::error::Invalid;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::{Source, tell_source};
use crate::sim::observer::Observer;
use crate::sim::{SimConfig, SimReport, StepTimeError};
use crate::step::LatencyModel;

use super::disaggregated::ServerPool;
use super::pool::{EVENTS_PER_REPORT, Pool};
use super::router::Router;

/// Identical replicas of a server behind a router that takes no time.
///
/// ```
/// use rooflut::sim::cluster::{Cluster, Router};
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::{Request, SimConfig};
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
/// #         Seconds::from_us(batch.tokens() as f64)
/// #     }
/// # }
/// let requests = [Request::new(512, 128); 10];
/// let cluster = Cluster::try_new(Linear, SimConfig::new(8_192, 1_000), 4, Router::RoundRobin)?;
/// assert_eq!(cluster.serve(&mut RequestList::new(&requests), &mut ())?.completed, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster<M> {
    pool: ServerPool<M>,
    router: Router,
}

impl<M: LatencyModel> Cluster<M> {
    /// Creates `replicas` servers with the limits `config` each.
    ///
    /// # Errors
    /// [`Invalid`] if no step can run under these limits, or for 0 replicas.
    pub fn try_new(model: M, config: SimConfig, replicas: u32, router: Router) -> Result<Cluster<M>, Invalid> {
        config.validate()?;
        if replicas == 0 {
            return Err(Invalid::zero("replicas"));
        }
        let pool = ServerPool::new(model, config, replicas);
        Ok(Cluster { pool, router })
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
    /// the replicas.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<Totals, StepTimeError> {
        let feeds_back = source.feeds_back();
        let mut pool = Pool::new(&self.pool, self.router, 0, feeds_back);
        let mut events = 0_u64;
        loop {
            if events.is_multiple_of(EVENTS_PER_REPORT) {
                observer.progress(&pool.progress(source.total()));
                if !observer.wants_more() {
                    break;
                }
            }
            events += 1;
            let arrival_ns = source.next_arrival_ns();
            let api_server_ns = self.pool.config.api_server_ns;
            let at_engine_ns = arrival_ns.map_or(u64::MAX, |ns| ns.saturating_add(api_server_ns));
            let before_arrival = |(begins_ns, _): &(u64, usize)| arrival_ns.is_none() || *begins_ns < at_engine_ns;
            match pool.next_step(None).filter(before_arrival) {
                Some((_, replica)) => {
                    // Other replicas matter only if their answers trigger new requests.
                    let other = feeds_back.then(|| pool.next_step(Some(replica)));
                    let other_ns = other.flatten().map_or(u64::MAX, |(begins_ns, _)| begins_ns);
                    let horizon_ns = other_ns.min(at_engine_ns);
                    pool.step(replica, horizon_ns, observer)?;
                    for finished in pool.drain_finished() {
                        let record = &finished.record;
                        observer.finished(finished.index, record);
                        tell_source(source, finished.index, record, finished.at_ns);
                    }
                }
                None => {
                    let Some((index, request)) = source.take() else {
                        break;
                    };
                    pool.push(index, request, source.trace_blocks(&request));
                }
            }
        }
        observer.progress(&pool.progress(source.total()));
        Ok(pool.totals())
    }
}
