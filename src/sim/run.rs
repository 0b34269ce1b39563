//! One server in the course of time.

use core::mem;

use crate::sim::Totals;
use crate::sim::config::Role;
use crate::sim::interrupted::Interrupted;
use crate::sim::observer::{Observer, StepRecord};
use crate::sim::plan::Plan;
use crate::sim::scheduler::Scheduler;
use crate::sim::sequence::Sequence;
use crate::sim::source::Source;
use crate::sim::{Outcome, Progress, Rejection, Request, RequestRecord, Scheduling, SimConfig};
use crate::step::{DecodeGroup, LatencyModel};
use crate::units::Seconds;

/// One run.
///
/// The order at the end of a step: its results, then arrivals up to that nanosecond, then the
/// schedule.
#[derive(Debug)]
pub(super) struct Run<S, O> {
    config: SimConfig,
    pub(super) source: S,
    pub(super) observer: O,
    now_ns: u64,
    scheduler: Scheduler,
    totals: Totals,
    interrupted: Interrupted,
    /// The step under way.
    current: Plan,
    /// The step after it, if it is fixed.
    next: Plan,
}

impl<S: Source, O: Observer> Run<S, O> {
    /// A server with nothing to do, whose limits are sound.
    pub(super) fn new(config: SimConfig, source: S, observer: O) -> Run<S, O> {
        Run {
            config,
            source,
            observer,
            now_ns: 0,
            scheduler: Scheduler::new(config),
            totals: Totals::default(),
            interrupted: Interrupted::default(),
            current: Plan::new(),
            next: Plan::new(),
        }
    }

    /// Runs one step, after a leap to the next arrival if there is nothing to do until then, and the
    /// steps after it in which nothing happens and that begin before `horizon_ns`: all arrivals
    /// before that are known. Says whether there was one.
    pub(super) fn step(&mut self, model: &impl LatencyModel, horizon_ns: u64) -> bool {
        let left = self.left();
        self.take_arrivals();
        while self.next.is_empty() {
            self.plan_next();
            self.note_interrupted();
            if self.next.is_empty() {
                let Some(arrival_ns) = self.next_arrival_ns() else {
                    return false;
                };
                self.now_ns = self.now_ns.max(arrival_ns);
                self.take_arrivals();
            }
        }
        mem::swap(&mut self.current, &mut self.next);
        match self.config.scheduling {
            Scheduling::Synchronous => self.next.clear(),
            Scheduling::OneStepAhead => self.plan_next(),
        }
        self.execute(model);
        // Who has an answer may ask again, and whoever sends requests on has yet to hear of it.
        if self.left() == left || !self.source.feeds_back() {
            self.only_decodes(model, horizon_ns);
        }
        true
    }

    /// How many requests have been served or rejected.
    fn left(&self) -> u64 {
        self.totals.completed + self.totals.rejected
    }

    /// Lets the current step pass and writes its results down.
    fn execute(&mut self, model: &impl LatencyModel) {
        let start_ns = self.now_ns;
        let duration_ns = self.pass(model.total_time(&self.current.batch()));
        let record = self.current.record(start_ns, duration_ns);
        self.totals.drafts(&record);
        self.count(&record);
        self.scheduler.first_tokens(&self.current, self.now_ns);
        self.resume();
        self.note_interrupted();
        for &(place, admitted) in &self.current.finished {
            if let Some(record) = self.scheduler.retire(admitted, self.now_ns) {
                self.totals.served(&record);
                self.observer.left(place, &record);
                self.source.left(place, &record.request, self.now_ns);
            }
        }
    }

    /// Tells of those who were interrupted and had a token in the current step.
    fn resume(&mut self) {
        for &place in &self.current.resumed {
            if let Some(gap_ns) = self.interrupted.remove(place, self.now_ns) {
                self.observer.resumed(place, gap_ns);
            }
        }
    }

    /// Those that the next step interrupts had their last token now, at the end of the step before it.
    fn note_interrupted(&mut self) {
        let places = self.next.interrupted.drain(..);
        self.interrupted.add(places, self.now_ns);
    }

    /// Lets the time of a step pass; answers it in nanoseconds.
    #[inline]
    fn pass(&mut self, time: Seconds) -> u64 {
        let duration_ns = time.to_nanos().max(1);
        self.now_ns = self.now_ns.saturating_add(duration_ns);
        duration_ns
    }

    /// Counts a step, and tells who looks at each.
    #[inline]
    fn count(&mut self, step: &StepRecord) {
        let blocks = self.scheduler.kv().used();
        let running = self.scheduler.running() as u32;
        self.totals.step(step, running, blocks);
        if O::EACH_STEP {
            self.observer.step(&StepRecord {
                running,
                waiting: self.scheduler.waiting() as u32,
                kv_blocks_used: blocks,
                ..*step
            });
        }
    }

