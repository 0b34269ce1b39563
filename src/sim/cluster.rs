//! Several replicas of a server behind a router.

mod desk;
mod disaggregated;
mod kv_link;
mod pool;
mod two_stages;

use crate::sim::Totals;
use crate::sim::observer::Observer;
use crate::sim::report::reported;
use crate::sim::source::Source;
use crate::sim::{SimConfig, SimError, SimReport};
use crate::step::LatencyModel;

pub use desk::Router;
pub use disaggregated::{Disaggregated, ServerPool};
pub use kv_link::KvLink;
use pool::Pool;

/// Turns of a router between two reports of progress.
const TURNS_PER_REPORT: u64 = 1 << 10;

/// Equal replicas of a server behind a router that costs no time.
///
/// ```
/// use rooflut::sim::{Cluster, Listed, Request, Router, SimConfig};
/// # use rooflut::step::{Binding, LatencyModel, Part, StepBatch, StepTime};
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
/// #         let mut time = StepTime::ZERO;
/// #         let seconds = rooflut::units::Seconds::from_us(batch.tokens() as f64);
/// #         time.add(Part::Qkv, seconds, Binding::Memory, rooflut::step::TimeSource::Fitted);
/// #         time
/// #     }
/// # }
/// let requests = [Request::new(512, 128); 10];
/// let cluster = Cluster::try_new(Linear, SimConfig::new(8_192, 1_000), 4, Router::RoundRobin)?;
/// assert_eq!(cluster.serve(&mut Listed::new(&requests), &mut ()).completed, 10);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster<M> {
    model: M,
    config: SimConfig,
    replicas: u32,
    router: Router,
}

impl<M: LatencyModel> Cluster<M> {
    /// `replicas` servers with these limits each.
    ///
    /// # Errors
    /// [`SimError`] if no step could run under these limits, or there is no replica.
    pub fn try_new(
        model: M,
        config: SimConfig,
        replicas: u32,
        router: Router,
    ) -> Result<Cluster<M>, SimError> {
        config.validate()?;
        if replicas == 0 {
            return Err(SimError::ZeroLimit { limit: "replicas" });
        }
        Ok(Cluster {
            model,
            config,
            replicas,
            router,
        })
    }

    /// Serves what comes from `source`, while `observer` looks on, and keeps what became of each request,
    /// in the order of their places.
    pub fn run_source<S: Source, O: Observer>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> SimReport {
        reported(observer, |both| self.serve(source, both))
    }

    /// Serves what comes from `source`, from empty servers until all are done, while `observer` looks on.
    ///
    /// Requests leave in the order in which they are found to: not always that of the clock, as replicas
    /// are simulated one after the other between two arrivals. Counts add up over the replicas, their
    /// peaks of KV blocks, too.
    pub fn serve<S: Source, O: Observer>(&self, source: &mut S, observer: &mut O) -> Totals {
        let mut pool = Pool::new(
            self.config,
            self.replicas,
            self.router,
            0,
            source.feeds_back(),
        );
        let mut turns = 0_u64;
        loop {
            if turns.is_multiple_of(TURNS_PER_REPORT) {
                observer.progress(&pool.progress(source.total()));
            }
            turns += 1;
            let arrival_ns = source.next_arrival_ns();
            let at_engine_ns =
                arrival_ns.map_or(u64::MAX, |ns| ns.saturating_add(self.config.api_server_ns));
            let before_arrival =
                |next: &(u64, usize)| arrival_ns.is_none() || next.0 < at_engine_ns;
            match pool.next(None).filter(before_arrival) {
                Some((_, replica)) => {
                    let other = source.feeds_back().then(|| pool.next(Some(replica)));
                    let other_ns = other.flatten().map_or(u64::MAX, |(begins_ns, _)| begins_ns);
                    let horizon_ns = other_ns.min(at_engine_ns);
                    pool.step(replica, &self.model, horizon_ns, observer);
                    for left in pool.drain_left() {
                        observer.left(left.place, &left.record);
                        source.left(left.place, &left.record.request, left.at_ns);
                    }
                }
                None => {
                    let Some((place, request)) = source.take() else {
                        break;
                    };
                    let (ids, tokens) = source.listed(&request);
                    pool.push(place, request, ids, tokens);
                }
            }
        }
        observer.progress(&pool.progress(source.total()));
        pool.into_totals()
    }
}
