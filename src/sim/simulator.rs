//! One server with the requests of one source.

use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::arrived::Arrived;
use crate::sim::load::source::{RequestList, Source};
use crate::sim::observer::{Observer, OnProgress};
use crate::sim::{
    Outcome, Progress, Request, RequestRecord, Server, SimConfig, SimError, SimReport,
};
use crate::step::LatencyModel;

/// A server that serves the requests of a source; the [module](crate::sim) has an example.
///
/// Costs are those of a [`Server`].
#[derive(Debug, Clone)]
pub struct Simulator<M> {
    model: M,
    config: SimConfig,
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

    /// The latency model.
    pub fn model(&self) -> &M {
        &self.model
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
        self.run_source(&mut RequestList::new(requests), &mut OnProgress(observe))
    }

    /// Serves the requests of `source`, calls `observer`, and keeps a record of each request, in the order of
    /// their places.
    pub fn run_source<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> SimReport {
        reported(observer, |both| self.serve(source, both))
    }

    /// Serves the requests of `source`, from an empty server until all are done, and calls `observer`. Memory
    /// grows with the requests that wait and run, not with those that have left.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Totals {
        let mut server = Server::new(&self.model, self.config, 0);
        loop {
            receive_arrivals(&mut server, source, observer);
            let next_ns = |source: &mut S| {
                let arrival_ns = source.next_arrival_ns()?;
                Some(arrival_ns.saturating_add(self.config.api_server_ns))
            };
            if !server.has_work() {
                let Some(arrival_ns) = next_ns(source) else {
                    break;
                };
                server.wait_until(arrival_ns);
                continue;
            }
            server.run_step(observer);
            server.report_departures(|index, record, at_ns| {
                observer.finished(index, record);
                source.finished(index, &record.request, at_ns);
            });
            // An arrival matters where it may be admitted, or where its rejection is an answer.
            let matters = server.has_room() || source.feeds_back();
            let horizon_ns = matters.then(|| next_ns(source)).flatten();
            server.run_decodes(horizon_ns.unwrap_or(u64::MAX), u64::MAX, observer);
            observer.progress(&server.progress(source.total()));
        }
        observer.progress(&server.progress(source.total()));
        debug_assert_eq!(server.kv_blocks_used(), 0, "KV blocks were lost");
        server.totals()
    }
}

/// Lets the engine see the requests that have arrived by now.
fn receive_arrivals<M, S: Source + ?Sized, O: Observer + ?Sized>(
    server: &mut Server<M>,
    source: &mut S,
    observer: &mut O,
) where
    M: LatencyModel,
{
    while let Some(arrival_ns) = source.next_arrival_ns()
        && server.at_engine_ns(arrival_ns) <= server.now_ns()
        && let Some((index, request)) = source.take()
    {
        let at_engine_ns = server.at_engine_ns(arrival_ns);
        let arrived = Arrived::new(index, request, source.trace_blocks(&request), at_engine_ns);
        if let Err(reason) = server.receive(arrived) {
            let outcome = Outcome::Rejected(reason);
            observer.finished(index, &RequestRecord { request, outcome });
            source.finished(index, &request, server.now_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::StepBatch;
    use crate::units::Seconds;

    /// Every step takes the same time.
    #[derive(Debug)]
    struct Constant(Seconds);

    impl LatencyModel for Constant {
        fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
            self.0
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