    /// Takes the steps in which nothing happens but that the same requests take a token each.
    fn only_decodes(&mut self, model: &impl LatencyModel, horizon_ns: u64) {
        let mut planned = match self.config.scheduling {
            Scheduling::Synchronous => None,
            Scheduling::OneStepAhead => match self.next.only_decodes() {
                None => return,
                planned => planned,
            },
        };
        // An arrival is no disturbance where nobody can be admitted, and nobody waits for a rejection.
        let disturbed_ns = match self.scheduler.has_room() || self.source.feeds_back() {
            true => self.next_arrival_ns().unwrap_or(u64::MAX),
            false => u64::MAX,
        };
        let disturbed_ns = disturbed_ns.min(horizon_ns);
        while self.now_ns < disturbed_ns
            && let Some(next) = self.scheduler.plan_decodes()
        {
            let current = planned.replace(next).unwrap_or(next);
            if self.config.scheduling == Scheduling::Synchronous {
                planned = None;
            }
            self.decode(model, current);
        }
        if let Some(decode) = planned {
            let number = self.scheduler.scheduled_steps();
            self.next.set_decodes(number, decode);
        }
    }

    #[inline]
    fn decode(&mut self, model: &impl LatencyModel, decode: DecodeGroup) {
        let start_ns = self.now_ns;
        let duration_ns = self.pass(model.decode_time(decode));
        self.count(&StepRecord {
            start_ns,
            duration_ns,
            decode_requests: decode.requests,
            kv_tokens: decode.kv_tokens,
            ..StepRecord::default()
        });
    }

    /// When the engine sees the next request.
    fn next_arrival_ns(&mut self) -> Option<u64> {
        let arrival_ns = self.source.next_arrival_ns()?;
        Some(arrival_ns.saturating_add(self.config.api_server_ns))
    }

    /// Queues what has arrived by now, or rejects it.
    fn take_arrivals(&mut self) {
        while let Some(at_engine_ns) = self.next_arrival_ns()
            && at_engine_ns <= self.now_ns
            && let Some((place, request)) = self.source.take()
        {
            match self.check(&request) {
                Ok(()) => {
                    let block_size = self.config.block_size;
                    let listed = self.source.listed(&request);
                    let sequence = Sequence::new(place, &request, listed, at_engine_ns, block_size);
                    self.scheduler.enqueue(match self.config.role {
                        Role::Whole => sequence,
                        Role::Decode => sequence.with_kv(),
                    });
                }
                Err(reason) => self.reject(place, request, reason),
            }
        }
    }

    /// Whether a request can be served, and may wait. One that comes with its KV entries has been checked
    /// before its prompt was computed.
    fn check(&self, request: &Request) -> Result<(), Rejection> {
        match self.config.role {
            Role::Whole => self.config.check(request)?,
            Role::Decode => {}
        }
        self.check_queue()
    }

    /// Whether one more request may wait.
    fn check_queue(&self) -> Result<(), Rejection> {
        match self.config.max_waiting {
            Some(max_waiting) if self.scheduler.waiting() >= max_waiting as usize => {
                Err(Rejection::QueueFull { max_waiting })
            }
            _ => Ok(()),
        }
    }

    fn reject(&mut self, place: usize, request: Request, reason: Rejection) {
        self.totals.rejected += 1;
        let outcome = Outcome::Rejected(reason);
        self.observer
            .left(place, &RequestRecord { request, outcome });
        self.source.left(place, &request, self.now_ns);
    }

    /// Fixes the step after the current one, with what is known now.
    fn plan_next(&mut self) {
        self.scheduler.plan(&mut self.next, self.now_ns);
        self.totals.preemptions += self.next.preempted as u64;
    }

    /// When its next step begins at the earliest.
    pub(super) fn begins_ns(&mut self) -> u64 {
        let busy =
            !self.next.is_empty() || self.scheduler.running() > 0 || self.scheduler.waiting() > 0;
        match self.next_arrival_ns().filter(|_| !busy) {
            Some(arrival_ns) => self.now_ns.max(arrival_ns),
            None => self.now_ns,
        }
    }

    /// Whether there is anything to do, now or later.
    pub(super) fn is_idle(&mut self) -> bool {
        let empty = self.next.is_empty() && self.source.next_arrival_ns().is_none();
        empty && self.scheduler.running() == 0 && self.scheduler.waiting() == 0
    }

    /// Tells the observer where the run is.
    pub(super) fn report_progress(&mut self) {
        let progress = self.progress();
        self.observer.progress(&progress);
    }

    /// Where the run is.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            now_ns: self.now_ns,
            steps: self.totals.steps,
            total: self.source.total(),
            completed: self.totals.completed,
            rejected: self.totals.rejected,
            waiting: self.scheduler.waiting() as u64,
            running: self.scheduler.running() as u64,
            kv_blocks_used: self.scheduler.kv().used(),
        }
    }

    /// What was counted; the run is over.
    pub(super) fn into_totals(self) -> Totals {
        let kv = self.scheduler.kv();
        debug_assert_eq!(kv.used(), 0, "KV blocks were lost");
        let cache = kv.counts();
        Totals {
            replicas: 1,
            cache_lookups: cache.lookups,
            cache_hits: cache.hits,
            cache_evictions: cache.evictions,
            kv_blocks: kv.blocks(),
            peak_kv_blocks: kv.peak_used(),
            ..self.totals
        }
    }
}
