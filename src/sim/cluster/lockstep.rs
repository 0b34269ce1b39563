//! Data-parallel ranks that step together.

use alloc::vec::Vec;

use super::pool::EVENTS_PER_REPORT;
use crate::error::Invalid;
use crate::sim::clock::end_of_step;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::Source;
use crate::sim::observer::Observer;
use crate::sim::server::RankStep;
use crate::sim::simulator::report_finished;
use crate::sim::{Progress, Server, SimConfig, SimReport, StepTimeError};
use crate::step::LatencyModel;

/// The data-parallel ranks of a model. The ranks share the experts, so they begin and end each step together
/// ([`LatencyModel::lockstep_time`]).
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
    model: M,
    config: SimConfig,
    ranks: u32,
}

/// A rank and its work in the current step.
#[derive(Debug)]
struct Rank<'m, M> {
    server: Server<&'m M>,
    step: RankStep,
}

impl<M: LatencyModel> Lockstep<M> {
    /// Creates `ranks` ranks with the limits `config` each.
    ///
    /// # Errors
    /// [`Invalid`] if no step can run under these limits, for 0 ranks, or for ranks of several pipeline stages.
    pub fn try_new(model: M, config: SimConfig, ranks: u32) -> Result<Lockstep<M>, Invalid> {
        config.validate()?;
        if ranks == 0 {
            return Err(Invalid::zero("ranks"));
        }
        if config.is_pipelined() {
            let stages = config.pipeline_parallel_size;
            let text = "expected one pipeline stage each, found {}, which is not modelled; use replicas";
            return Err(Invalid::new("data-parallel ranks", text, &[stages.into()]));
        }
        Ok(Lockstep { model, config, ranks })
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
        let rank = |number| Rank { server: Server::new(&self.model, self.config, number), step: RankStep::Idle };
        let mut ranks: Vec<Rank<'_, M>> = (0..self.ranks).map(rank).collect();
        let (mut now_ns, mut events) = (0, 0_u64);
        loop {
            if events.is_multiple_of(EVENTS_PER_REPORT) {
                observer.progress(&progress(&ranks, source.total()));
                if !observer.wants_more() {
                    break;
                }
            }
            events += 1;
            self.receive_arrivals(&mut ranks, source, now_ns);
            for rank in &mut ranks {
                rank.step = rank.server.begin_rank_step();
            }
            let idle = ranks.iter().all(|rank| matches!(rank.step, RankStep::Idle));
            if !idle {
                let batches = || ranks.iter().map(|rank| rank.server.batch_of(&rank.step));
                let time = self.model.lockstep_time(&mut batches());
                let end_ns = end_of_step(now_ns, time).ok_or_else(|| StepTimeError::new(now_ns, batches(), time))?;
                for rank in &mut ranks {
                    rank.server.end_rank_step(rank.step, end_ns, observer);
                }
                now_ns = end_ns;
            }
            for rank in &mut ranks {
                report_finished(&mut rank.server, source, observer);
            }
            if idle && !ranks.iter().any(|rank| rank.server.has_work()) {
                let arrival_ns = source.next_arrival_ns().map(|ns| ns.saturating_add(self.config.api_server_ns));
                let expected = ranks.iter().filter_map(|rank| rank.server.next_at_engine_ns());
                let Some(next_ns) = arrival_ns.into_iter().chain(expected).min() else {
                    break;
                };
                now_ns = now_ns.max(next_ns);
                for rank in &mut ranks {
                    rank.server.wait_until(now_ns);
                }
            }
        }
        observer.progress(&progress(&ranks, source.total()));
        let totals = ranks.iter().map(|rank| rank.server.totals());
        Ok(totals.fold(Totals::default(), Totals::plus))
    }

    /// Sends the requests that the engine sees by `now_ns` to the ranks.
    fn receive_arrivals<S: Source + ?Sized>(&self, ranks: &mut [Rank<'_, M>], source: &mut S, now_ns: u64) {
        let at_engine_ns = |ns: u64| ns.saturating_add(self.config.api_server_ns);
        while let Some(arrival_ns) = source.next_arrival_ns()
            && at_engine_ns(arrival_ns) <= now_ns
            && let Some((index, request)) = source.take()
        {
            let load = |rank: &&mut Rank<'_, M>| {
                let server = &rank.server;
                4 * (server.waiting() + server.arriving()) + server.running()
            };
            if let Some(rank) = ranks.iter_mut().min_by_key(load) {
                let trace_ids = source.trace_blocks(&request);
                rank.server.expect(index, request, trace_ids);
            }
        }
    }
}

/// Returns the progress of all ranks together.
fn progress<M: LatencyModel>(ranks: &[Rank<'_, M>], total: Option<u64>) -> Progress {
    let all = Progress { total, ..Progress::default() };
    let each = ranks.iter().map(|rank| rank.server.progress(None));
    each.fold(all, Progress::plus)
}
