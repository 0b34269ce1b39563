//! How a server runs its steps.

use core::{mem, slice};

use super::{RequestId, Server, ServerEvent};
use crate::engine::Scheduling;
use crate::sim::config::Role;
use crate::sim::load::arrived::Arrived;
use crate::sim::observer::{Observer, StepRecord};
use crate::sim::{Outcome, Progress, Rejection, RequestRecord};
use crate::step::{DecodeGroup, LatencyModel, StepBatch};

/// A step that has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    start_ns: u64,
    pub(super) end_ns: u64,
}

impl<M: LatencyModel> Server<M> {
    /// Runs all steps that begin before `to_ns`, and leaves the last one in flight if it ends later. The clock stays
    /// at the last step boundary.
    pub(super) fn run_to<O: Observer + ?Sized>(&mut self, to_ns: u64, observer: &mut O) {
        loop {
            match self.in_flight {
                Some(step) if step.end_ns > to_ns => break,
                Some(_) => {
                    self.end_step(observer);
                    self.run_decodes(self.disturbed_ns().min(to_ns), to_ns, observer);
                    continue;
                }
                None => {}
            }
            // At the end of time nothing can begin later.
            let due = |begins_ns: &u64| *begins_ns < to_ns || to_ns == u64::MAX;
            let Some(begins_ns) = self.begins_ns().filter(due) else {
                break;
            };
            self.now_ns = begins_ns;
            if !self.begin_step() && self.has_work() {
                debug_assert!(false, "requests wait and none can be scheduled");
                break;
            }
        }
    }

    /// When the next step begins at the earliest if none is in flight; `None` where nothing is left to do.
    pub(in crate::sim) fn begins_ns(&self) -> Option<u64> {
        if self.has_work() {
            return Some(self.now_ns);
        }
        Some(self.inbox.next_ns()?.max(self.now_ns))
    }

    /// Until when steps that only decode may follow each other without a look at the inbox: an arrival matters
    /// where it may be admitted, or rejected.
    fn disturbed_ns(&self) -> u64 {
        let matters = self.has_room() || self.config.max_waiting.is_some();
        self.inbox.next_ns().filter(|_| matters).unwrap_or(u64::MAX)
    }

    /// Runs one step to its end, after a leap to the next arrival if there is nothing to do until then. Returns
    /// whether there was one.
    pub(in crate::sim) fn run_step<O: Observer + ?Sized>(&mut self, observer: &mut O) -> bool {
        let found = self.find_step();
        if found {
            self.end_step(observer);
        }
        found
    }

    /// As [`run_step`](Server::run_step), and fills the buffers of its outcome.
    pub(super) fn run_detailed_step(&mut self) -> Option<StepRecord> {
        if !self.find_step() {
            return None;
        }
        self.fill_buffers();
        let mut last = LastStep(StepRecord::default());
        self.end_step(&mut last);
        Some(last.0)
    }

    /// Begins the next step unless one is in flight; returns whether there is one.
    fn find_step(&mut self) -> bool {
        while self.in_flight.is_none() {
            let Some(begins_ns) = self.begins_ns() else {
                return false;
            };
            self.now_ns = begins_ns;
            if !self.begin_step() && self.has_work() {
                debug_assert!(false, "requests wait and none can be scheduled");
                return false;
            }
        }
        true
    }

    /// Begins the step that is due now; returns whether there is one. No step may be in flight.
    pub(in crate::sim) fn begin_step(&mut self) -> bool {
        self.take_arrivals();
        if !self.has_work() {
            return false;
        }
        if self.next.is_empty() {
            let preempted_before = mem::take(&mut self.next.preempted);
            self.plan_next(self.now_ns);
            self.next.preempted_before = preempted_before;
            self.note_interrupted();
        }
        if self.next.is_empty() {
            return false;
        }
        mem::swap(&mut self.current, &mut self.next);
        self.next.clear();
        let time = self.model.total_time(&self.current.batch());
        self.in_flight = Some(self.lasting(time.to_nanos()));
        true
    }

    /// A step of so many nanoseconds that begins now.
    #[inline]
    fn lasting(&self, duration_ns: u64) -> InFlight {
        InFlight {
            start_ns: self.now_ns,
            end_ns: self.now_ns.saturating_add(duration_ns.max(1)),
        }
    }

