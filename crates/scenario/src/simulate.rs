//! Simulations of runs.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rooflut::deployment::ServedTally;
use rooflut::interval::Coverage;
use rooflut::sim::Observer;
use rooflut::sim::cluster::{Router, ServerPool};
use rooflut::sim::figures::{Digest, LatencyLimits, Totals};
use rooflut::sim::load::{Retries, Source, Stream};
use rooflut::step::{AtEnd, End, TimeSources};
use rooflut::units::Seconds;
use rooflut_error::{Error, Kind as ErrorKind, key};
use rooflut_report::{Ends, ModelInterval, Quantiles, Report};

use crate::counts::Counts;
use crate::generated::{GeneratedLoad, Requests};
use crate::kind::Kind;
use crate::library::{self, refused_setting, step_time};
use crate::load::Load;
use crate::outage::Outage;
use crate::outcome::Outcome;
use crate::pools::Pools;
use crate::run::Run;
use crate::servers::Servers;
use crate::steady::{Classes, Expected, Feed, Figures, Gate, Goal, Groups, InStep, Steady, WarmUp};
use crate::step_times::StepTimes;
use crate::value::{LatencyLimit, WindowWidth};
use crate::windows::{RunEnd, Windows};

/// Requests up to which percentiles are exact; percentiles of more requests are within 0.05 %.
pub const EXACT_REQUESTS: usize = 100_000;
/// Maximum number of requests of a run whose number is not given.
const MAX_REQUESTS: f64 = 50_000.0;
/// More of them for each simulated server: any, and one whose requests fall in step.
const REQUESTS_PER_SERVER: [f64; 2] = [2_000.0, 20_000.0];
/// Multiples of the patience of clients after which their queue has filled up.
const PATIENCE_TIMES: u64 = 4;

/// Requests of each user that such a run may have: any user, and those who fall in step.
const REQUESTS_PER_USER: [u32; 2] = [50, 400];
/// Maximum number of requests of users.
const MAX_OF_USERS: u32 = 10_000_000;

/// The figures of a simulation.
pub(crate) struct Simulated {
    figures: Figures,
    quantiles: Option<Quantiles>,
    totals: Totals,
    retries: u64,
}

