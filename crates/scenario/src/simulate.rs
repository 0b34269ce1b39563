//! Simulations of runs.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rooflut::deployment::ServedTally;
use rooflut::interval::Coverage;
use rooflut::sim::Observer;
use rooflut::sim::figures::{BatchSizes, Digest, Goodput, LatencyLimits, Summary, TokenGaps};
use rooflut::sim::load::{Source, Stream};
use rooflut::step::{AtEnd, End, LatencyModel};
use rooflut_report::{Ends, ModelInterval, Rejections, Report};

use crate::busiest::Served;
use crate::fleet::Fleet;
use crate::generated::Requests;
use crate::load::Load;
use crate::outcome::{Outcome, overload};
use crate::run::Run;
use crate::run_error::RunError;
use crate::value::LatencyLimit;

/// Maximum number of requests with a record each. Percentiles of more requests are within 0.05 %.
pub const MAX_RECORDS: u64 = 100_000;
impl Run {
    /// Simulates the run; `observer` receives what happens with the first seed. The runs with the other
    /// [`seeds`](crate::Workload::seeds) follow, in parallel.
    ///
    /// # Errors
    /// Arrivals that the clock cannot represent, and answers of the tables that are less certain than
    /// [`Output::strict`](crate::Output::strict) accepts, and a run that was [stopped](Run::stopped_by).
    pub fn run(&self, observer: &mut impl Observer) -> Result<Outcome<'_>, RunError> {
        let mut outcome = self.run_once(observer)?;
        if let Some(coverage) = self.scenario().output.interval {
            self.add_interval(coverage, &mut outcome)?;
        }
        let (first, count) = (
            self.scenario().workload.seed(),
            self.scenario().workload.seeds(),
        );
        if count == 1 {
            return Ok(outcome);
        }
        let report = |index: u32| {
            let run = self.with_seed(first.wrapping_add(index.into()))?;
            Ok(run.run_once(&mut ())?.report())
        };
        let others: Vec<Result<Report, RunError>> =
            (1..count).into_par_iter().map(report).collect();
        let mut reports = vec![outcome.report()];
        for report in others {
            reports.push(report?);
        }
        outcome.seeds = Report::over_seeds(first, &reports);
        Ok(outcome)
    }

    /// Simulates the run with each step at the low and at the high end of its interval.
    fn add_interval(&self, coverage: Coverage, outcome: &mut Outcome<'_>) -> Result<(), RunError> {
        let at = |end| {
            let model = AtEnd::new(self.served_model(), coverage, end);
            let fleet = self.fleet(model)?;
            self.summary(&fleet, &mut ())
        };
        let (low, high) = rayon::join(|| at(End::Low), || at(End::High));
        let (low, high) = (low?, high?);
        let ends = Ends {
            low: &low,
            predicted: &outcome.summary,
            high: &high,
        };
        let engine = self.deployment().engine();
        let ttft = engine.ttft_half_width(&self.placement().model.spec, coverage);
        let others = engine.tpot_half_width(coverage);
        outcome.interval = Some(ModelInterval::between(ends, coverage, [ttft, others]));
        let busy = high.makespan * high.server.busy_share * f64::from(self.replicas());
        outcome.overload_at_high = overload(self, &high, busy);
        Ok(())
    }

    fn run_once(&self, observer: &mut impl Observer) -> Result<Outcome<'_>, RunError> {
        let model = self.served_model();
        let fleet = self.fleet(model)?;
        let mut tally = ServedTally::new(model);
        let mut rejections = Rejections::default();
        let mut served = Served::default();
        let mut observers = (&mut tally, (&mut rejections, (&mut served, observer)));
        let summary = self.summary(&fleet, &mut observers)?;
        let sources = tally.sources();
        let checked = sources.check(self.scenario().output.strict());
        checked.map_err(RunError::UncertainPart)?;
        Ok(Outcome {
            run: self,
            summary,
            rejections,
            busiest: served.busiest(&self.pool_ranges()),
            sources,
            draft_sources: tally.draft_sources(),
            interval: None,
            overload_at_high: None,
            seeds: None,
        })
    }

    /// The servers of the run, with this model of their steps.
    fn fleet<M: LatencyModel + Clone>(&self, model: M) -> Result<Fleet<M>, RunError> {
        let server = &self.scenario().server;
        let fleet = Fleet::try_new(model, *self.config(), self.dp(), server, self.pools())?;
        Ok(fleet)
    }

    fn summary(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        observer: &mut impl Observer,
    ) -> Result<Summary, RunError> {
        let load = match self.load() {
            Load::Trace { path, trace } => {
                let failed = |error| RunError::Trace {
                    path: path.clone(),
                    error,
                };
                let mut requests = trace.replay().map_err(failed)?;
                let summary = self.simulated(fleet, &mut requests, observer)?;
                return requests.finish().map_err(failed).map(|()| summary);
            }
            Load::Generated(load) => load,
        };
        match load.requests(self.config().max_model_len)? {
            Requests::Open(requests) => {
                let mut source = Stream::new(requests).with_total(self.load().requests());
                self.simulated(fleet, &mut source, observer)
            }
            Requests::Closed(mut users) => self.simulated(fleet, &mut users, observer),
        }
    }

    fn simulated(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> Result<Summary, RunError> {
        let observer = &mut (self.stop().clone(), observer);
        let summary = match self.load().requests() <= MAX_RECORDS {
            true => self.recorded(fleet, source, observer),
            false => self.digested(fleet, source, observer),
        };
        self.stop().check().map(|()| summary)
    }

    /// Keeps a record of each request, so that percentiles are exact.
    fn recorded(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> Summary {
        let mut figures = (TokenGaps::new(), BatchSizes::new());
        let mut report = fleet.report(source, &mut (&mut figures, observer));
        let (gaps, sizes) = figures;
        report.summary.itl = gaps.stats();
        report.summary.batch = sizes.stats();
        let limits = self.limits();
        report.summary.goodput = limits.map(|limits| Goodput::of(limits, &report));
        report.summary
    }

    /// Keeps no record, so that memory does not grow with the requests.
    fn digested(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> Summary {
        let mut digest = match self.limits() {
            Some(limits) => Digest::new().with_limits(limits),
            None => Digest::new(),
        };
        let totals = fleet.totals(source, &mut (&mut digest, observer));
        digest.into_summary(&totals)
    }

    fn limits(&self) -> Option<LatencyLimits> {
        let limits = self.scenario().output.goodput.as_deref();
        LatencyLimit::combined(limits.unwrap_or_default())
    }
}