    /// Ends the step in flight, with its results.
    pub(in crate::sim) fn end_step<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        let Some(InFlight { start_ns, end_ns }) = self.in_flight.take() else {
            return;
        };
        // Its successor was scheduled when it began: without its results, and without later arrivals.
        if self.config.scheduling == Scheduling::OneStepAhead && self.next.is_empty() {
            self.plan_next(start_ns);
        }
        self.now_ns = end_ns;
        let record = self.current.record(start_ns, end_ns - start_ns);
        self.totals.drafts(&record);
        self.count(&record);
        if observer.wants_steps() {
            observer.step_batch(&self.current.batch());
            observer.step(&self.completed(&record));
        }
        self.scheduler.first_tokens(&self.current, end_ns);
        for &(index, _) in &self.current.first_tokens {
            let (id, at_ns) = (RequestId(index), end_ns);
            self.events.push(ServerEvent::FirstToken { id, at_ns });
        }
        for &index in &self.current.resumed {
            if let Some(gap_ns) = self.interrupted.remove(index, end_ns) {
                observer.resumed(index, gap_ns);
            }
        }
        self.note_interrupted();
        for &(index, admitted) in &self.current.finished {
            if let Some(record) = self.scheduler.retire(admitted, end_ns, self.replica) {
                self.totals.served(&record);
                self.queued_tokens -= record.request.tokens();
                let (id, at_ns) = (RequestId(index), end_ns);
                self.events.push(ServerEvent::Left { id, at_ns, record });
            }
        }
    }

    /// Runs the steps that begin before `horizon_ns` in which the same requests take a token each and nothing else
    /// happens. One that ends after `limit_ns` stays in flight.
    pub(in crate::sim) fn run_decodes<O: Observer + ?Sized>(
        &mut self,
        horizon_ns: u64,
        limit_ns: u64,
        observer: &mut O,
    ) {
        let ahead = self.config.scheduling == Scheduling::OneStepAhead;
        // The step that is fixed already, where steps are fixed ahead.
        let mut fixed = None;
        if ahead {
            fixed = self.next.only_decodes();
            if fixed.is_none() {
                return;
            }
        }
        let wants_steps = observer.wants_steps();
        while self.now_ns < horizon_ns
            && let Some(last) = self.scheduler.plan_decodes()
        {
            let decode = match ahead {
                true => fixed.replace(last).unwrap_or(last),
                false => last,
            };
            let step = self.lasting(self.model.decode_time(decode).to_nanos());
            if step.end_ns > limit_ns {
                let number = self.scheduler.scheduled_steps() - u64::from(ahead);
                self.current.set_decodes(number, decode);
                self.in_flight = Some(step);
                break;
            }
            let record = StepRecord {
                start_ns: self.now_ns,
                duration_ns: step.end_ns - self.now_ns,
                decode_requests: decode.requests,
                kv_tokens: decode.kv_tokens,
                ..StepRecord::default()
            };
            self.now_ns = step.end_ns;
            self.count(&record);
            if wants_steps {
                self.show_decodes(&record, decode, observer);
            }
        }
        if let Some(decode) = fixed {
            let number = self.scheduler.scheduled_steps();
            self.next.set_decodes(number, decode);
        }
    }

    fn show_decodes<O: Observer + ?Sized>(
        &self,
        record: &StepRecord,
        decode: DecodeGroup,
        observer: &mut O,
    ) {
        observer.step_batch(&StepBatch {
            prefill: &[],
            decode: slice::from_ref(&decode),
        });
        observer.step(&self.completed(record));
    }
}