impl Run {
    /// Simulates the run; `observer` receives the events with the first seed. The runs with the other
    /// [`seeds`](crate::Workload::seeds) follow, in parallel.
    ///
    /// # Errors
    /// Arrivals that the clock cannot represent, answers of the tables less certain than
    /// [`Output::strict`](crate::Output::strict) accepts, a warm-up longer than the run, and a
    /// [stopped](Run::stopped_by) run.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Outcome<'_>, Error> {
        self.run_for(&Goal::Figures, observer)
    }

    /// As [`run`](Run::run), for another goal, if the number of requests is not given.
    ///
    /// # Errors
    /// As [`run`](Run::run).
    pub fn run_for(&self, goal: &Goal, observer: &mut dyn Observer) -> Result<Outcome<'_>, Error> {
        let windows = match self.scenario().output.windows {
            None => None,
            Some(WindowWidth::Seconds(width)) => Some(self.windows_of(Seconds(width).to_nanos())),
            Some(WindowWidth::Auto) => {
                let mut end = RunEnd::default();
                self.run_once(goal, None, &mut end)?;
                Some(self.windows_of(end.window_ns()))
            }
        };
        let mut outcome = self.run_once(goal, windows, observer)?;
        if let Some(coverage) = self.scenario().output.interval {
            self.add_interval(coverage, &mut outcome)?;
        }
        let (first, count) = (self.scenario().workload.seed(), self.scenario().workload.seeds());
        if count == 1 {
            return Ok(outcome);
        }
        let report = |index: u32| {
            let run = self.with_seed(first.wrapping_add(index.into()))?;
            Ok(run.run_once(goal, None, &mut ())?.report())
        };
        let others: Vec<Result<Report, Error>> = (1..count).into_par_iter().map(report).collect();
        let mut reports = vec![outcome.report()];
        for report in others {
            reports.push(report?);
        }
        outcome.seeds = Report::over_seeds(first, &reports);
        Ok(outcome)
    }

    /// Simulates the run with each step at the low and at the high end of its interval.
    fn add_interval(&self, coverage: Coverage, outcome: &mut Outcome<'_>) -> Result<(), Error> {
        let at = |end| {
            let served = self.kinds().map(Kind::served_model);
            let models: Vec<StepTimes<'_>> =
                served.map(|model| StepTimes::AtEnd(AtEnd::new(model, coverage, end))).collect();
            let servers = self.servers_of(&models)?;
            self.simulated(&servers, &Goal::Figures, &mut Counts::new(self, None, &mut ()))
        };
        let (low, high) = rayon::join(|| at(End::Low), || at(End::High));
        let (low, high) = (low?, high?);
        let ends = Ends { low: &low.figures.summary, predicted: &outcome.summary, high: &high.figures.summary };
        let engine = self.deployment().engine();
        let of_kind = |kind: &Kind| {
            engine.ttft_half_width(&kind.placement().model.spec, kind.deployment().tables().gpu(), coverage)
        };
        let ttft = self.kinds().map(of_kind).fold(0.0, f64::max);
        let others = engine.tpot_half_width(coverage);
        outcome.interval = Some(ModelInterval::between(ends, coverage, [ttft, others]));
        outcome.is_overloaded_at_high = high.figures.steady.is_overloaded;
        Ok(())
    }

    fn run_once(
        &self,
        goal: &Goal,
        windows: Option<Windows>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome<'_>, Error> {
        let tallies: Vec<ServedTally<'_>> = self.kinds().map(|kind| ServedTally::new(kind.served_model())).collect();
        let models: Vec<StepTimes<'_>> = tallies.iter().map(StepTimes::Predicted).collect();
        let servers = self.servers_of(&models)?;
        let mut counts = Counts::new(self, windows, observer);
        let Simulated { figures, quantiles, totals, retries } = self.simulated(&servers, goal, &mut counts)?;
        let all = |sources: &mut dyn Iterator<Item = TimeSources>| sources.reduce(|all, other| all.plus(&other));
        let sources = all(&mut tallies.iter().map(ServedTally::sources)).unwrap_or_default();
        let checked = sources.check(self.scenario().output.strict());
        checked.map_err(library::uncertain_part)?;
        let windows = counts.windows.map(|windows| windows.into_figures(&totals)).transpose()?;
        Ok(Outcome {
            run: self,
            summary: figures.summary,
            totals,
            retries,
            steady: figures.steady,
            by_priority: figures.by_priority,
            by_group: figures.by_group,
            windows,
            quantiles,
            rejections: counts.rejections,
            limits: counts.times.shares(),
            // A server that is lost serves less for that reason.
            busiest: counts.served.busiest(&self.pool_ranges()).filter(|_| self.outages().is_empty()),
            sources,
            sources_by_kind: tallies.iter().map(ServedTally::sources).collect(),
            draft_sources: all(&mut tallies.iter().filter_map(ServedTally::draft_sources)),
            interval: None,
            is_overloaded_at_high: false,
            seeds: None,
        })
    }

    /// The servers of the run, with these models of the steps of each kind.
    fn servers_of<'m>(&self, models: &[StepTimes<'m>]) -> Result<Servers<StepTimes<'m>>, Error> {
        let mut pools = Vec::new();
        for group in self.groups() {
            let of_kind = self.kinds().zip(models).find(|(kind, _)| std::ptr::eq(*kind, group.kind));
            pools.extend(of_kind.map(|(kind, model)| {
                ServerPool::new(model.clone(), *kind.config(), group.servers()).with_ranks(kind.dp())
            }));
        }
        let link = self.pools().map(Pools::link).transpose().map_err(refused_setting)?;
        Servers::try_new(pools, self.scenario().server.router(), link, self.outages()).map_err(refused_setting)
    }

    fn simulated(
        &self,
        servers: &Servers<StepTimes<'_>>,
        goal: &Goal,
        counts: &mut Counts<'_>,
    ) -> Result<Simulated, Error> {
        let load = match self.load() {
            Load::Trace { path, trace } => {
                let failed = library::trace(path);
                let mut requests = trace.replay().map_err(&failed)?;
                let simulated = self.served(servers, &mut requests, goal, counts)?;
                return requests.finish().map_err(failed).map(|()| simulated);
            }
            Load::Generated(load) => load,
        };
        let every = self.share.every;
        let count = load.workload.requests.unwrap_or_else(|| self.max_requests()).saturating_mul(every);
        match load.requests(self.config(), count)? {
            Requests::Open(requests) => {
                let mut source = Stream::new(requests.step_by(every as usize));
                if let Some(total) = self.load().requests() {
                    source = source.with_total(total);
                }
                self.served(servers, &mut source, goal, counts)
            }
            Requests::Closed(mut users) => self.served(servers, &mut *users, goal, counts),
        }
    }

    /// Returns the maximum number of requests of a run whose number is not given.
    pub fn max_requests(&self) -> u32 {
        if !self.outages().is_empty() {
            // Time ends the run.
            return MAX_OF_USERS;
        }
        let [of_server, of_server_in_step] = REQUESTS_PER_SERVER;
        let [of_user, of_user_in_step] = REQUESTS_PER_USER;
        let of_users = |users: u32, each: u32| users.saturating_mul(each).min(MAX_OF_USERS);
        let users = self.scenario().workload.users.unwrap_or_default();
        let (of_users, of_server) = match self.expected().in_step {
            InStep::Nothing => (of_users(users, of_user), of_server),
            InStep::Users(users) => (of_users(users, of_user_in_step), of_server),
            InStep::Servers => (of_users(users, of_user), of_server_in_step),
        };
        ((MAX_REQUESTS + of_server * f64::from(self.replicas())) as u32).max(of_users)
    }

    fn served(
        &self,
        servers: &Servers<StepTimes<'_>>,
        source: &mut dyn Source,
        goal: &Goal,
        counts: &mut Counts<'_>,
    ) -> Result<Simulated, Error> {
        let given = self.load().requests();
        let mut gate = Gate::new(given.unwrap_or_else(|| self.max_requests().into()));
        let recovered_s = Outage::recovered_s(self.outages()).filter(|_| given.is_none());
        if let Some(seconds) = recovered_s {
            gate = gate.until(Seconds(seconds).to_nanos());
        }
        let digest = self.digest();
        let goal = (given.is_none() && recovered_s.is_none()).then_some(goal);
        let classes = self.load().has_priorities().then(|| Classes::new(digest.clone()));
        let groups = self.is_mixed().then(|| Groups::new(&self.groups(), digest.clone()));
        let mut steady = Steady::new(&gate, goal, self.warm_up(), self.expected(), (digest, classes, groups));
        // Retries go on when the gate is closed.
        let mut source = Retries::new(Feed { source, gate: &gate }, self.scenario().workload.retries());
        let observer = &mut (self.stop().clone(), (&mut steady, counts));
        let totals = servers.totals(&mut source, observer).map_err(step_time)?;
        self.stop().count();
        self.stop().check()?;
        let wants_quantiles = self.scenario().output.quantiles == Some(true);
        let quantiles = wants_quantiles.then(|| steady.quantiles());
        let figures = steady.into_figures(&totals);
        if let (Some(found_s), None) = (self.scenario().workload.warm_up, &figures.steady.window) {
            let run_s = gate.closed_ns() as f64 / 1e9;
            let text = format!(
                "{}: expected less than the {run_s:.1} s in which the requests of the run arrive, found {found_s} s; \
                 use more {}, or a shorter warm-up",
                key("warm_up"),
                key("requests")
            );
            return Err(Error::new(ErrorKind::Value, text).about(["warm_up"]));
        }
        self.check_outages(&totals)?;
        Ok(Simulated { figures, quantiles, totals, retries: source.retried() })
    }

    /// Refuses an outage that begins after the end of the run.
    fn check_outages(&self, totals: &Totals) -> Result<(), Error> {
        let end_s = totals.span_ns.map_or(0.0, |(_, end_ns)| end_ns as f64 / 1e9);
        match self.outages().iter().find(|outage| outage.from_s >= end_s) {
            Some(outage) => {
                let text = format!(
                    "{}: expected outages that begin before the run ends, at {end_s:.1} s, found {outage}; use more {}, \
                     or leave out the number",
                    key("lose"),
                    key("requests")
                );
                Err(Error::new(ErrorKind::Value, text).about(["lose"]))
            }
            None => Ok(()),
        }
    }

    fn warm_up(&self) -> WarmUp {
        match self.scenario().workload.warm_up {
            Some(seconds) => WarmUp::Until(Seconds(seconds).to_nanos()),
            None if self.load().is_transient() || !self.outages().is_empty() => WarmUp::None,
            None => WarmUp::Judged,
        }
    }

    fn expected(&self) -> Expected {
        match self.load() {
            Load::Trace { .. } => Expected::default(),
            Load::Generated(load) => Expected {
                fills_up_ns: self.fills_up_ns(),
                rate: load.request_rate().map(|rate| rate / f64::from(self.share.every)),
                in_step: match load.users_in_step() {
                    0 if self.herds(load) => InStep::Servers,
                    0 => InStep::Nothing,
                    users => InStep::Users(users),
                },
            },
        }
    }

    /// Time in which the queues that the patience of clients bounds fill up: not those of decode servers, where patience
    /// has ended.
    fn fills_up_ns(&self) -> u64 {
        match (self.config().patience_ns, self.pools()) {
            (None, _) => 0,
            (Some(_), None) => u64::MAX,
            (Some(patience_ns), Some(_)) => patience_ns.saturating_mul(PATIENCE_TIMES),
        }
    }

    /// Whether requests are sent to the server whose batch just ended, and end together again.
    fn herds(&self, load: &GeneratedLoad) -> bool {
        let is_one = self.pools().is_some() || self.scenario().servers() == 1;
        let router = self.scenario().server.router();
        router == Router::LeastOutstandingTokens && !is_one && load.has_like_outputs()
    }

    /// An empty digest of its requests.
    fn digest(&self) -> Digest {
        let digest = Digest::new().exact_up_to(EXACT_REQUESTS);
        match self.limits() {
            Some(limits) => digest.with_limits(limits),
            None => digest,
        }
    }

    fn windows_of(&self, width_ns: u64) -> Windows {
        Windows::new(width_ns, self.digest())
    }

    fn limits(&self) -> Option<LatencyLimits> {
        let limits = self.scenario().output.goodput.as_deref();
        LatencyLimit::combined(limits.unwrap_or_default())
    }
}
