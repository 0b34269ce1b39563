//! Steps of a server: begin, end, and runs of equal decode steps.

use core::{mem, slice};

use super::Server;
use crate::engine::Scheduling;
use crate::sim::StepTimeError;
use crate::sim::clock::end_of_step;
use crate::sim::observer::{Observer, StepRecord};
use crate::step::{DecodeGroup, LatencyModel, StepBatch};
use crate::units::Seconds;

/// A step that has begun and not ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    start_ns: u64,
    pub(super) end_ns: u64,
}

/// The work of a data-parallel rank in a step.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::sim) enum RankStep {
    /// A dummy batch.
    #[default]
    Idle,
    /// A token for each running request and nothing else.
    Decodes(DecodeGroup),
    /// The current plan.
    Planned,
}

impl<M: LatencyModel> Server<M> {
    /// Runs all steps that begin before `to_ns`, and leaves the last one in flight if it ends later. The clock stays
    /// at the last step boundary.
    ///
    /// # Errors
    /// A step that the clock cannot hold; each later call returns it again.
    pub(super) fn run_to<O: Observer + ?Sized>(&mut self, to_ns: u64, observer: &mut O) -> Result<(), StepTimeError> {
        loop {
            if let Some(step) = self.in_flight {
                if step.end_ns > to_ns {
                    return Ok(());
                }
                self.end_step(observer);
                self.run_decodes(to_ns, to_ns, observer)?;
                continue;
            }
            // At the end of time nothing can begin later.
            let is_due = |begins_ns: &u64| *begins_ns < to_ns || to_ns == u64::MAX;
            let Some(begins_ns) = self.begins_ns().filter(is_due) else {
                return Ok(());
            };
            self.now_ns = begins_ns;
            self.begin_step()?;
        }
    }

    /// Returns the earliest time at which the next step begins if none is in flight; `None` if the server is idle.
    pub(in crate::sim) fn begins_ns(&self) -> Option<u64> {
        if self.has_work() {
            return Some(self.now_ns.max(self.wakes_ns));
        }
        Some(self.inbox.next_ns()?.max(self.now_ns))
    }

    /// Returns the time until which decode steps may follow each other without a look into the inbox: until a request is
    /// cancelled, a client gives up, or the next arrival. It matters only if it can be admitted, rejected or abandoned, or if the steps are
    /// observed: they count waiting requests.
    fn horizon_ns(&self, observed: bool) -> u64 {
        if !self.cancelled.is_empty() {
            return 0;
        }
        let matters =
            self.has_room() || self.config.max_waiting.is_some() || self.config.patience_ns.is_some() || observed;
        let next_ns = self.inbox.next_ns().filter(|_| matters);
        next_ns.into_iter().chain(self.gives_up_ns()).min().unwrap_or(u64::MAX)
    }

    /// Runs the step that is due next to its end, and the sleep after it.
    pub(in crate::sim) fn run_step<O: Observer + ?Sized>(&mut self, observer: &mut O) -> Result<(), StepTimeError> {
        if let Some(begins_ns) = self.begins_ns() {
            self.now_ns = begins_ns;
            self.begin_step()?;
            self.end_step(observer);
            self.now_ns = self.now_ns.max(self.wakes_ns);
        }
        Ok(())
    }

    /// Runs one step to its end, after the next arrival if there is no work, and fills the buffers of its outcome.
    pub(super) fn run_detailed_step(&mut self) -> Result<Option<StepRecord>, StepTimeError> {
        if !self.begin_next_step()? {
            return Ok(None);
        }
        self.fill_buffers();
        let mut last = LastStep(StepRecord::default());
        self.end_step(&mut last);
        Ok(Some(last.0))
    }

    /// Begins the next step unless one is in flight. Returns false if the server is idle.
    fn begin_next_step(&mut self) -> Result<bool, StepTimeError> {
        while self.in_flight.is_none() {
            let Some(begins_ns) = self.begins_ns() else {
                return Ok(false);
            };
            self.now_ns = begins_ns;
            self.begin_step()?;
        }
        Ok(true)
    }

    /// Fixes the work of a data-parallel rank in the step that is due now.
    pub(in crate::sim) fn begin_rank_step(&mut self) -> RankStep {
        // The router counts what is waiting: arrivals are taken although none can be admitted.
        let is_due = |gives_up_ns: u64| gives_up_ns <= self.now_ns;
        if !self.inbox.is_due(self.now_ns)
            && !self.gives_up_ns().is_some_and(is_due)
            && let Some(decode) = self.plan_decodes()
        {
            return RankStep::Decodes(decode);
        }
        if self.plan_step() { RankStep::Planned } else { RankStep::Idle }
    }

