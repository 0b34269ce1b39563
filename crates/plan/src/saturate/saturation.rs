//! The highest rate of a deployment.

use rooflut::interval::Coverage;
use rooflut_error::no_effect;
use rooflut_scenario::{Error, Kind, Output, Resources, Run, Scenario, ServerKind, Stop, VllmCommand, unmeasured};
use serde::Serialize;

use crate::bounds::{Capacity, Lengths, SAMPLE};
use crate::limit::{Limit, Limits};
use crate::limited_by::LimitedBy;
use crate::notes::NOT_STEADY;
use crate::question::seeds;
use crate::saturate::curve::{Curve, overloaded};
use crate::saturate::division::{Division, PoolRates};
use crate::saturate::point::Point;
use crate::saturate::rates::{Rates, Scale};
use crate::space::rejected;

/// A remark on runs that do not overload the servers.
const SHORT: &str = "the runs are too short to overload these servers: the saturation rate is the bound from step \
                     times; use more requests";

/// Said of servers that are lost for a while, whose runs are never steady.
const LOST: &str = "servers are lost for a while: the figures are those of whole runs, outages and recovery included";

/// A question for the highest rate that a deployment serves.
pub struct RateQuestion<'q> {
    /// Model, load and servers. The search varies the rate and replaces the output, except `strict`.
    pub scenario: Scenario,
    /// The models and tables that the scenario names.
    pub resources: Resources<'q>,
    /// The limits to meet; `None`: the servers must only keep up with the load and reject no request.
    pub limits: Option<Limits>,
    /// Share of measured servers that must meet the limits, as in
    /// [`Question::confidence`](crate::Question::confidence).
    pub confidence: Option<Coverage>,
    /// Relative distance from the highest rate to the next rate tried. The next rate misses the limits.
    pub tolerance: f64,
    /// Ends the search early.
    pub stop: Stop,
}

/// The highest rates of a deployment, and the latencies around these rates.
///
/// Its JSON has the fields in this order; times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Saturation {
    /// Name of the model.
    pub model: String,
    /// Name of the table set.
    pub gpu: String,
    /// The table set whose efficiencies a GPU that was not measured takes; null for a measured GPU, and for bounds.
    pub base: Option<String>,
    /// GPUs of all servers.
    pub gpus: u64,
    /// Unit of a rate, per second: `requests` or `sessions`.
    pub unit: &'static str,
    /// Requests per second of a trace at its own speed, which the search varies; null for a generated load.
    pub trace_rate: Option<f64>,
    /// The highest rate that meets the limits; null if none does, or without limits.
    pub within_limits: Option<Point>,
    /// The highest rate that is served in full, whatever the latencies.
    pub saturation: Point,
    /// The rate with the highest power, throughput over mean end-to-end latency, up to the saturation rate.
    pub knee: Point,
    /// The lowest rate tried, if no rate meets the limits; null where one does.
    pub lowest: Option<Point>,
    /// The limits.
    pub limits: Vec<String>,
    /// Share of requests that must meet all limits together; null for limits on figures.
    pub attainment: Option<f64>,
    /// Share of measured servers that the intervals at whose far end the limits hold are meant to contain; null for
    /// predictions.
    pub confidence: Option<f64>,
    /// The limits are missed at the highest rate within the limits, times one plus this tolerance.
    pub tolerance: f64,
    /// The first seed; the other seeds follow consecutively.
    pub first_seed: u64,
    /// Seeds with which the limits must hold.
    pub seeds: u64,
    /// Requests of each run, if given; null for as many as the figures need.
    pub requests: Option<u64>,
    /// Runs that were simulated.
    pub simulations: u64,
    /// The setting that holds requests back at the highest rate within the limits, or at the saturation rate without
    /// limits; null without such a setting, and if no rate meets the limits.
    pub limited_by: Option<LimitedBy>,
    /// The division into prefill and decode servers; null where servers do both.
    pub division: Option<Division>,
    /// Figures at ascending rates from a tenth to one and a half times the saturation rate, the rates above included.
    pub curve: Vec<Point>,
    /// The `rooflut run` command at the highest rate within the limits, or at the saturation rate without limits; null if
    /// no rate meets the limits, and where flags cannot say it.
    pub command: Option<String>,
    /// The `vllm serve` command of one server; null where vLLM has no flag for a setting.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub vllm_command: VllmCommand,
    /// Remarks.
    pub notes: Vec<String>,
}

impl<'q> RateQuestion<'q> {
    /// Default tolerance.
    pub const TOLERANCE: f64 = 0.01;

