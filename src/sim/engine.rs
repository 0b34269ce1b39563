//! The clock and the loop.

use alloc::vec::Vec;
use core::mem;

use crate::sim::plan::Plan;
use crate::sim::report::Recorder;
use crate::sim::scheduler::Scheduler;
use crate::sim::sequence::Sequence;
use crate::sim::{Request, Scheduling, SimConfig, SimError, SimReport};
use crate::step::LatencyModel;
use crate::units::Seconds;

/// A server with a latency model; the [module](crate::sim) has an example.
///
/// Cost: each step walks over the running requests, each run sorts the requests by arrival. A step
/// allocates nothing once the buffers have grown to their largest size.
#[derive(Debug, Clone)]
pub struct Simulator<M> {
    model: M,
    config: SimConfig,
}

/// The state of a run at the end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Simulated time in nanoseconds.
    pub now_ns: u64,
    /// Steps so far.
    pub steps: u64,
    /// Requests of the run.
    pub total: u64,
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
    pub fn run_observed(
        &self,
        requests: &[Request],
        mut observe: impl FnMut(Progress),
    ) -> SimReport {
        let mut run = Run::new(&self.config, requests);
        while run.step(&self.model) {
            observe(run.progress());
        }
        observe(run.progress());
        run.into_report()
    }
}

/// One run.
///
/// The order at the end of a step: its results, then arrivals up to that nanosecond, then the
/// schedule.
struct Run<'a> {
    config: &'a SimConfig,
    requests: &'a [Request],
    /// Arrivals at the engine and places in `requests`, ascending.
    order: Vec<(u64, usize)>,
    /// How many of `order` have arrived.
    arrived: usize,
    now_ns: u64,
    scheduler: Scheduler,
    recorder: Recorder,
    /// The step under way.
    current: Plan,
    /// The step after it, if it is fixed.
    next: Plan,
}

impl<'a> Run<'a> {
    fn new(config: &'a SimConfig, requests: &'a [Request]) -> Run<'a> {
        let mut order: Vec<(u64, usize)> = requests
            .iter()
            .enumerate()
            .map(|(index, request)| {
                let at_engine = request.arrival_ns.saturating_add(config.api_server_ns);
                (at_engine, index)
            })
            .collect();
        order.sort_unstable();
        Run {
            config,
            requests,
            order,
            arrived: 0,
            now_ns: 0,
            scheduler: Scheduler::new(*config),
            recorder: Recorder::new(requests),
            current: Plan::new(),
            next: Plan::new(),
        }
    }

    /// Runs one step, after a leap to the next arrival if there is nothing to do until then; says
    /// whether there was one.
    fn step(&mut self, model: &impl LatencyModel) -> bool {
        self.take_arrivals();
        while self.next.is_empty() {
            self.plan_next();
            if self.next.is_empty() {
                let Some(&(arrival_ns, _)) = self.order.get(self.arrived) else {
                    return false;
                };
                self.now_ns = arrival_ns;
                self.take_arrivals();
            }
        }
        mem::swap(&mut self.current, &mut self.next);
        match self.config.scheduling {
            Scheduling::Synchronous => self.next.clear(),
            Scheduling::OneStepAhead => self.plan_next(),
        }

        let duration_ns = self.pass(model.total_time(&self.current.batch()));
        let blocks = self.scheduler.kv().used();
        self.recorder
            .executed(&self.current, duration_ns, self.now_ns, blocks);
        self.scheduler.retire(&self.current);
        self.only_decodes(model);
        true
    }

    /// Lets the time of a step pass; answers it in nanoseconds.
    #[inline]
    fn pass(&mut self, time: Seconds) -> u64 {
        let duration_ns = time.to_nanos().max(1);
        self.now_ns = self.now_ns.saturating_add(duration_ns);
        duration_ns
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
        while !self.is_disturbed()
            && let Some(next) = self.scheduler.plan_decodes()
        {
            let current = match planned {
                None => next,
                Some(current) => {
                    planned = Some(next);
                    current
                }
            };
            let duration_ns = self.pass(model.decode_time(current));
            let blocks = self.scheduler.kv().used();
            self.recorder.decoded(duration_ns, blocks);
        }
        if let Some(decode) = planned {
            self.next
                .set_decodes(self.scheduler.scheduled_steps(), decode);
        }
    }

    /// Whether somebody has arrived who might be admitted.
    #[inline]
    fn is_disturbed(&self) -> bool {
        let next = self.order.get(self.arrived);
        next.is_some_and(|&(arrival_ns, _)| arrival_ns <= self.now_ns) && self.scheduler.has_room()
    }

    /// Queues what has arrived by now, or rejects it.
    fn take_arrivals(&mut self) {
        while let Some(&(arrival_ns, index)) = self.order.get(self.arrived)
            && arrival_ns <= self.now_ns
        {
            self.arrived += 1;
            let Some(request) = self.requests.get(index) else {
                continue;
            };
            match self.config.check(request) {
                Ok(()) => {
                    self.recorder.seen(index, arrival_ns);
                    let sequence = Sequence::new(index, request, self.config.block_size);
                    self.scheduler.enqueue(sequence);
                }
                Err(reason) => self.recorder.rejected(index, reason),
            }
        }
    }

    /// Fixes the step after the current one, with what is known now.
    fn plan_next(&mut self) {
        self.scheduler.plan(&mut self.next);
        self.recorder.scheduled(&self.next, self.now_ns);
    }

    fn progress(&self) -> Progress {
        let counters = &self.recorder.counters;
        Progress {
            now_ns: self.now_ns,
            steps: counters.steps,
            total: self.requests.len() as u64,
            completed: counters.completed,
            rejected: counters.rejected,
            waiting: self.scheduler.waiting() as u64,
            running: self.scheduler.running() as u64,
            kv_blocks_used: self.scheduler.kv().used(),
        }
    }

    fn into_report(self) -> SimReport {
        let kv = self.scheduler.kv();
        debug_assert_eq!(kv.used(), 0, "KV blocks were lost");
        self.recorder.into_report(kv)
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
