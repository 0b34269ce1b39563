//! The event loop of separate prefill and decode servers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::disaggregated::{Disaggregated, ServerPool};
use super::kv_link::LinkQueue;
use super::pool::{FinishedRequest, Pool};
use crate::sim::figures::{PoolUse, Stages, Totals};
use crate::sim::load::source::{Source, tell_source};
use crate::sim::observer::Observer;
use crate::sim::{KvTransfer, Outcome, Progress, Rejection, Request, RequestRecord, StepTimeError, Timing};
use crate::step::LatencyModel;

/// A run of separate prefill and decode servers.
#[derive(Debug)]
pub(super) struct TwoStages<'r, M, S: ?Sized, O: ?Sized> {
    servers: &'r Disaggregated<M>,
    prefill: Pool<'r, M>,
    decode: Pool<'r, M>,
    /// The link of each prefill server.
    links: Vec<LinkQueue>,
    /// Output tokens of the requests at the prefill servers, which compute one token of each; by index.
    outputs: BTreeMap<usize, u32>,
    /// Requests whose KV entries are in transfer, by time of delivery and index.
    transfers: BTreeMap<(u64, usize), Request>,
    /// Prefill results of the requests in transfer and at the decode servers, by index.
    prefilled: BTreeMap<usize, Prefilled>,
    /// Counts of requests and transfers.
    counts: Totals,
    source: &'r mut S,
    observer: &'r mut O,
}

/// The prefill result of a request: what its decode server does not know. The rest is not kept twice, as under
/// overload most requests may be waiting there.
#[derive(Debug)]
struct Prefilled {
    arrival_ns: u64,
    at_engine_ns: u64,
    scheduled_ns: u64,
    prefilled_ns: u64,
    cached_prompt_tokens: u32,
    cached_tokens: u32,
    preemptions: u32,
    replica: u32,
}

/// The kinds of events. At the same time, arrivals come before deliveries, and both before steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request arrives.
    Arrival,
    /// The KV entries of a request are delivered.
    Delivery,
    /// A prefill server runs a step.
    PrefillStep(usize),
    /// A decode server runs a step.
    DecodeStep(usize),
}

