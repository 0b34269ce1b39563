//! Prefill and decode on servers of their own.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::desk::Router;
use super::pool::{Left, Pool};
use crate::sim::config::Role;
use crate::sim::metrics::{Totals, Transfers};
use crate::sim::observer::Observer;
use crate::sim::report::Collector;
use crate::sim::source::Source;
use crate::sim::{
    Outcome, Rejection, Request, RequestRecord, SimConfig, SimError, SimReport, Timing,
};
use crate::step::LatencyModel;
use crate::units::Seconds;

/// Equal servers of one kind.
#[derive(Debug, Clone, Copy)]
pub struct ServerPool<M> {
    /// How long their steps take.
    pub model: M,
    /// Limits of each.
    pub config: SimConfig,
    /// How many there are.
    pub replicas: u32,
}

/// The link over which a prefill server sends KV entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvLink {
    bytes_per_s: f64,
    latency: Seconds,
    bytes_per_token: f64,
}

impl KvLink {
    /// A link that carries `bytes_per_s` of each prefill server, over which the `kv_bytes_per_token` of a
    /// token (all layers, all ranks) arrive `latency` after they were sent.
    ///
    /// # Errors
    /// [`SimError::InvalidParameter`] for figures that are not positive and finite; the latency may be 0.
    pub fn try_new(
        bytes_per_s: f64,
        latency: Seconds,
        kv_bytes_per_token: f64,
    ) -> Result<KvLink, SimError> {
        let positive = "a positive, finite number";
        let checks = [
            ("link bandwidth", positive, bytes_per_s, bytes_per_s > 0.0),
            (
                "link latency",
                "a finite time of at least 0",
                latency.0,
                latency.0 >= 0.0,
            ),
            (
                "KV bytes per token",
                positive,
                kv_bytes_per_token,
                kv_bytes_per_token > 0.0,
            ),
        ];
        for (parameter, expected, found, possible) in checks {
            if !(possible && found.is_finite()) {
                return Err(SimError::InvalidParameter {
                    parameter,
                    expected,
                    found,
                });
            }
        }
        Ok(KvLink {
            bytes_per_s,
            latency,
            bytes_per_token: kv_bytes_per_token,
        })
    }

    /// How long the KV entries of `tokens` occupy the link, in nanoseconds.
    fn occupied_ns(&self, tokens: u32) -> u64 {
        Seconds(f64::from(tokens) * self.bytes_per_token / self.bytes_per_s).to_nanos()
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
/// use rooflut::sim::{
///     Disaggregated, KvLink, Listed, Request, Router, ServerPool, SimConfig,
/// };
/// use rooflut::units::Seconds;
/// # use rooflut::step::{Binding, LatencyModel, Part, StepBatch, StepTime};
/// # #[derive(Clone, Copy)]
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
/// #         let mut time = StepTime::ZERO;
/// #         let seconds = Seconds::from_us(batch.tokens() as f64);
/// #         time.add(Part::Qkv, seconds, Binding::Memory, rooflut::table::Provenance::Bound);
/// #         time
/// #     }
/// # }
/// let config = SimConfig::new(8_192, 1_000);
/// let pool = |replicas| ServerPool { model: Linear, config, replicas };
/// let link = KvLink::try_new(50e9, Seconds::from_us(20.0), 131_072.0)?;
/// let servers = Disaggregated::try_new(pool(1), pool(3), Router::LeastOutstandingTokens, link)?;
/// let requests = [Request { prompt_tokens: 512, output_tokens: 128, ..Request::default() }; 10];
/// let report = servers.run_source(&mut Listed::new(&requests), &mut ());
/// assert_eq!(report.summary.completed, 10);
/// // 512 steps of a microsecond, 1.3 ms over the link, and a step of the decode server.
/// let ttft = report.records[0].ttft().unwrap();
/// assert!(ttft.ms() > 1.87 && ttft.ms() < 1.89);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Disaggregated<M> {
    prefill: ServerPool<M>,
    decode: ServerPool<M>,
    router: Router,
    link: KvLink,
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

    /// Serves what comes from `source`, while `observer` looks on, and keeps what became of each request,
    /// in the order of their places.
    pub fn run_source<S: Source, O: Observer>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> SimReport {
        let mut collector = Collector::default();
        let totals = self.serve(source, &mut (&mut collector, observer));
        collector.into_report(&totals)
    }

    /// Serves what comes from `source`, from empty servers until all are done, while `observer` looks on.
    ///
    /// Steps of prefill servers are told with the replicas from 0 on, those of decode servers with the
    /// replicas after these.
    pub fn serve<S: Source, O: Observer>(&self, source: &mut S, observer: &mut O) -> Totals {
        let mut run = TwoStages {
            servers: self,
            prefill: Pool::new(self.prefill.config, self.prefill.replicas, self.router, 0),
            decode: Pool::new(
                self.decode.config,
                self.decode.replicas,
                self.router,
                self.prefill.replicas,
            ),
            links_free_ns: vec![0; self.prefill.replicas as usize],
            under_way: BTreeMap::new(),
            deliveries: BinaryHeap::new(),
            served: Totals::default(),
            source,
            observer,
        };
        while run.go_on() {}
        run.into_totals()
    }
}

/// A run.
#[derive(Debug)]
struct TwoStages<'r, M, S, O> {
    servers: &'r Disaggregated<M>,
    prefill: Pool<O>,
    decode: Pool<O>,
    /// When the link of each prefill server has sent what it has to.
    links_free_ns: Vec<u64>,
    /// Requests between their arrival and their end, by place.
    under_way: BTreeMap<usize, UnderWay>,
    /// When KV entries arrive, and of which request.
    deliveries: BinaryHeap<Reverse<(u64, usize)>>,
    /// What is counted of requests.
    served: Totals,
    source: &'r mut S,
    observer: &'r mut O,
}