impl<M> Server<M> {
    /// Lets the engine see a request at the present; rejects it if it can never be served, or the queue is full.
    #[inline]
    pub(in crate::sim) fn receive(&mut self, mut arrived: Arrived) -> Result<(), Rejection> {
        arrived.with_kv = self.config.role == Role::Decode;
        let checked = match self.config.role {
            Role::Whole => self.config.check(&arrived.request),
            // It was checked before its prompt was computed.
            Role::Decode => Ok(()),
        };
        if let Err(reason) = checked.and_then(|()| self.check_queue()) {
            self.totals.rejected += 1;
            return Err(reason);
        }
        self.queued_tokens += arrived.request.tokens();
        self.scheduler.enqueue(arrived);
        Ok(())
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

    /// Lets the engine see what has arrived by now.
    fn take_arrivals(&mut self) {
        while let Some(arrived) = self.inbox.take(self.now_ns) {
            let Arrived { index, request, .. } = arrived;
            if let Err(reason) = self.receive(arrived) {
                let outcome = Outcome::Rejected(reason);
                self.events.push(ServerEvent::Left {
                    id: RequestId(index),
                    at_ns: self.now_ns,
                    record: RequestRecord { request, outcome },
                });
            }
        }
    }

    /// Whether requests wait or run.
    pub(in crate::sim) fn has_work(&self) -> bool {
        self.scheduler.running() > 0 || self.scheduler.waiting() > 0
    }

    /// Whether a sequence slot is free.
    pub(in crate::sim) fn has_room(&self) -> bool {
        self.scheduler.has_room()
    }

    /// Moves the clock of a server without work forward.
    pub(in crate::sim) fn wait_until(&mut self, ns: u64) {
        self.now_ns = self.now_ns.max(ns);
    }

    /// Fixes the next step with what is known at `now_ns`.
    fn plan_next(&mut self, now_ns: u64) {
        self.scheduler.plan(&mut self.next, now_ns);
        self.totals.preemptions += self.next.preempted.len() as u64;
    }

    /// The requests that the next step interrupts had their last token now, at the end of the step before it.
    fn note_interrupted(&mut self) {
        let indices = self.next.interrupted.drain(..);
        self.interrupted.add(indices, self.now_ns);
    }

    #[inline]
    fn count(&mut self, step: &StepRecord) {
        let blocks = self.scheduler.kv().used();
        let running = self.scheduler.running() as u32;
        self.totals.step(step, running, blocks);
    }

    /// The record of a step with the state of the server at its end.
    fn completed(&self, step: &StepRecord) -> StepRecord {
        StepRecord {
            replica: self.replica,
            running: self.scheduler.running() as u32,
            waiting: self.scheduler.waiting() as u32,
            kv_blocks_used: self.scheduler.kv().used(),
            ..*step
        }
    }

    /// Writes down which requests the step in flight yields tokens of, and which were preempted for it. The
    /// schedule of the step after it may come only then.
    fn fill_buffers(&mut self) {
        let plan = &self.current;
        let tokens = &mut self.buffers.tokens;
        tokens.clear();
        let id = |index: &usize| RequestId(*index);
        let from_chunks = || {
            let first = plan.first_tokens.iter().map(|(index, _)| index);
            first.chain(&plan.resumed)
        };
        tokens.extend(from_chunks().map(|index| (id(index), 1)));
        tokens.extend(
            plan.verified
                .iter()
                .map(|(index, yielded)| (id(index), *yielded)),
        );
        if self.config.speculation.is_none() {
            let decoding = self.scheduler.decoding_in(plan.number());
            tokens.extend(decoding.map(|index| (RequestId(index), 1)));
            // The last token of a request comes from its decode, or from the only chunk that yields one.
            let finished = plan.finished.iter().map(|(index, _)| index);
            let decoded = finished.filter(|index| from_chunks().all(|other| other != *index));
            tokens.extend(decoded.map(|index| (id(index), 1)));
        }
        self.buffers.preempted.clear();
        let preempted = plan.preempted_before.iter().chain(&plan.preempted);
        self.buffers.preempted.extend(preempted.map(id));
    }

    /// Calls `report` with the place, the record and the time of each request that has left since the last call,
    /// and drops the events.
    #[inline]
    pub(in crate::sim) fn report_departures(
        &mut self,
        mut report: impl FnMut(usize, &RequestRecord, u64),
    ) {
        for event in &self.events {
            if let ServerEvent::Left { id, at_ns, record } = event {
                report(id.0, record, *at_ns);
            }
        }
        self.events.clear();
    }

    /// Requests that have left so far.
    pub(in crate::sim) fn finished(&self) -> u64 {
        self.totals.completed + self.totals.rejected
    }

    /// The state of a run of this server.
    pub(in crate::sim) fn progress(&self, total: Option<u64>) -> Progress {
        Progress {
            now_ns: self.now_ns,
            steps: self.totals.steps,
            total,
            completed: self.totals.completed,
            rejected: self.totals.rejected,
            waiting: self.scheduler.waiting() as u64,
            running: self.scheduler.running() as u64,
            kv_blocks_used: self.scheduler.kv().used(),
        }
    }
}

/// Keeps the last step.
struct LastStep(StepRecord);

impl Observer for LastStep {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.0 = *step;
    }
}