impl<'r, M, S, O> TwoStages<'r, M, S, O>
where
    M: LatencyModel,
    S: Source + ?Sized,
    O: Observer + ?Sized,
{
    /// Creates a run with idle servers.
    pub(super) fn new(servers: &'r Disaggregated<M>, source: &'r mut S, observer: &'r mut O) -> TwoStages<'r, M, S, O> {
        let feeds_back = source.feeds_back();
        let pool = |of: &'r ServerPool<M>, first| Pool::new(of, servers.router, first, feeds_back);
        let replicas = servers.prefill.replicas;
        TwoStages {
            servers,
            prefill: pool(&servers.prefill, 0),
            decode: pool(&servers.decode, replicas),
            links: (0..replicas).map(|_| LinkQueue::new(servers.link)).collect(),
            outputs: BTreeMap::new(),
            transfers: BTreeMap::new(),
            prefilled: BTreeMap::new(),
            counts: Totals::default(),
            source,
            observer,
        }
    }

    /// Processes the next event; returns false if there is none.
    pub(super) fn advance(&mut self) -> Result<bool, StepTimeError> {
        let Some((now_ns, event)) = self.next_event() else {
            return Ok(false);
        };
        match event {
            Event::Arrival => self.arrive(now_ns),
            Event::Delivery => self.deliver(),
            Event::PrefillStep(replica) => self.step_prefill(replica)?,
            Event::DecodeStep(replica) => self.step_decode(replica)?,
        }
        Ok(true)
    }

    /// Reports the progress of both pools together.
    pub(super) fn report_progress(&mut self) {
        let total = self.source.total();
        let prefill = self.prefill.progress(total);
        let both = prefill.plus(self.decode.progress(total));
        let next = self.next_event();
        self.observer.progress(&Progress {
            now_ns: next.map_or(both.now_ns, |(ns, _)| ns),
            completed: self.counts.completed,
            rejected: self.counts.rejected,
            ..both
        });
    }

    /// Returns whether the run is to go on.
    pub(super) fn wants_more(&self) -> bool {
        self.observer.wants_more()
    }

    /// Returns the counts of the run: the steps of both pools, and each request once.
    pub(super) fn into_totals(self) -> Totals {
        let (prefill, decode) = (self.prefill.totals(), self.decode.totals());
        let stages = Stages { prefill: PoolUse::of(&prefill), decode: PoolUse::of(&decode), ..self.counts.stages };
        let requests = Totals { stages, ..self.counts };
        prefill.plus(decode).without_requests().plus(requests)
    }

    /// Returns the next event and its time.
    fn next_event(&mut self) -> Option<(u64, Event)> {
        let decode = self.decode.next_step(None).map(|(ns, replica)| (ns, Event::DecodeStep(replica)));
        let others = self.next_event_before_decode();
        others.into_iter().chain(decode).min()
    }

    /// Returns the next event other than the steps of decode servers.
    fn next_event_before_decode(&mut self) -> Option<(u64, Event)> {
        let api_server_ns = self.servers.prefill.config.api_server_ns;
        let arrival = self.source.next_arrival_ns();
        let delivery = self.transfers.keys().next();
        let prefill = self.prefill.next_step(None);
        let events = [
            arrival.map(|ns| (ns.saturating_add(api_server_ns), Event::Arrival)),
            delivery.map(|&(ns, _)| (ns, Event::Delivery)),
            prefill.map(|(ns, replica)| (ns, Event::PrefillStep(replica))),
        ];
        events.into_iter().flatten().min()
    }

    /// Returns the time until which a decode server is not affected by other events.
    fn decode_horizon_ns(&mut self, replica: usize) -> u64 {
        // Other decode servers matter only if their answers trigger new requests.
        let feeds_back = self.source.feeds_back();
        let other = feeds_back.then(|| self.decode.next_step(Some(replica))).flatten();
        let other_ns = other.map_or(u64::MAX, |(ns, _)| ns);
        let next = self.next_event_before_decode();
        next.map_or(other_ns, |(ns, _)| ns.min(other_ns))
    }

    /// Sends the next request to a prefill server.
    fn arrive(&mut self, now_ns: u64) {
        let Some((index, request)) = self.source.take() else {
            return;
        };
        let config = &self.servers.decode.config;
        if let Err(reason) = config.check(&request) {
            return self.reject(index, request, reason, now_ns);
        }
        let output_tokens = config.served_output(&request);
        self.counts.truncated += u64::from(output_tokens < request.output_tokens);
        let prompt = Request { output_tokens: 1, ..request };
        let trace_ids = self.source.trace_blocks(&request);
        self.prefill.push(index, prompt, trace_ids);
        self.outputs.insert(index, output_tokens);
    }

    fn step_prefill(&mut self, replica: usize) -> Result<(), StepTimeError> {
        // Each step ends with a prompt, so that there are no decode steps to limit.
        self.prefill.step(replica, u64::MAX, self.observer)?;
        let mut finished: Vec<FinishedRequest> = self.prefill.drain_finished().collect();
        // The link sends one request at a time, in an order that does not depend on the scheduling policy.
        finished.sort_unstable_by_key(|request| (request.at_ns, request.index));
        for request in &finished {
            self.send(request);
        }
        Ok(())
    }

    /// Sends the KV entries of a request that a prefill server has finished over the link.
    fn send(&mut self, finished: &FinishedRequest) {
        let index = finished.index;
        let (Some(output_tokens), Some(link)) = (self.outputs.remove(&index), self.links.get_mut(finished.replica))
        else {
            return;
        };
        let request = Request { output_tokens, ..finished.record.request };
        let timing = match finished.record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(reason) => {
                return self.reject(index, request, reason, finished.at_ns);
            }
        };
        let (occupied_ns, delivered_ns) = link.send(timing.finish_ns, request.prompt_tokens);
        let stages = &mut self.counts.stages;
        stages.transfers += 1;
        stages.link_ns += u128::from(occupied_ns);
        stages.transfer_ns += u128::from(delivered_ns - timing.finish_ns);
        self.transfers.insert((delivered_ns, index), request);
        let prefilled = Prefilled {
            arrival_ns: request.arrival_ns,
            at_engine_ns: timing.at_engine_ns,
            scheduled_ns: timing.scheduled_ns,
            prefilled_ns: timing.finish_ns,
            cached_prompt_tokens: request.cached_prompt_tokens,
            cached_tokens: timing.cached_tokens,
            preemptions: timing.preemptions,
            replica: timing.replica,
        };
        self.prefilled.insert(index, prefilled);
    }

    /// Sends the request whose KV entries are delivered next to a decode server.
    fn deliver(&mut self) {
        let Some(((arrival_ns, index), request)) = self.transfers.pop_first() else {
            return;
        };
        let trace_ids = self.source.trace_blocks(&request);
        let request = Request {
            arrival_ns,
            // The prefix hit was on the prefill server.
            cached_prompt_tokens: 0,
            ..request
        };
        self.decode.push(index, request, trace_ids);
    }

    fn step_decode(&mut self, replica: usize) -> Result<(), StepTimeError> {
        let horizon_ns = self.decode_horizon_ns(replica);
        self.decode.step(replica, horizon_ns, self.observer)?;
        let finished: Vec<FinishedRequest> = self.decode.drain_finished().collect();
        for request in &finished {
            self.complete(request);
        }
        Ok(())
    }

    /// Reports a request that a decode server has finished.
    fn complete(&mut self, finished: &FinishedRequest) {
        let Some(prefilled) = self.prefilled.remove(&finished.index) else {
            return;
        };
        let request = Request {
            arrival_ns: prefilled.arrival_ns,
            cached_prompt_tokens: prefilled.cached_prompt_tokens,
            ..finished.record.request
        };
        let decode = match finished.record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(reason) => {
                return self.reject(finished.index, request, reason, finished.at_ns);
            }
        };
        let delivered_ns = finished.record.request.arrival_ns;
        let queue_ns = decode.scheduled_ns.saturating_sub(delivered_ns);
        self.counts.stages.decode_queue_ns += u128::from(queue_ns);
        let timing = prefilled.timing(decode, delivered_ns);
        let record = RequestRecord::new(request, Outcome::Completed(timing));
        self.counts.served(&record);
        self.report(finished.index, &record, finished.at_ns);
    }

    fn reject(&mut self, index: usize, request: Request, reason: Rejection, now_ns: u64) {
        self.counts.rejected(reason);
        let record = RequestRecord::new(request, Outcome::Rejected(reason));
        self.report(index, &record, now_ns);
    }

    fn report(&mut self, index: usize, record: &RequestRecord, finish_ns: u64) {
        self.observer.finished(index, record);
        tell_source(self.source, index, record, finish_ns);
    }
}

impl Prefilled {
    /// Returns the times of the whole request, given those on the decode server.
    fn timing(self, decode: Timing, delivered_ns: u64) -> Timing {
        Timing {
            at_engine_ns: self.at_engine_ns,
            scheduled_ns: self.scheduled_ns,
            preemptions: self.preemptions + decode.preemptions,
            cached_tokens: self.cached_tokens,
            kv_transfer: Some(KvTransfer {
                prefill_replica: self.replica,
                prefilled_ns: self.prefilled_ns,
                delivered_ns,
                scheduled_ns: decode.scheduled_ns,
            }),
            ..decode
        }
    }
}
