//! Separate prefill and decode servers.

use alloc::vec::Vec;

use super::kv_link::KvLink;
use super::outage::{self, Outage};
use super::pool::EVENTS_PER_REPORT;
use super::router::Router;
use super::server_pool::ServerPool;
use super::two_stages::TwoStages;
use crate::error::Invalid;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::Source;
use crate::sim::observer::Observer;
use crate::sim::{Role, SimReport, StepTimeError};
use crate::step::LatencyModel;

/// Separate prefill and decode servers (vLLM's disaggregated prefill).
///
/// A prefill server computes the prompt of a request and sends the KV entries over its link, one request after the
/// other, to a decode server. Each data-parallel rank of a prefill server has a link of its own. There, the request
/// waits for a slot and blocks, computes the last token of the prompt once more for its first token, and decodes. The
/// router of each pool chooses a server when a request, or its KV entries, arrive. For a router of your own, drive
/// [`Server`](crate::sim::Server)s of each [`Role`]: see `examples/own_router.rs`.
///
/// Assumes: the blocks of a prompt are freed on the prefill server when the prompt is computed, and taken on the decode
/// server when the request is admitted there; a transfer takes no blocks. All KV entries are transferred, including
/// entries in the prefix cache of the decode server. A request that is preempted on a decode server computes its prompt
/// there.
///
/// The requests of a lost server ([`Outage`]) start again from the prompt, on a prefill server: those of a prefill server
/// whose KV entries are not delivered, and all of a decode server. While all decode servers are lost, KV entries stay on
/// their way until the first of them is back. A prefill server may still have the blocks of a prompt that starts again;
/// it keeps none of [`Content::Unique`](crate::sim::Content::Unique).
///
/// In the [`Timing`](crate::sim::Timing) of a request, the times up to the first scheduling come from the prefill
/// server; the first token and later tokens come from the decode server.
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
/// // `Linear` is a latency model of 1 us per token.
/// let config = SimConfig::new(8_192, 1_000);
/// let pool = |replicas| ServerPool::new(Linear, config, replicas);
/// let link = KvLink::try_new(50e9, Seconds::from_us(20.0), 131_072.0)?;
/// let servers = Disaggregated::try_new(pool(1), pool(3), Router::LeastOutstandingTokens, link)?;
/// let requests = [Request::new(512, 128)];
/// let report = servers.run_source(&mut RequestList::new(&requests), &mut ())?;
/// // A step of 512 us, 1.34 ms over the link, and a step of the decode server.
/// let ttft = report.records[0].ttft().unwrap();
/// assert!(ttft.ms() > 1.87 && ttft.ms() < 1.89);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Disaggregated<M> {
    pub(super) prefill: ServerPool<M>,
    pub(super) decode: ServerPool<M>,
    pub(super) router: Router,
    pub(super) link: KvLink,
    pub(super) outages: Vec<Outage>,
}

impl<M: LatencyModel> Disaggregated<M> {
    /// Creates pools of prefill and decode servers.
    ///
    /// The prefill servers set the queue limit, the patience of clients, which ends with the prompt there, and the API
    /// server's time per request. The decode servers set the API
    /// server's time per output, because they yield all tokens.
    ///
    /// # Errors
    /// [`Invalid`] if no step can run under the limits of a pool, if a pool is empty, for several ranks of several pipeline
    /// stages each, and for speculative decoding and layers that keep a state: neither is modelled here.
    pub fn try_new(
        prefill: ServerPool<M>,
        decode: ServerPool<M>,
        router: Router,
        link: KvLink,
    ) -> Result<Disaggregated<M>, Invalid> {
        let mut servers = Disaggregated { prefill, decode, router, link, outages: Vec::new() };
        for (pool, role, replicas) in [
            (&mut servers.prefill, Role::Prefill, "prefill replicas"),
            (&mut servers.decode, Role::Decode, "decode replicas"),
        ] {
            pool.config = pool.config.with_role(role);
            pool.validate(replicas)?;
        }
        Ok(servers)
    }

    /// Sets the outages of servers, in place of those before. Servers are numbered from 0, the prefill servers first.
    ///
    /// # Errors
    /// [`Invalid`] for a server that does not exist, and for outages of one server that overlap.
    pub fn with_outages(self, outages: Vec<Outage>) -> Result<Disaggregated<M>, Invalid> {
        let servers = u64::from(self.prefill.replicas) + u64::from(self.decode.replicas);
        outage::validate(&outages, servers)?;
        Ok(Disaggregated { outages, ..self })
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
    /// Replicas are numbered from 0, the prefill servers first; each rank of a server is a replica.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<Totals, StepTimeError> {
        let mut run = TwoStages::new(self, source, observer);
        let mut events = 0_u64;
        while run.advance()? {
            events += 1;
            if events.is_multiple_of(EVENTS_PER_REPORT) {
                run.report_progress();
                if !run.wants_more() {
                    break;
                }
            }
        }
        run.report_progress();
        Ok(run.into_totals())
    }
}