    /// Returns the requests that decode in the next step if nothing else happens in it and, with steps fixed ahead, in
    /// the one after it.
    fn plan_decodes(&mut self) -> Option<DecodeGroup> {
        if self.config.rules.scheduling != Scheduling::OneStepAhead {
            return self.scheduler.plan_decodes();
        }
        let fixed = self.next.only_decodes()?;
        let planned = self.scheduler.plan_decodes()?;
        let number = self.scheduler.scheduled_steps();
        self.next.set_decodes(number, planned);
        Some(fixed)
    }

    /// Returns the batch of a data-parallel rank in a step; an idle one has none.
    pub(in crate::sim) fn batch_of<'s>(&'s self, step: &'s RankStep) -> StepBatch<'s> {
        match step {
            RankStep::Idle => StepBatch::default(),
            RankStep::Decodes(decode) => StepBatch { prefill: &[], decode: slice::from_ref(decode) },
            RankStep::Planned => self.current.batch(),
        }
    }

    /// Begins the step that is due now, or several of a pipeline; no step may be in flight but those of a pipeline.
    fn begin_step(&mut self) -> Result<(), StepTimeError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.config.is_pipelined() {
            return self.begin_batches();
        }
        if self.plan_step() {
            let batch = self.current.batch();
            let time = self.model.total_time(&batch);
            self.in_flight = Some(match end_of_step(self.now_ns, time) {
                Some(end_ns) => self.step_until(end_ns),
                None => return Err(fail(&mut self.failed, self.now_ns, batch, time)),
            });
        }
        Ok(())
    }

    /// Ends the step of a data-parallel rank at `end_ns`.
    pub(in crate::sim) fn end_rank_step<O: Observer + ?Sized>(
        &mut self,
        step: RankStep,
        end_ns: u64,
        observer: &mut O,
    ) {
        match step {
            RankStep::Idle => self.now_ns = end_ns,
            RankStep::Decodes(decode) => self.end_decodes(decode, end_ns, observer),
            RankStep::Planned => {
                self.in_flight = Some(self.step_until(end_ns));
                self.end_step(observer);
            }
        }
    }

    /// Plans the step that is due now as the current one; returns false if none begins.
    ///
    /// None begins if there is nothing to compute. Then at least one request has left the inbox or the queue, or was
    /// preempted, so that loops over this method come to an end.
    fn plan_step(&mut self) -> bool {
        self.take_arrivals();
        if !self.has_work() {
            return false;
        }
        if self.next.is_empty() && !self.plan_batch() {
            self.skip_step();
            return false;
        }
        mem::swap(&mut self.current, &mut self.next);
        self.next.clear();
        true
    }

    /// Schedules the next step now; returns whether it has work.
    pub(super) fn plan_batch(&mut self) -> bool {
        let mut preempted_before = mem::take(&mut self.next.preempted_before);
        preempted_before.append(&mut self.next.preempted);
        self.plan_next(self.now_ns);
        self.next.preempted_before = preempted_before;
        self.record_interrupted();
        !self.next.is_empty()
    }

    /// Moves on from a next step without work.
    pub(super) fn skip_step(&mut self) {
        if self.next.preempted.is_empty() { self.reject_first_waiting() } else { self.sleep() }
    }

    /// Returns a step that begins now and ends at `end_ns`.
    #[inline]
    pub(super) fn step_until(&self, end_ns: u64) -> InFlight {
        InFlight { start_ns: self.now_ns, end_ns }
    }

    /// Ends the step in flight and applies its results.
    fn end_step<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        let Some(InFlight { start_ns, end_ns }) = self.in_flight.take() else {
            return;
        };
        // The next step was scheduled when this one began: without its results, and without later arrivals.
        if self.config.rules.scheduling == Scheduling::OneStepAhead && self.next.is_empty() {
            self.plan_next(start_ns);
        }
        self.now_ns = end_ns;
        self.report_step(start_ns, observer);
        self.report_first_tokens();
        self.report_resumed(observer);
        if self.config.is_pipelined() {
            self.end_batch();
        }
        self.record_interrupted();
        self.retire_finished();
        if self.config.is_pipelined() {
            self.sleep_after_batch();
        }
        if self.config.rules.scheduling == Scheduling::OneStepAhead && self.next.is_empty() {
            self.sleep();
        }
    }

    /// Delays the next step after a schedule without work, unless all requests have finished.
    pub(super) fn sleep(&mut self) {
        if self.has_requests() {
            let sleep_ns = self.config.rules.empty_schedule_sleep_ns;
            self.wakes_ns = self.now_ns.saturating_add(sleep_ns);
        }
    }

    /// Counts the current step, which began at `start_ns` and ends now.
    fn report_step<O: Observer + ?Sized>(&mut self, start_ns: u64, observer: &mut O) {
        let record = self.current.record(start_ns, self.now_ns - start_ns);
        self.totals.drafts(&record);
        if self.config.is_pipelined() {
            self.count(&self.pipeline.apart(&record))
        } else {
            self.count(&record)
        }
        if observer.wants_steps() {
            observer.step_batch(&self.current.batch());
            observer.step(&self.with_state(&record));
        }
    }

    /// Runs the steps that begin before `horizon_ns` and before the engine sees a request that matters, in which the same
    /// requests take a token each and nothing else happens. A step that ends after `limit_ns` stays in flight.
    pub(in crate::sim) fn run_decodes<O: Observer + ?Sized>(
        &mut self,
        horizon_ns: u64,
        limit_ns: u64,
        observer: &mut O,
    ) -> Result<(), StepTimeError> {
        // With steps fixed ahead, `fixed` is the work of the next step, and what is planned comes after it.
        let ahead = self.config.rules.scheduling == Scheduling::OneStepAhead;
        let mut fixed = None;
        if ahead {
            fixed = self.next.only_decodes();
            if fixed.is_none() {
                return Ok(());
            }
        }
        let horizon_ns = horizon_ns.min(self.horizon_ns(observer.wants_steps()));
        while self.now_ns < horizon_ns
            && let Some(planned) = self.scheduler.plan_decodes()
        {
            let decode = if ahead { fixed.replace(planned).unwrap_or(planned) } else { planned };
            let time = self.model.decode_time(decode);
            let Some(end_ns) = end_of_step(self.now_ns, time) else {
                let batch = StepBatch { prefill: &[], decode: slice::from_ref(&decode) };
                return Err(fail(&mut self.failed, self.now_ns, batch, time));
            };
            if end_ns > limit_ns {
                let number = self.scheduler.scheduled_steps() - u64::from(ahead);
                self.current.set_decodes(number, decode);
                self.in_flight = Some(self.step_until(end_ns));
                self.take_arrivals();
                break;
            }
            self.end_decodes(decode, end_ns, observer);
        }
        if let Some(decode) = fixed {
            let number = self.scheduler.scheduled_steps();
            self.next.set_decodes(number, decode);
        }
        Ok(())
    }

    /// Ends a step in which the same requests took a token each and nothing else happened.
    #[inline]
    fn end_decodes<O: Observer + ?Sized>(&mut self, decode: DecodeGroup, end_ns: u64, observer: &mut O) {
        let record = StepRecord {
            start_ns: self.now_ns,
            duration_ns: end_ns - self.now_ns,
            decode_requests: decode.requests,
            kv_tokens: decode.kv_tokens,
            ..StepRecord::default()
        };
        self.now_ns = end_ns;
        self.count(&record);
        if observer.wants_steps() {
            self.report_decodes(&record, decode, observer);
        }
    }

    fn report_decodes<O: Observer + ?Sized>(&self, record: &StepRecord, decode: DecodeGroup, observer: &mut O) {
        observer.step_batch(&StepBatch { prefill: &[], decode: slice::from_ref(&decode) });
        observer.step(&self.with_state(record));
    }
}

