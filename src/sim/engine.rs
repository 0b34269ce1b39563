//! The clock and the loop.

use core::mem;

use crate::sim::interrupted::Interrupted;
use crate::sim::metrics::Totals;
use crate::sim::observer::{Observer, OnProgress, StepRecord};
use crate::sim::plan::Plan;
use crate::sim::report::Recorder;
use crate::sim::scheduler::Scheduler;
use crate::sim::sequence::Sequence;
use crate::sim::source::{Listed, Source};
use crate::sim::{
    Outcome, Rejection, Request, RequestRecord, Scheduling, SimConfig, SimError, SimReport,
};
use crate::step::{DecodeGroup, LatencyModel};
use crate::units::Seconds;

/// A server with a latency model; the [module](crate::sim) has an example.
///
/// Cost: a step O(1) whatever the batch; a request O(log n). Steps that preempt walk over the running
/// requests. A step allocates nothing once the buffers have grown to their largest size.
#[derive(Debug, Clone)]
pub struct Simulator<M> {
    model: M,
    config: SimConfig,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Simulated time in nanoseconds.
    pub now_ns: u64,
    /// Steps so far.
    pub steps: u64,
    /// Requests of the run, if the source knows.
    pub total: Option<u64>,
    /// Requests served so far.
    pub completed: u64,
    /// Requests rejected so far.
    pub rejected: u64,
    /// Requests in the queue.
    pub waiting: u64,
    /// Requests that hold a sequence slot.
    pub running: u64,
    /// KV blocks held.
    pub kv_blocks_used: u32,
}

impl<M: LatencyModel> Simulator<M> {
    /// A server that takes `model`'s time for each step.
    ///
    /// # Errors
    ///
    /// [`SimError::ZeroLimit`] and [`SimError::BudgetBelowSequences`] if no step could run under
    /// these limits.
    pub fn try_new(model: M, config: SimConfig) -> Result<Simulator<M>, SimError> {
        config.validate()?;
        Ok(Simulator { model, config })
    }

    /// The limits of the server.
    pub fn config(&self) -> &SimConfig {
        &self.config
    }

    /// Serves `requests`, in any order, from an empty server until all are done.
    ///
    /// Requests that arrive at the same nanosecond queue in the order in which they are given.
    pub fn run(&self, requests: &[Request]) -> SimReport {
        self.run_observed(requests, |_| {})
    }

    /// As [`run`](Simulator::run), and calls `observe` now and then and once at the end.
    pub fn run_observed(&self, requests: &[Request], observe: impl FnMut(Progress)) -> SimReport {
        self.run_with(requests, &mut OnProgress(observe))
    }

    /// As [`run`](Simulator::run), while `observer` looks on.
    pub fn run_with<O: Observer>(&self, requests: &[Request], observer: &mut O) -> SimReport {
        let mut recorder = Recorder::new(requests);
        let mut source = Listed::new(requests);
        let totals = self.serve(&mut source, &mut (&mut recorder, observer));
        recorder.into_report(&totals)
    }

    /// Serves what comes from `source`, from an empty server until all are done, while `observer` looks
    /// on. Memory grows with the requests that wait and run, not with those that have left.
    pub fn serve<S: Source, O: Observer>(&self, source: &mut S, observer: &mut O) -> Totals {
        let mut run = Run::new(&self.config, source, observer);
        while run.step(&self.model) {
            run.report_progress();
        }
        run.report_progress();
        run.into_totals()
    }
}

/// One run.
///
/// The order at the end of a step: its results, then arrivals up to that nanosecond, then the
/// schedule.
struct Run<'a, S, O> {
    config: &'a SimConfig,
    source: &'a mut S,
    observer: &'a mut O,
    now_ns: u64,
    scheduler: Scheduler,
    totals: Totals,
    interrupted: Interrupted,
    /// The step under way.
    current: Plan,
    /// The step after it, if it is fixed.
    next: Plan,
}

