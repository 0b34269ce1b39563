//! The event loop of separate prefill and decode servers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use core::slice;

use super::disaggregated::Disaggregated;
use super::kv_link::{LinkQueue, Transfer};
use super::losses::Losses;
use super::outage::Outage;
use super::pool::{FinishedRequest, Pool};
use super::prefilled::Prefilled;
use super::server_pool::ServerPool;
use crate::sim::figures::{PoolUse, Stages, Totals};
use crate::sim::load::source::{Source, tell_source};
use crate::sim::observer::Observer;
use crate::sim::{Outcome, Progress, Rejection, Request, RequestRecord, StepTimeError};
use crate::step::LatencyModel;

/// A run of separate prefill and decode servers.
#[derive(Debug)]
pub(super) struct TwoStages<'r, M, S: ?Sized, O: ?Sized> {
    servers: &'r Disaggregated<M>,
    prefill: Pool<'r, M>,
    decode: Pool<'r, M>,
    /// The link of each rank of the prefill servers.
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

/// The kinds of events. At the same time, servers are lost and back before deliveries, and both come before steps.
///
/// Requests that arrive before a server is lost or back are sent before; others do not arrive as long as a change is to
/// come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request arrives.
    Arrival,
    /// A prefill server is lost or back.
    PrefillChange,
    /// A decode server is lost or back.
    DecodeChange,
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
        let has_outages = !servers.outages.is_empty();
        let pool = |of: &'r ServerPool<M>, first_server: u32, first_rank| {
            let own = servers.outages.iter().filter_map(move |outage| {
                let server = outage.server.checked_sub(first_server).filter(|server| *server < of.replicas)?;
                Some(Outage { server, ..*outage })
            });
            let losses = has_outages.then(|| Losses::new(own, of.replicas));
            Pool::new(slice::from_ref(of), servers.router, first_rank, feeds_back).with_losses(losses)
        };
        let ranks = servers.prefill.all_ranks();
        TwoStages {
            servers,
            prefill: pool(&servers.prefill, 0, 0),
            decode: pool(&servers.decode, servers.prefill.replicas, ranks),
            links: (0..ranks).map(|_| LinkQueue::new(servers.link)).collect(),
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
            Event::Arrival => self.arrive(),
            Event::PrefillChange => self.change_prefill(now_ns),
            Event::DecodeChange => self.change_decode(now_ns),
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
        let next = self.next_event_before_decode().into_iter().chain(decode).min();
        // A change matters only to requests that are to come or have not finished.
        let is_change = matches!(next, Some((_, Event::PrefillChange | Event::DecodeChange)));
        next.filter(|_| !is_change || self.is_unfinished())
    }

    fn is_unfinished(&mut self) -> bool {
        let runs = self.prefill.next_step(None).is_some() || self.decode.next_step(None).is_some();
        runs || !self.transfers.is_empty() || self.prefill.has_waiting() || self.source.next_arrival_ns().is_some()
    }

    /// Returns the next event other than the steps of decode servers.
    fn next_event_before_decode(&mut self) -> Option<(u64, Event)> {
        let changes = [self.prefill.next_change_ns(), self.decode.next_change_ns()];
        let change_ns = changes.into_iter().flatten().min();
        let arrival = self.source.next_arrival_ns();
        let arrival = arrival.filter(|ns| change_ns.is_none_or(|change_ns| *ns < change_ns));
        let delivery = self.transfers.keys().next();
        let prefill = self.prefill.next_step(None);
        let [prefill_change, decode_change] = changes;
        let events = [
            arrival.map(|ns| (self.prefill.at_engine_ns(ns).min(change_ns.unwrap_or(u64::MAX)), Event::Arrival)),
            prefill_change.map(|ns| (ns, Event::PrefillChange)),
            decode_change.map(|ns| (ns, Event::DecodeChange)),
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
    fn arrive(&mut self) {
        let Some((index, request)) = self.source.take() else {
            return;
        };
        let config = &self.servers.decode.config;
        if let Err(reason) = config.check(&request) {
            return self.reject(index, request, reason, self.prefill.at_engine_ns(request.arrival_ns));
        }
        let output_tokens = config.served_output(&request);
        self.counts.truncated += u64::from(output_tokens < request.output_tokens);
        self.start(index, Request { output_tokens, ..request }, request.arrival_ns);
    }

    /// Sends a request to a prefill server at `at_ns`, when it arrives or starts again.
    fn start(&mut self, index: usize, request: Request, at_ns: u64) {
        let prompt = Request { output_tokens: 1, ..request };
        let trace_ids = self.source.trace_blocks(&request);
        self.prefill.push(index, prompt, at_ns, trace_ids);
        self.outputs.insert(index, request.output_tokens);
    }

    /// Lets prefill servers be lost and back. Requests whose KV entries are not delivered start again.
    fn change_prefill(&mut self, now_ns: u64) {
        let mut lost = self.prefill.change(now_ns);
        for ranks in lost.ranks {
            for rank in ranks.clone() {
                if let Some(link) = self.links.get_mut(rank as usize) {
                    *link = LinkQueue::new(self.servers.link);
                }
            }
            self.stop_transfers(&ranks, &mut lost.requests);
        }
        lost.requests.sort_unstable_by_key(|(index, _)| *index);
        self.counts.restarted += lost.requests.len() as u64;
        for (index, request) in self.prefill.take_waiting().into_iter().chain(lost.requests) {
            let output_tokens = self.outputs.get(&index).copied().unwrap_or(request.output_tokens);
            self.start(index, Request { output_tokens, ..request }, now_ns);
        }
    }

    /// Moves the requests in transfer from lost ranks to `requests`, and takes their transfers back.
    fn stop_transfers(&mut self, ranks: &Range<u32>, requests: &mut Vec<(usize, Request)>) {
        let (prefilled, links, stages) = (&mut self.prefilled, self.servers.link, &mut self.counts.stages);
        self.transfers.retain(|&(delivered_ns, index), request| {
            let Some(sent) = prefilled.get(&index).filter(|sent| ranks.contains(&sent.replica)) else {
                return true;
            };
            stages.transfers -= 1;
            stages.link_ns -= u128::from(links.occupied_ns(request.prompt_tokens));
            stages.transfer_ns -= u128::from(delivered_ns - sent.prefilled_ns);
            prefilled.remove(&index);
            self.outputs.insert(index, request.output_tokens);
            requests.push((index, *request));
            false
        });
    }

    /// Lets decode servers be lost and back. Their requests start again.
    fn change_decode(&mut self, now_ns: u64) {
        for (index, request) in self.decode.change(now_ns).requests {
            if let Some(prefilled) = self.prefilled.remove(&index) {
                self.counts.restarted += 1;
                self.start(index, prefilled.request(request), now_ns);
            }
        }
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
        let Some(output_tokens) = self.outputs.remove(&index) else {
            return;
        };
        let request = Request { output_tokens, ..finished.record.request };
        let timing = match finished.record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(reason) => {
                return self.reject(index, request, reason, finished.at_ns);
            }
        };
        let Some(link) = self.links.get_mut(timing.replica as usize) else {
            return;
        };
        let Transfer { occupied_ns, delivered_ns } = link.send(timing.finish_ns, request.prompt_tokens);
        let stages = &mut self.counts.stages;
        stages.transfers += 1;
        stages.link_ns += u128::from(occupied_ns);
        stages.transfer_ns += u128::from(delivered_ns - timing.finish_ns);
        self.transfers.insert((delivered_ns, index), request);
        self.prefilled.insert(index, Prefilled::of(&request, &timing));
    }

    /// Sends the request whose KV entries are delivered next to a decode server.
    fn deliver(&mut self) {
        let Some(((arrival_ns, index), request)) = self.transfers.pop_first() else {
            return;
        };
        if let Some(back_ns) = self.decode.all_lost_until_ns() {
            self.counts.stages.transfer_ns += u128::from(back_ns - arrival_ns);
            self.transfers.insert((back_ns, index), request);
            return;
        }
        let trace_ids = self.source.trace_blocks(&request);
        let request = Request {
            arrival_ns,
            // The prefix hit was on the prefill server.
            cached_prompt_tokens: 0,
            ..request
        };
        self.decode.push(index, request, arrival_ns, trace_ids);
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
        let record = prefilled.record(&finished.record);
        if let Some(transfer) = record.timing().and_then(|timing| timing.kv_transfer) {
            let queue_ns = transfer.scheduled_ns.saturating_sub(transfer.delivered_ns);
            self.counts.stages.decode_queue_ns += u128::from(queue_ns);
        }
        match record.outcome {
            Outcome::Completed(_) => self.counts.served(&record),
            Outcome::Rejected(reason) => self.counts.rejected(reason),
        }
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
