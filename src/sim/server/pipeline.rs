//! Batches in flight in the stages of a pipeline.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use super::Server;
use super::steps::{InFlight, fail};
use crate::sim::StepTimeError;
use crate::sim::clock::after;
use crate::sim::observer::StepRecord;
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::sequence::Sequence;
use crate::step::LatencyModel;

/// The batches of a server with several pipeline stages that have been scheduled and have not ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipeline {
    /// In the order in which they were scheduled; `None` for one without work, which ends with the one before it.
    batches: VecDeque<Option<(Plan, InFlight)>>,
    /// Plans whose batches have ended.
    spare: Vec<Plan>,
    /// When each stage has computed the batches that are scheduled.
    stages_free_ns: Vec<u64>,
    /// End of the last batch that has ended.
    ended_ns: u64,
    /// Whether the engine found nothing to schedule before it waited for the batch that ends next.
    found_no_work: bool,
}

impl Pipeline {
    /// Returns whether a batch with work is in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.batches.iter().any(Option::is_some)
    }

    /// Drops the results of a cancelled request.
    pub(super) fn drop_results(&mut self, cancelled: &Sequence) {
        for (plan, _) in self.batches.iter_mut().flatten() {
            plan.drop_results(cancelled);
        }
    }

    /// Returns the record with the part of its duration in which no step before it was in flight, so that durations
    /// add up to the time in which there was a step.
    pub(super) fn apart(&self, step: &StepRecord) -> StepRecord {
        let before_ns = self.ended_ns.saturating_sub(step.start_ns);
        StepRecord { duration_ns: step.duration_ns.saturating_sub(before_ns), ..*step }
    }
}

impl<M: LatencyModel> Server<M> {
    /// Schedules batches until one is in flight for each stage or nothing is left to schedule; the first one is then
    /// the step in flight.
    ///
    /// A batch without work takes a place, too, and the engine sleeps after it has waited for the first one.
    ///
    /// Source: `step_with_batch_queue` in `vllm/v1/engine/core.py`. From 0.24 on, vLLM schedules again a millisecond after
    /// a batch without work, before it waits.
    ///
    /// # Errors
    /// A batch that the clock cannot hold.
    pub(super) fn begin_batches(&mut self) -> Result<(), StepTimeError> {
        let stages = self.config.pipeline_parallel_size as usize;
        loop {
            self.take_arrivals();
            let mut is_scheduled = false;
            if self.has_requests() {
                is_scheduled = self.plan_batch();
                if !is_scheduled && self.pipeline.batches.is_empty() {
                    self.skip_step();
                    return Ok(());
                }
                let batch = is_scheduled.then(|| self.enter_stages()).transpose()?;
                self.pipeline.batches.push_back(batch);
                if is_scheduled && self.pipeline.batches.len() < stages {
                    continue;
                }
            }
            match self.pipeline.batches.pop_front() {
                None => return Ok(()),
                Some(Some((mut plan, mut in_flight))) => {
                    mem::swap(&mut *self.current, &mut plan);
                    self.pipeline.spare.push(plan);
                    self.pipeline.found_no_work = !is_scheduled;
                    // It may have ended while the engine slept.
                    in_flight.end_ns = in_flight.end_ns.max(self.now_ns);
                    self.in_flight = Some(in_flight);
                    return Ok(());
                }
                Some(None) if is_scheduled || !self.has_requests() => {}
                Some(None) => {
                    self.sleep();
                    return Ok(());
                }
            }
        }
    }

    /// Moves the next plan into the stages: it enters each when the one before has computed it and it is free.
    fn enter_stages(&mut self) -> Result<(Plan, InFlight), StepTimeError> {
        let mut plan = self.pipeline.spare.pop().unwrap_or_else(Plan::new);
        mem::swap(&mut plan, &mut *self.next);
        self.next.clear();
        let free_ns = &mut self.pipeline.stages_free_ns;
        let (mut at_ns, mut stage) = (self.now_ns, 0);
        let mut beyond = None;
        self.model.pipeline_times(&plan.batch(), &mut |time| {
            if free_ns.len() == stage {
                free_ns.push(0);
            }
            if let Some(free_ns) = free_ns.get_mut(stage) {
                match after(at_ns.max(*free_ns), time) {
                    Some(end_ns) => at_ns = end_ns,
                    None => beyond = beyond.or(Some(time)),
                }
                *free_ns = at_ns;
            }
            stage += 1;
        });
        if let Some(time) = beyond {
            return Err(fail(&mut self.failed, self.now_ns, plan.batch(), time));
        }
        let in_flight = self.step_until(at_ns.max(self.now_ns.saturating_add(1)));
        Ok((plan, in_flight))
    }

    /// Makes the tokens of the current batch known, which has ended now, and starts the gaps to the next ones.
    pub(super) fn end_batch(&mut self) {
        self.scheduler.end_step(self.current.number());
        self.pipeline.ended_ns = self.now_ns;
        let step = &self.current;
        let first = step.first_tokens.iter().map(|(index, _)| *index);
        let others = step.resumed.iter().chain(&step.late).copied();
        self.interrupted.add(first.chain(others), self.now_ns);
        for &(index, _) in &step.finished {
            self.interrupted.remove(index, self.now_ns);
        }
    }

    /// Sleeps if nothing was scheduled before the batch ended; after the last request no batches are left.
    pub(super) fn sleep_after_batch(&mut self) {
        if !self.has_work() {
            self.pipeline.batches.clear();
        } else if self.pipeline.found_no_work {
            self.sleep();
        }
    }
}
