//! A run of one server.

use crate::error::Invalid;
use crate::sim::figures::Totals;
use crate::sim::figures::report::reported;
use crate::sim::load::source::{RequestList, Source, tell_source};
use crate::sim::observer::Observer;
use crate::sim::{Request, Server, SimConfig, SimReport, StepTimeError};
use crate::step::LatencyModel;

/// Events between two reports of progress.
const EVENTS_PER_REPORT: u64 = 1 << 6;

/// A server that serves the requests of a source; see the [module](crate::sim) for an example.
///
/// Costs as much as a [`Server`].
#[derive(Debug, Clone)]
pub struct Simulator<M> {
    model: M,
    config: SimConfig,
}

impl<M: LatencyModel> Simulator<M> {
    /// Creates a simulator whose steps take as long as `model` predicts.
    ///
    /// # Errors
    ///
    /// [`Invalid`] if no step can run under these limits.
    pub fn try_new(model: M, config: SimConfig) -> Result<Simulator<M>, Invalid> {
        config.validate()?;
        Ok(Simulator { model, config })
    }

    /// Returns the latency model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Returns the configuration of the server.
    pub fn config(&self) -> &SimConfig {
        &self.config
    }

    /// Serves `requests`, given in any order, from an empty server until all have finished.
    ///
    /// Requests that arrive at the same nanosecond queue in the order of the slice.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn run(&self, requests: &[Request]) -> Result<SimReport, StepTimeError> {
        self.run_source(&mut RequestList::new(requests), &mut ())
    }

    /// Serves the requests of `source`, calls `observer`, and keeps a record of each request, in the order of
    /// their indices.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn run_source<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<SimReport, StepTimeError> {
        reported(observer, |both| self.serve(source, both))
    }

    /// Serves the requests of `source`, from an empty server until all have finished, and calls `observer`.
    ///
    /// Memory grows with the waiting and running requests, not with the finished ones.
    ///
    /// # Errors
    /// A step that the clock cannot hold.
    pub fn serve<S: Source + ?Sized, O: Observer + ?Sized>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> Result<Totals, StepTimeError> {
        let mut server = Server::new(&self.model, self.config, 0);
        let mut events = 0_u64;
        while observer.wants_more() {
            receive_arrivals(&mut server, source, observer);
            if !server.has_work() {
                let Some(at_engine_ns) = next_at_engine_ns(&server, source) else {
                    break;
                };
                server.wait_until(at_engine_ns);
                continue;
            }
            if events.is_multiple_of(EVENTS_PER_REPORT) {
                observer.progress(&server.progress(source.total()));
            }
            events += 1;
            server.run_step(observer)?;
            report_finished(&mut server, source, observer);
            // An arrival matters only if it can be admitted or abandoned, if its rejection triggers the next request, or
            // if the steps are observed: they count waiting requests.
            let impatient = self.config.patience_ns.is_some();
            let matters = server.has_room() || impatient || source.feeds_back() || observer.wants_steps();
            let next_ns = matters.then(|| next_at_engine_ns(&server, source));
            let horizon_ns = next_ns.flatten().unwrap_or(u64::MAX);
            server.run_decodes(horizon_ns, u64::MAX, observer)?;
        }
        observer.progress(&server.progress(source.total()));
        debug_assert!(server.kv_blocks_used() == 0 || server.has_work(), "KV blocks were lost");
        Ok(server.totals())
    }
}

/// Returns the earliest time at which the engine can see another request.
fn next_at_engine_ns<M: LatencyModel, S: Source + ?Sized>(server: &Server<M>, source: &mut S) -> Option<u64> {
    let next_ns = source.next_arrival_ns().map(|ns| ns.saturating_add(server.config().api_server_ns));
    let known_ns = server.next_at_engine_ns();
    next_ns.into_iter().chain(known_ns).min()
}

/// Receives the requests that have arrived by now.
fn receive_arrivals<M: LatencyModel, S: Source + ?Sized, O: Observer + ?Sized>(
    server: &mut Server<M>,
    source: &mut S,
    observer: &mut O,
) {
    loop {
        server.take_arrivals();
        // A rejected request may trigger the next one.
        report_finished(server, source, observer);
        let api_server_ns = server.config().api_server_ns;
        let at_engine_ns = |ns: u64| ns.saturating_add(api_server_ns);
        let next_ns = source.next_arrival_ns().map(at_engine_ns);
        let is_due = next_ns.is_some_and(|ns| ns <= server.now_ns());
        let Some((index, request)) = is_due.then(|| source.take()).flatten() else {
            break;
        };
        server.expect(index, request, source.trace_blocks(&request));
    }
}

/// Reports the requests that have finished or were rejected since the last call.
pub(super) fn report_finished<M, S: Source + ?Sized, O: Observer + ?Sized>(
    server: &mut Server<M>,
    source: &mut S,
    observer: &mut O,
) {
    server.report_finished(|index, record, at_ns| {
        observer.finished(index, record);
        tell_source(source, index, record, at_ns);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Progress;
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

    fn last_finish(step: Seconds, request: Request) -> Result<u64, StepTimeError> {
        let simulator = Simulator::try_new(Constant(step), SimConfig::new(100, 10)).unwrap();
        let report = simulator.run(&[request])?;
        Ok(report.records[0].timing().unwrap().finish_ns)
    }

    #[test]
    fn a_step_takes_at_least_a_nanosecond() {
        let request = |arrival_ns| Request {
            arrival_ns,
            prompt_tokens: 4,
            output_tokens: 3,
            cached_prompt_tokens: 0,
            ..Request::default()
        };
        assert_eq!(last_finish(Seconds::ZERO, request(7)), Ok(10));
        assert_eq!(last_finish(Seconds(1e-6), request(7)), Ok(3_007));
    }

    /// Counts reports of an idle server at time 0.
    struct IdleReports(u32);

    impl Observer for IdleReports {
        fn progress(&mut self, progress: &Progress) {
            assert_eq!((progress.steps, progress.now_ns), (0, 0));
            self.0 += 1;
        }
    }

    #[test]
    fn no_requests_take_no_step() {
        let simulator = Simulator::try_new(Constant(Seconds(1.0)), SimConfig::new(100, 10)).unwrap();
        let mut reports = IdleReports(0);
        let report = simulator.run_source(&mut RequestList::new(&[]), &mut reports).unwrap();
        assert_eq!(reports.0, 1);
        assert!(report.records.is_empty());
        assert_eq!(report.summary.ttft, None);
        assert_eq!(report.summary.makespan, Seconds::ZERO);
    }
}
