//! Data-parallel ranks that step together.

use alloc::vec;
use core::slice;

use super::member::Member;
use super::pool::Pool;
use super::replicas::serve;
use super::router::Router;
use super::server_pool::ServerPool;
use crate::error::Invalid;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::Source;
use crate::sim::observer::Observer;
use crate::sim::{SimConfig, SimReport, StepTimeError};
use crate::step::LatencyModel;

/// The data-parallel ranks of a model. The ranks share the experts, so they begin and end each step together
/// ([`LatencyModel::lockstep_time`]).
///
/// A [`Cluster`](super::Cluster) has several such servers ([`ServerPool::with_ranks`]).
///
/// Each rank is a server with a queue, KV blocks and a schedule of its own. Ranks without work run dummy batches as long
/// as another one has some. A request goes to the rank with the lowest `4 x waiting + running`, ties to the first.
///
/// Source: vLLM, `DPEngineCoreProc` and `DPLBAsyncMPClient` in `vllm/v1/engine`. Assumes: the router knows the counts
/// of all ranks when a request arrives; vLLM's are up to 100 ms old. Does not model: dummy batches of up to 31 steps
/// after the last request of all ranks, and the pause of an empty schedule, while a rank runs a dummy batch.
///
/// ```
/// use rooflut::sim::cluster::Lockstep;
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
/// // A prompt of 512 tokens on one rank delays the other, which has one of 8.
/// let requests = [Request::new(512, 1), Request::new(8, 1)];
/// let ranks = Lockstep::try_new(Linear, SimConfig::new(8_192, 1_000), 2)?;
/// let report = ranks.run_source(&mut RequestList::new(&requests), &mut ())?;
/// let finish_ns = |index: usize| report.records[index].timing().map(|timing| timing.finish_ns);
/// assert_eq!((finish_ns(0), finish_ns(1)), (Some(512_000), Some(512_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lockstep<M> {
    server: ServerPool<M>,
}

impl<M: LatencyModel> Lockstep<M> {
    /// Creates `ranks` ranks with the limits `config` each.
    ///
    /// # Errors
    /// [`Invalid`] if no step can run under these limits, for 0 ranks, or for ranks of several pipeline stages.
    pub fn try_new(model: M, config: SimConfig, ranks: u32) -> Result<Lockstep<M>, Invalid> {
        let server = ServerPool::new(model, config, 1).with_ranks(ranks);
        server.validate("replicas")?;
        server.validate_lockstep()?;
        Ok(Lockstep { server })
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

    /// Serves the requests of `source`, from empty ranks until all have finished, and calls `observer`, which sees the
    /// steps of each rank but no dummy batches. Counts are summed over the ranks, also the peaks of KV blocks.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<Totals, StepTimeError> {
        let ranks = Member::in_lockstep(&self.server, 0);
        let servers = slice::from_ref(&self.server);
        let pool = Pool::of(vec![ranks], servers, Router::RoundRobin, source.feeds_back());
        serve(pool, source, observer)
    }
}
