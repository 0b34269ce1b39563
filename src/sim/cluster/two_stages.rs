//! Requests that go from a prefill server to a decode server.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::disaggregated::{Disaggregated, ServerPool};
use super::pool::{Departure, Pool};
use crate::sim::figures::{PoolUse, Stages, Totals};
use crate::sim::load::source::Source;
use crate::sim::observer::Observer;
use crate::sim::{KvTransfer, Outcome, Progress, Rejection, Request, RequestRecord, Timing};
use crate::step::LatencyModel;

/// A run of servers that do prefill or decode only.
#[derive(Debug)]
pub(super) struct TwoStages<'r, M, S: ?Sized, O: ?Sized> {
    servers: &'r Disaggregated<M>,
    prefill: Pool<'r, M>,
    decode: Pool<'r, M>,
    /// When the link of each prefill server has sent what it has to.
    links_free_ns: Vec<u64>,
    /// Output tokens of the requests at the prefill servers, which know all else of them: by place.
    outputs: BTreeMap<usize, u32>,
    /// Requests whose KV entries are on their way, by when these arrive and by place.
    deliveries: BTreeMap<(u64, usize), Request>,
    /// The past of the requests whose prompts are computed, by place.
    prefilled: BTreeMap<usize, Prefilled>,
    /// What is counted of requests.
    served: Totals,
    source: &'r mut S,
    observer: &'r mut O,
}

/// What a decode server does not know of a request. It holds the rest: under overload most requests may wait
/// there, and each is held once.
#[derive(Debug)]
struct Prefilled {
    arrival_ns: u64,
    at_engine_ns: u64,
    scheduled_ns: u64,
    prefilled_ns: u64,
    cached_prompt_tokens: u32,
    preemptions: u32,
    replica: u32,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A request arrives.
    Arrival,
    /// The KV entries of a request arrive.
    Delivery,
    /// A prefill server runs a step.
    Prefill(usize),
    /// A decode server does.
    Decode(usize),
}