impl<'a, S: Source, O: Observer> Run<'a, S, O> {
    fn new(config: &'a SimConfig, source: &'a mut S, observer: &'a mut O) -> Run<'a, S, O> {
        Run {
            config,
            source,
            observer,
            now_ns: 0,
            scheduler: Scheduler::new(*config),
            totals: Totals::default(),
            interrupted: Interrupted::default(),
            current: Plan::new(),
            next: Plan::new(),
        }
    }

    /// Runs one step, after a leap to the next arrival if there is nothing to do until then, and the
    /// steps after it in which nothing happens; says whether there was one.
    fn step(&mut self, model: &impl LatencyModel) -> bool {
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
        self.only_decodes(model);
        true
    }

    /// Lets the current step pass and writes its results down.
    fn execute(&mut self, model: &impl LatencyModel) {
        let start_ns = self.now_ns;
        let duration_ns = self.pass(model.total_time(&self.current.batch()));
        self.count(&self.current.record(start_ns, duration_ns));
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
    fn only_decodes(&mut self, model: &impl LatencyModel) {
        let mut planned = match self.config.scheduling {
            Scheduling::Synchronous => None,
            Scheduling::OneStepAhead => match self.next.only_decodes() {
                None => return,
                planned => planned,
            },
        };
        // An arrival is no disturbance where nobody can be admitted.
        let disturbed_ns = match self.scheduler.has_room() {
            true => self.next_arrival_ns().unwrap_or(u64::MAX),
            false => u64::MAX,
        };
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
            match self.config.check(&request) {
                Ok(()) => {
                    let block_size = self.config.block_size;
                    let sequence = Sequence::new(place, &request, at_engine_ns, block_size);
                    self.scheduler.enqueue(sequence);
                }
                Err(reason) => self.reject(place, request, reason),
            }
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

    fn report_progress(&mut self) {
        let progress = Progress {
            now_ns: self.now_ns,
            steps: self.totals.steps,
            total: self.source.total(),
            completed: self.totals.completed,
            rejected: self.totals.rejected,
            waiting: self.scheduler.waiting() as u64,
            running: self.scheduler.running() as u64,
            kv_blocks_used: self.scheduler.kv().used(),
        };
        self.observer.progress(&progress);
    }

    fn into_totals(self) -> Totals {
        let kv = self.scheduler.kv();
        debug_assert_eq!(kv.used(), 0, "KV blocks were lost");
        Totals {
            kv_blocks: kv.blocks(),
            peak_kv_blocks: kv.peak_used(),
            ..self.totals
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Binding, Part, StepBatch, StepTime};
    use crate::table::Provenance;
    use crate::units::Seconds;

    /// Every step takes the same time.
    #[derive(Debug)]
    struct Constant(Seconds);

    impl LatencyModel for Constant {
        fn step_time(&self, _: &StepBatch<'_>) -> StepTime {
            let mut time = StepTime::ZERO;
            time.add(Part::Qkv, self.0, Binding::Latency, Provenance::Bound);
            time
        }
    }

    fn last_finish(step: Seconds, request: Request) -> u64 {
        let simulator = Simulator::try_new(Constant(step), SimConfig::new(100, 10)).unwrap();
        simulator.run(&[request]).records[0]
            .timing()
            .unwrap()
            .finish_ns
    }

    #[test]
    fn a_step_takes_at_least_a_nanosecond_and_time_saturates() {
        let request = |arrival_ns| Request {
            arrival_ns,
            prompt_tokens: 4,
            output_tokens: 3,
            cached_prompt_tokens: 0,
            ..Request::default()
        };
        assert_eq!(last_finish(Seconds::ZERO, request(7)), 10);
        assert_eq!(last_finish(Seconds(f64::NAN), request(7)), 10);
        assert_eq!(last_finish(Seconds(1e-6), request(7)), 3_007);
        assert_eq!(last_finish(Seconds(1e300), request(7)), u64::MAX);
    }

    #[test]
    fn no_requests_take_no_step() {
        let simulator =
            Simulator::try_new(Constant(Seconds(1.0)), SimConfig::new(100, 10)).unwrap();
        let mut calls = 0;
        let report = simulator.run_observed(&[], |progress| {
            assert_eq!((progress.steps, progress.now_ns), (0, 0));
            calls += 1;
        });
        assert_eq!(calls, 1);
        assert!(report.records.is_empty());
        assert_eq!(report.summary.ttft, None);
        assert_eq!(report.summary.makespan, Seconds::ZERO);
    }

    #[test]
    fn limits_are_checked_when_the_simulator_is_made() {
        let config = SimConfig::new(100, 0);
        let error = Simulator::try_new(Constant(Seconds::ZERO), config).unwrap_err();
        assert_eq!(error, SimError::ZeroLimit { limit: "kv_blocks" });
    }
}