/// A request that has arrived.
#[derive(Debug)]
struct UnderWay {
    request: Request,
    /// The ids that a trace gives its tokens, and how many tokens one stands for.
    listed: (Vec<u64>, u32),
    /// What became of it on the prefill server.
    prefill: Timing,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A request arrives.
    Arrival,
    /// The KV entries of a request arrive.
    Delivery(usize),
    /// A prefill server runs a step.
    Prefill(usize),
    /// A decode server does.
    Decode(usize),
}

impl<M: LatencyModel, S: Source, O: Observer> TwoStages<'_, M, S, O> {
    /// Lets the next thing happen; says whether there was one.
    fn go_on(&mut self) -> bool {
        let Some((_, next)) = self.upcoming(None) else {
            return false;
        };
        match next {
            Next::Arrival => self.arrive(),
            Next::Delivery(place) => self.deliver(place),
            Next::Prefill(replica) => {
                let horizon_ns = self.horizon_ns(next);
                let model = &self.servers.prefill.model;
                self.prefill.step(replica, model, horizon_ns, self.observer);
                let mut left: Vec<Left> = self.prefill.drain_left().collect();
                // The link is for one at a time, whatever the policy of the server.
                left.sort_unstable_by_key(|left| (left.at_ns, left.place));
                left.iter().for_each(|left| self.prefilled(left));
            }
            Next::Decode(replica) => {
                let horizon_ns = self.horizon_ns(next);
                let model = &self.servers.decode.model;
                self.decode.step(replica, model, horizon_ns, self.observer);
                let left: Vec<Left> = self.decode.drain_left().collect();
                left.iter().for_each(|left| self.decoded(left));
            }
        }
        true
    }

    /// When a server that runs `next` has to stop and look around.
    fn horizon_ns(&mut self, next: Next) -> u64 {
        self.upcoming(Some(next)).map_or(u64::MAX, |(ns, _)| ns)
    }

    /// What happens next, and when, `except` left out. Of what happens at the same time, requests and KV
    /// entries arrive before steps begin.
    fn upcoming(&mut self, except: Option<Next>) -> Option<(u64, Next)> {
        let api_server_ns = self.servers.prefill.config.api_server_ns;
        let arrival = self.source.next_arrival_ns();
        let arrival = arrival.map(|ns| (ns.saturating_add(api_server_ns), Next::Arrival));
        let delivery = self.deliveries.peek();
        let delivery = delivery.map(|&Reverse((ns, place))| (ns, Next::Delivery(place)));
        let others = |of: fn(usize) -> Next, pool: &mut Pool<O>| {
            let next = match except {
                Some(Next::Prefill(replica)) if of(replica) == Next::Prefill(replica) => {
                    pool.next_but(replica)
                }
                Some(Next::Decode(replica)) if of(replica) == Next::Decode(replica) => {
                    pool.next_but(replica)
                }
                _ => pool.next(),
            };
            next.map(|(ns, replica)| (ns, of(replica)))
        };
        let prefill = others(Next::Prefill, &mut self.prefill);
        let decode = others(Next::Decode, &mut self.decode);
        [arrival, delivery, prefill, decode]
            .into_iter()
            .flatten()
            .min()
    }

    /// A request comes in.
    fn arrive(&mut self) {
        let Some((place, request)) = self.source.take() else {
            return;
        };
        if let Err(reason) = self.servers.decode.config.check(&request) {
            return self.reject(place, request, reason);
        }
        let (ids, tokens) = self.source.listed(&request);
        let prompt = Request {
            output_tokens: 1,
            ..request
        };
        self.prefill.push(place, prompt, ids, tokens);
        let under_way = UnderWay {
            request,
            listed: (ids.to_vec(), tokens),
            prefill: Timing::default(),
        };
        self.under_way.insert(place, under_way);
    }

    /// A prefill server is done with a request: its KV entries go over the link.
    fn prefilled(&mut self, left: &Left) {
        let timing = match left.record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(reason) => {
                if let Some(under_way) = self.under_way.remove(&left.place) {
                    self.reject(left.place, under_way.request, reason);
                }
                return;
            }
        };
        let (Some(under_way), Some(free_ns)) = (
            self.under_way.get_mut(&left.place),
            self.links_free_ns.get_mut(left.replica),
        ) else {
            return;
        };
        under_way.prefill = timing;
        let link = &self.servers.link;
        let occupied_ns = link.occupied_ns(under_way.request.prompt_tokens);
        *free_ns = timing.finish_ns.max(*free_ns).saturating_add(occupied_ns);
        let delivery_ns = free_ns.saturating_add(link.latency.to_nanos());
        let transfers = &mut self.served.transfers;
        transfers.requests += 1;
        transfers.link_ns += u128::from(occupied_ns);
        transfers.delay_ns += u128::from(delivery_ns - timing.finish_ns);
        self.deliveries.push(Reverse((delivery_ns, left.place)));
    }

    /// The KV entries of a request have come.
    fn deliver(&mut self, place: usize) {
        let Some(Reverse((arrival_ns, _))) = self.deliveries.pop() else {
            return;
        };
        if let Some(under_way) = self.under_way.get(&place) {
            let request = Request {
                arrival_ns,
                // Their blocks are the decode server's own.
                cached_prompt_tokens: 0,
                ..under_way.request
            };
            let (ids, tokens) = &under_way.listed;
            self.decode.push(place, request, ids, *tokens);
        }
    }

    /// A decode server is done with a request.
    fn decoded(&mut self, left: &Left) {
        let Some(under_way) = self.under_way.remove(&left.place) else {
            return;
        };
        let UnderWay {
            request, prefill, ..
        } = under_way;
        let outcome = match left.record.outcome {
            Outcome::Completed(decode) => {
                let queue_ns = decode.scheduled_ns.saturating_sub(decode.at_engine_ns);
                self.served.transfers.decode_queue_ns += u128::from(queue_ns);
                Outcome::Completed(Timing {
                    at_engine_ns: prefill.at_engine_ns,
                    scheduled_ns: prefill.scheduled_ns,
                    preemptions: prefill.preemptions + decode.preemptions,
                    ..decode
                })
            }
            rejected @ Outcome::Rejected(_) => rejected,
        };
        let record = RequestRecord { request, outcome };
        self.served.served(&record);
        self.observer.left(left.place, &record);
        self.source.left(left.place, &request, left.at_ns);
    }

    fn reject(&mut self, place: usize, request: Request, reason: Rejection) {
        self.served.rejected += 1;
        let outcome = Outcome::Rejected(reason);
        self.observer
            .left(place, &RequestRecord { request, outcome });
        self.source.left(place, &request, request.arrival_ns);
    }

    /// What was counted: steps of both pools, requests once.
    fn into_totals(self) -> Totals {
        let servers = self.prefill.into_totals().plus(self.decode.into_totals());
        let transfers = Transfers {
            links: self.servers.prefill.replicas,
            ..self.served.transfers
        };
        let requests = Totals {
            transfers,
            ..self.served
        };
        servers.without_requests().plus(requests)
    }
}