impl<'r, M, S, O> TwoStages<'r, M, S, O>
where
    M: LatencyModel,
    S: Source + ?Sized,
    O: Observer + ?Sized,
{
    /// Servers with nothing to do.
    pub(super) fn new(
        servers: &'r Disaggregated<M>,
        source: &'r mut S,
        observer: &'r mut O,
    ) -> TwoStages<'r, M, S, O> {
        let Disaggregated {
            prefill,
            decode,
            router,
            ..
        } = servers;
        let feeds_back = source.feeds_back();
        let pool = |of: &'r ServerPool<M>, first| {
            Pool::new(
                &of.model,
                of.config,
                of.replicas,
                *router,
                first,
                feeds_back,
            )
        };
        TwoStages {
            servers,
            prefill: pool(prefill, 0),
            decode: pool(decode, prefill.replicas),
            links_free_ns: vec![0; prefill.replicas as usize],
            outputs: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            prefilled: BTreeMap::new(),
            served: Totals::default(),
            source,
            observer,
        }
    }

    /// Lets the next thing happen; says whether there was one.
    pub(super) fn go_on(&mut self) -> bool {
        let Some((now_ns, next)) = self.upcoming() else {
            return false;
        };
        match next {
            Next::Arrival => self.arrive(now_ns),
            Next::Delivery => self.deliver(),
            Next::Prefill(replica) => {
                // Every step of it has a prompt, so that it runs no step unasked.
                self.prefill.step(replica, u64::MAX, self.observer);
                let mut departures: Vec<Departure> = self.prefill.drain_departures().collect();
                // The link is for one at a time, whatever the policy of the server.
                departures.sort_unstable_by_key(|departure| (departure.at_ns, departure.index));
                departures
                    .iter()
                    .for_each(|departure| self.prefilled(departure));
            }
            Next::Decode(replica) => {
                let horizon_ns = self.horizon_ns(replica);
                self.decode.step(replica, horizon_ns, self.observer);
                let departures: Vec<Departure> = self.decode.drain_departures().collect();
                departures
                    .iter()
                    .for_each(|departure| self.decoded(departure));
            }
        }
        true
    }

    /// Where both pools together are.
    pub(super) fn report_progress(&mut self) {
        let total = self.source.total();
        let prompts = self.prefill.progress(total);
        let both = prompts.plus(self.decode.progress(total));
        let next = self.upcoming();
        self.observer.progress(&Progress {
            now_ns: next.map_or(both.now_ns, |(ns, _)| ns),
            completed: self.served.completed,
            rejected: self.served.rejected,
            ..both
        });
    }

    /// What happens next, and when. Of what happens at the same time, requests and KV entries arrive before
    /// steps begin.
    fn upcoming(&mut self) -> Option<(u64, Next)> {
        let decode = self.decode.next(None);
        let decode = decode.map(|(ns, replica)| (ns, Next::Decode(replica)));
        let others = self.upcoming_but_decode();
        others.into_iter().chain(decode).min()
    }

    /// The same without the steps of decode servers.
    fn upcoming_but_decode(&mut self) -> Option<(u64, Next)> {
        let api_server_ns = self.servers.prefill.config.api_server_ns;
        let at_engine = |ns: u64| (ns.saturating_add(api_server_ns), Next::Arrival);
        let prefill = self.prefill.next(None);
        let events = [
            self.source.next_arrival_ns().map(at_engine),
            (self.deliveries.keys().next()).map(|&(ns, _)| (ns, Next::Delivery)),
            prefill.map(|(ns, replica)| (ns, Next::Prefill(replica))),
        ];
        events.into_iter().flatten().min()
    }

    /// When a decode server has to look around: what comes before that is known.
    fn horizon_ns(&mut self, replica: usize) -> u64 {
        // Others matter only if somebody asks again because of an answer of theirs.
        let feeds_back = self.source.feeds_back();
        let other = feeds_back
            .then(|| self.decode.next(Some(replica)))
            .flatten();
        let other_ns = other.map_or(u64::MAX, |(ns, _)| ns);
        let next = self.upcoming_but_decode();
        next.map_or(other_ns, |(ns, _)| ns.min(other_ns))
    }

    /// A request comes in.
    fn arrive(&mut self, now_ns: u64) {
        let Some((index, request)) = self.source.take() else {
            return;
        };
        if let Err(reason) = self.servers.decode.config.check(&request) {
            return self.reject(index, request, reason, now_ns);
        }
        let prompt = Request {
            output_tokens: 1,
            ..request
        };
        let listed = self.source.trace_blocks(&request);
        self.prefill.push(index, prompt, listed);
        self.outputs.insert(index, request.output_tokens);
    }

    /// A prefill server is done with a request: its KV entries go over the link.
    fn prefilled(&mut self, departure: &Departure) {
        let index = departure.index;
        let (Some(output_tokens), Some(free_ns)) = (
            self.outputs.remove(&index),
            self.links_free_ns.get_mut(departure.replica),
        ) else {
            return;
        };
        let request = Request {
            output_tokens,
            ..departure.record.request
        };
        let timing = match departure.record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(reason) => {
                return self.reject(index, request, reason, departure.at_ns);
            }
        };
        let link = &self.servers.link;
        let occupied_ns = link.occupied_ns(request.prompt_tokens);
        *free_ns = timing.finish_ns.max(*free_ns).saturating_add(occupied_ns);
        let delivered_ns = free_ns.saturating_add(link.latency_ns());
        let stages = &mut self.served.stages;
        stages.transfers += 1;
        stages.link_ns += u128::from(occupied_ns);
        stages.transfer_ns += u128::from(delivered_ns - timing.finish_ns);
        self.deliveries.insert((delivered_ns, index), request);
        let prefilled = Prefilled {
            arrival_ns: request.arrival_ns,
            at_engine_ns: timing.at_engine_ns,
            scheduled_ns: timing.scheduled_ns,
            prefilled_ns: timing.finish_ns,
            cached_prompt_tokens: request.cached_prompt_tokens,
            preemptions: timing.preemptions,
            replica: timing.replica,
        };
        self.prefilled.insert(index, prefilled);
    }

    /// The KV entries of a request have come.
    fn deliver(&mut self) {
        let Some(((arrival_ns, index), request)) = self.deliveries.pop_first() else {
            return;
        };
        let listed = self.source.trace_blocks(&request);
        let request = Request {
            arrival_ns,
            // Their blocks are the decode server's own.
            cached_prompt_tokens: 0,
            ..request
        };
        self.decode.push(index, request, listed);
    }

    /// A decode server is done with a request.
    fn decoded(&mut self, departure: &Departure) {
        let Some(prefilled) = self.prefilled.remove(&departure.index) else {
            return;
        };
        let delivered_ns = departure.record.request.arrival_ns;
        let request = Request {
            arrival_ns: prefilled.arrival_ns,
            cached_prompt_tokens: prefilled.cached_prompt_tokens,
            ..departure.record.request
        };
        let decode = match departure.record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(reason) => {
                return self.reject(departure.index, request, reason, departure.at_ns);
            }
        };
        let kv_transfer = KvTransfer {
            prefill_replica: prefilled.replica,
            prefilled_ns: prefilled.prefilled_ns,
            delivered_ns,
            scheduled_ns: decode.scheduled_ns,
        };
        let timing = Timing {
            at_engine_ns: prefilled.at_engine_ns,
            scheduled_ns: prefilled.scheduled_ns,
            preemptions: prefilled.preemptions + decode.preemptions,
            kv_transfer: Some(kv_transfer),
            ..decode
        };
        let queue_ns = kv_transfer.scheduled_ns.saturating_sub(delivered_ns);
        self.served.stages.decode_queue_ns += u128::from(queue_ns);
        let outcome = Outcome::Completed(timing);
        let record = RequestRecord { request, outcome };
        self.served.served(&record);
        self.observer.finished(departure.index, &record);
        self.source
            .finished(departure.index, &request, departure.at_ns);
    }

    fn reject(&mut self, index: usize, request: Request, reason: Rejection, now_ns: u64) {
        self.served.rejected += 1;
        let outcome = Outcome::Rejected(reason);
        self.observer
            .finished(index, &RequestRecord { request, outcome });
        self.source.finished(index, &request, now_ns);
    }

    /// What was counted: steps of both pools, requests once.
    pub(super) fn into_totals(self) -> Totals {
        let (prefill, decode) = (self.prefill.totals(), self.decode.totals());
        let stages = Stages {
            prefill: PoolUse::of(&prefill),
            decode: PoolUse::of(&decode),
            ..self.served.stages
        };
        let requests = Totals {
            stages,
            ..self.served
        };
        prefill.plus(decode).without_requests().plus(requests)
    }
}