impl<M> Server<M> {
    /// Returns whether requests are waiting or running, or a step is fixed or in flight whose requests have all finished
    /// with the drafts of the step before or were abandoned.
    pub(in crate::sim) fn has_work(&self) -> bool {
        self.has_requests() || !self.next.is_empty() || self.pipeline.is_busy()
    }

    /// Returns whether requests are waiting or running.
    pub(super) fn has_requests(&self) -> bool {
        self.scheduler.running() > 0 || self.scheduler.waiting() > 0
    }

    /// Returns whether a sequence slot is free.
    pub(in crate::sim) fn has_room(&self) -> bool {
        self.scheduler.has_room()
    }

    /// Moves the clock of a server without work forward.
    pub(in crate::sim) fn wait_until(&mut self, ns: u64) {
        self.now_ns = self.now_ns.max(ns);
    }

    /// Schedules the next step, at `now_ns`.
    fn plan_next(&mut self, now_ns: u64) {
        self.scheduler.plan(&mut self.next, now_ns);
        self.totals.preemptions += self.next.preempted.len() as u64;
    }
}

/// Keeps the error of a step, after which a server runs no other, and returns it.
#[cold]
pub(super) fn fail(
    failed: &mut Option<StepTimeError>,
    start_ns: u64,
    batch: StepBatch<'_>,
    time: Seconds,
) -> StepTimeError {
    *failed.insert(StepTimeError::new(start_ns, [batch], time))
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