    /// Asks for the highest rate that the servers of `scenario` keep up with, to 1 %.
    pub fn new(scenario: Scenario, resources: Resources<'q>) -> RateQuestion<'q> {
        RateQuestion {
            scenario,
            resources,
            limits: None,
            confidence: None,
            tolerance: RateQuestion::TOLERANCE,
            stop: Stop::default(),
        }
    }

    /// Finds the highest rates, simulates the curve around them and compares divisions into prefill and decode servers.
    ///
    /// A rate meets the limits if each of three seeds meets them, with no request rejected and no run overloaded. A run
    /// leaves out its warm-up and lasts until the result is clear ([`Goal::Bounds`](rooflut_scenario::Goal::Bounds));
    /// runs of the curve last until their figures are precise. A rate above the bound from step times is never tried:
    /// no schedule serves it in the long run.
    ///
    /// Assumes: the limits hold at a rate if they hold at a higher one. Rates are the powers of one plus the tolerance;
    /// the highest rate is bracketed in doubling strides, then bisected.
    ///
    /// # Errors
    /// A scenario that cannot be run or has no rate to vary, a tolerance out of range, a load that is served at no rate
    /// or at any rate, and too few requests for the figures.
    pub fn saturate(self) -> Result<Saturation, Error> {
        if self.scenario.workload.users.is_some() {
            return Err(rejected("users", "requests that arrive at a rate to vary", "users who wait for answers"));
        }
        let (scenario, seeds) = (self.base()?, seeds(&self.scenario));
        let scale = Scale::try_new(self.tolerance)?;
        let limits = self.limits.unwrap_or(Limits::NONE);
        let run = Run::try_new(scenario, self.resources)?.stopped_by(self.stop);
        let requests = match run.load().trace_rate() {
            Some(_) => run.trace_requests()?,
            None => run.requests(SAMPLE)?.unwrap_or_default(),
        };
        let has_sessions = run.scenario().workload.turns.is_some();
        // The rate of sessions is not that of their requests.
        let lengths = Lengths::of(&requests, &run.scenario().workload).filter(|_| !has_sessions);
        let bounds = |run: &Run| {
            let of_kind = |kind: &ServerKind| {
                let lengths = lengths.as_ref();
                lengths.map_or(Capacity::UNKNOWN, |lengths| Capacity::of(&run.of_kind(kind), lengths))
            };
            let groups = run.groups();
            let each: Vec<Capacity> = groups.iter().map(|group| of_kind(group.kind)).collect();
            let whole: f64 = groups.iter().zip(&each).map(|(group, of)| of.whole * f64::from(group.servers())).sum();
            // Prefill servers come first.
            let pools = each.first().zip(each.last()).and_then(|(prefill, decode)| {
                let capacity = Capacity { whole, prefill: prefill.prefill, decode: decode.decode };
                PoolRates::of(run, &capacity, &requests)
            });
            let capacity = (pools.as_ref()).map_or(whole, |pools| pools.bound(pools.given()));
            (capacity, pools)
        };
        let (capacity, pools) = bounds(&run);
        let mut rates = Rates { run: &run, scale, seeds: &seeds, capacity, simulations: 0 };
        let mut simulations = 0;
        let found = Found::search(&mut rates, &limits)?;
        let division = pools.map(|pools| pools.divide(&mut rates, found.best, &limits)).transpose()?;
        // Unlike servers have no one setting to raise.
        let best = found.best.filter(|_| !run.is_mixed());
        let mut limited_by = best.map(|best| rates.limited_by(best, &limits)).transpose()?.flatten();
        if let Some((limited, best)) = limited_by.as_mut().zip(found.best)
            && let Some(raised) = limited.raised(&run)
        {
            let mut rates = Rates { run: &raised, scale, seeds: &seeds, capacity: bounds(&raised).0, simulations: 0 };
            let (_, last) = scale.within(rates.capacity).into_inner();
            let highest = rates.highest(best..=last, best, &limits)?;
            limited.rate = highest.map(|step| scale.rate(step));
            simulations += rates.simulations;
        }
        let mut curve = Curve::around(found.saturation, &rates, &limits)?;
        if let Some(best) = found.best {
            curve.set_answer(best)?;
        }
        let saturation = curve.at(found.saturation)?;
        let best = found.best.filter(|_| limits.is_any());
        let within_limits = best.map(|step| curve.at(step)).transpose()?;
        let lowest = found.best.is_none().then(|| curve.at(found.lowest)).transpose()?;
        let knee = curve.knee(found.saturation)?;
        let short = found.is_bound.then(|| SHORT.to_owned()).into_iter();
        // Near saturation, runs of any length may end before it is clear; the search takes them for overloaded.
        let given = run.load().requests();
        let answer = within_limits.as_ref().unwrap_or(&saturation);
        let unclear = given.filter(|_| !answer.is_steady).map(|_| NOT_STEADY.to_owned());
        let remark = |kind: &ServerKind| unmeasured(&kind.placement().tables, &kind.settings().target);
        let mut unmeasured: Vec<String> = run.kinds().filter_map(remark).collect();
        unmeasured.dedup();
        let mismatch = run.placement().engine_mismatch.clone();
        let best = if limits.is_any() { within_limits.as_ref() } else { Some(&saturation) };
        let command =
            best.map(|point| Ok::<_, Error>(command(&run.with_rate(point.rate)?, seeds.len()))).transpose()?.flatten();
        let lost = (!run.outages().is_empty()).then(|| LOST.to_owned());
        let notes = unmeasured.into_iter().chain(mismatch).chain(short).chain(unclear).chain(lost);
        Ok(Saturation {
            model: run.placement().model.name.clone(),
            gpu: run.gpu(),
            base: run.placement().tables.base().map(|base| base.name().to_owned()),
            gpus: run.gpus(),
            unit: if has_sessions { "sessions" } else { "requests" },
            trace_rate: run.load().trace_rate(),
            within_limits,
            saturation,
            knee,
            lowest,
            limits: limits.limits().iter().map(Limit::to_string).collect(),
            attainment: limits.attainment(),
            confidence: self.confidence.map(|confidence| confidence.share()),
            tolerance: self.tolerance,
            first_seed: self.scenario.workload.seed(),
            seeds: seeds.len() as u64,
            requests: run.load().requests(),
            simulations: rates.simulations + simulations + (seeds.len() * curve.points.len()) as u64,
            limited_by,
            division,
            curve: curve.points,
            command,
            vllm_command: run.scenario().vllm_command(run.deployment().engine()),
            notes: notes.collect(),
        })
    }

    /// The scenario of a run with one seed.
    pub(crate) fn base(&self) -> Result<Scenario, Error> {
        let workload = &self.scenario.workload;
        if workload.trace.is_some() && self.scenario.server.prefill_replicas.is_some() {
            let found = "a trace, whose lengths do not divide prefill and decode servers";
            return Err(rejected("trace", "requests that arrive at a rate to vary", found));
        }
        for (key, is_given) in [
            ("rate", workload.rate.is_some() && workload.users.is_none()),
            ("trace_speed", workload.trace_speed.is_some()),
        ] {
            if is_given {
                return Err(no_effect(key, "it is varied"));
            }
        }
        if self.confidence.is_some() && self.limits.is_none() {
            return Err(no_effect("confidence", "there is no limit to hold"));
        }
        self.scenario.check()?;
        let mut scenario = self.scenario.clone();
        scenario.workload.seeds = None;
        let mut output = Output::default();
        output.strict = self.scenario.output.strict;
        output.goodput = self.limits.as_ref().and_then(Limits::tightest);
        output.interval = self.confidence;
        scenario.output = output;
        Ok(scenario)
    }
}

/// The highest rates of a search, as steps of its scale.
struct Found {
    /// The lowest step of the search.
    lowest: i32,
    /// The highest step that is served in full.
    saturation: i32,
    /// The highest one that meets the limits.
    best: Option<i32>,
    /// Whether the bound of the capacity, not a simulation, ends the search.
    is_bound: bool,
}

impl Found {
    fn search(rates: &mut Rates<'_>, limits: &Limits) -> Result<Found, Error> {
        let (lowest, last) = rates.scale.within(rates.capacity).into_inner();
        let Some(saturation) = rates.saturation()? else {
            let lowest = rates.scale.rate(lowest);
            let rejected = Point::of(rates.run, lowest, rates.seeds, limits)?.rejected;
            return Err(match rejected {
                0 => overloaded(lowest),
                rejected => {
                    let (ends, advice) = match rates.run.scenario().workload.patience {
                        Some(_) => ("rejected or abandoned", "a longer queue or patience"),
                        None => ("rejected", "a longer queue"),
                    };
                    let text = format!(
                        "{rejected} requests of a run are {ends} even at a rate of {lowest:.3} per second; use shorter \
                         requests, or {advice}"
                    );
                    Error::new(Kind::NotMet, text)
                }
            });
        };
        let is_bound = saturation == last;
        if is_bound && rates.capacity.is_infinite() {
            let requests = rates.run.load().requests();
            let requests = requests.unwrap_or_default();
            let text = format!("{requests} requests do not overload the servers at any rate; use more requests");
            return Err(Error::new(Kind::NoAnswer, text));
        }
        Ok(Found {
            lowest,
            saturation,
            best: if limits.is_any() {
                rates.highest(lowest..=saturation, saturation, limits)?
            } else {
                Some(saturation)
            },
            is_bound,
        })
    }
}

/// Returns the command of a run with so many seeds; `None` where flags cannot say it.
pub(crate) fn command(run: &Run, seeds: usize) -> Option<String> {
    let mut scenario = run.scenario().clone();
    scenario.workload.seeds = u32::try_from(seeds).ok().filter(|seeds| *seeds > 1);
    scenario.command().map(|words| words.join(" "))
}
