//! A simulated server, for its users.

use crate::sim::Totals;
use crate::sim::observer::{Observer, OnProgress};
use crate::sim::report::reported;
use crate::sim::run::Run;
use crate::sim::source::{Listed, Source};
use crate::sim::{Request, SimConfig, SimError, SimReport};
use crate::step::LatencyModel;

/// A server with a latency model; the [module](crate::sim) has an example.
///
/// Cost: a step O(1) whatever the batch; a request O(log n). Steps that preempt walk over the running
/// requests, and with speculative decoding all steps do. A step allocates nothing once the buffers have grown to their largest size.
#[derive(Debug, Clone)]
pub struct Simulator<M> {
    model: M,
    config: SimConfig,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Simulated time in nanoseconds; of several replicas that to which all have come.
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

impl Progress {
    /// This and that of another replica; at the later of the two times, of as many requests as this one.
    pub(super) fn plus(self, other: Progress) -> Progress {
        Progress {
            now_ns: self.now_ns.max(other.now_ns),
            steps: self.steps + other.steps,
            total: self.total,
            completed: self.completed + other.completed,
            rejected: self.rejected + other.rejected,
            waiting: self.waiting + other.waiting,
            running: self.running + other.running,
            kv_blocks_used: self.kv_blocks_used.saturating_add(other.kv_blocks_used),
        }
    }
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
        self.run_source(&mut Listed::new(requests), &mut OnProgress(observe))
    }

    /// Serves what comes from `source`, while `observer` looks on, and keeps what became of each request,
    /// in the order of their places.
    pub fn run_source<S: Source, O: Observer>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> SimReport {
        reported(observer, |both| self.serve(source, both))
    }

    /// Serves what comes from `source`, from an empty server until all are done, while `observer` looks
    /// on. Memory grows with the requests that wait and run, not with those that have left.
    pub fn serve<S: Source, O: Observer>(&self, source: &mut S, observer: &mut O) -> Totals {
        let mut run = Run::new(self.config, source, observer);
        while run.step(&self.model, u64::MAX) {
            run.report_progress();
        }
        run.report_progress();
        run.into_totals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Binding, Part, StepBatch, StepTime, TimeSource};
    use crate::units::Seconds;

    /// Every step takes the same time.
    #[derive(Debug)]
    struct Constant(Seconds);

    impl LatencyModel for Constant {
        fn step_time(&self, _: &StepBatch<'_>) -> StepTime {
            let mut time = StepTime::ZERO;
            time.add(Part::Qkv, self.0, Binding::Latency, TimeSource::Fitted);
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
