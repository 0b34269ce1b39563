//! Prefill and decode on servers of their own.

use super::kv_link::KvLink;
use super::pool::TURNS_PER_REPORT;
use super::router::Router;
use super::two_stages::TwoStages;
use crate::sim::config::Role;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::Source;
use crate::sim::observer::Observer;
use crate::sim::{SimConfig, SimError, SimReport};
use crate::step::LatencyModel;

/// Equal servers of one kind.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ServerPool<M> {
    /// How long their steps take.
    pub model: M,
    /// Limits of each.
    pub config: SimConfig,
    /// How many there are.
    pub replicas: u32,
}

impl<M> ServerPool<M> {
    /// `replicas` servers with these limits.
    pub const fn new(model: M, config: SimConfig, replicas: u32) -> ServerPool<M> {
        ServerPool {
            model,
            config,
            replicas,
        }
    }
}

/// Prefill and decode on servers of their own (vLLM's disaggregated prefill).
///
/// A request goes to a prefill server, which computes its prompt; then the KV entries of the prompt move over
/// that server's link, one request after the other, to a decode server. There the request waits for a slot and
/// blocks, computes the last token of the prompt once more for its first token, and decodes. A router decides
/// for each of the two pools, when the request, or its KV entries, arrive.
///
/// Assumes: the blocks of a prompt are free on the prefill server when it is computed, and taken on the decode
/// server when the request is admitted there; what is on its way takes room on neither. All entries move, also
/// those that the decode server finds in its prefix cache. A request that the decode server preempts
/// computes its prompt there, as anywhere else.
///
/// The times of a request are those of the first server until it is scheduled (`queue`), and those of the
/// second from its first token on.
///
/// ```
/// use rooflut::sim::{Request, SimConfig};
/// use rooflut::sim::cluster::{Disaggregated, KvLink, Router, ServerPool};
/// use rooflut::sim::load::RequestList;
/// use rooflut::units::Seconds;
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # #[derive(Clone, Copy)]
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
/// #         Seconds::from_us(batch.tokens() as f64)
/// #     }
/// # }
/// let config = SimConfig::new(8_192, 1_000);
/// let pool = |replicas| ServerPool::new(Linear, config, replicas);
/// let link = KvLink::try_new(50e9, Seconds::from_us(20.0), 131_072.0)?;
/// let servers = Disaggregated::try_new(pool(1), pool(3), Router::LeastOutstandingTokens, link)?;
/// let requests = [Request::new(512, 128)];
/// let report = servers.run_source(&mut RequestList::new(&requests), &mut ());
/// // A step of 512 us, 1.34 ms over the link, and a step of the decode server.
/// let ttft = report.records[0].ttft().unwrap();
/// assert!(ttft.ms() > 1.87 && ttft.ms() < 1.89);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Disaggregated<M> {
    pub(super) prefill: ServerPool<M>,
    pub(super) decode: ServerPool<M>,
    pub(super) router: Router,
    pub(super) link: KvLink,
}

impl<M: LatencyModel> Disaggregated<M> {
    /// Servers for prompts and servers for outputs. `max_waiting` and the API server are those of the prefill
    /// servers.
    ///
    /// # Errors
    /// [`SimError`] if no step could run under the limits of a pool, a pool is empty, or one decodes
    /// speculatively, which is not modelled.
    pub fn try_new(
        prefill: ServerPool<M>,
        decode: ServerPool<M>,
        router: Router,
        link: KvLink,
    ) -> Result<Disaggregated<M>, SimError> {
        for (pool, limit) in [(&prefill, "prefill replicas"), (&decode, "decode replicas")] {
            pool.config.validate()?;
            if pool.replicas == 0 {
                return Err(SimError::ZeroLimit { limit });
            }
            if pool.config.speculation.is_some() {
                return Err(SimError::SpeculationDisaggregated);
            }
        }
        let mut servers = Disaggregated {
            prefill,
            decode,
            router,
            link,
        };
        servers.prefill.config.role = Role::Whole;
        servers.decode.config.role = Role::Decode;
        servers.decode.config.api_server_ns = 0;
        servers.decode.config.max_waiting = None;
        Ok(servers)
    }

    /// Serves the requests of `source`, calls `observer`, and keeps a record of each request, in the order of
    /// their places.
    pub fn run_source<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> SimReport {
        reported(observer, |both| self.serve(source, both))
    }

    /// Serves the requests of `source`, from empty servers until all are done, and calls `observer`.
    ///
    /// Prefill servers are the replicas from 0 on, decode servers those after them.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Totals {
        let mut run = TwoStages::new(self, source, observer);
        let mut turns = 0_u64;
        while run.go_on() {
            turns += 1;
            if turns.is_multiple_of(TURNS_PER_REPORT) {
                run.report_progress();
            }
        }
        run.report_progress();
        run.into_totals()
    }
}
