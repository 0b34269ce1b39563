//! Simulated runs compared with limits.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rooflut::sim::figures::LimitShares;
use rooflut_report::{LatencyMs, Percentiles};
use rooflut_scenario::{Error, Goal, Kind, Latency, Outcome, Run, grouped};

use crate::limit::{Figure, Limit, Limits};

/// Share of a limit within which figures must be to count as within it, where the longest run does not make it clear.
const NEAR: f64 = 0.999;

/// One run, compared with the limits.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    /// The limited figures in the order of the limits, or the one share of requests that miss a limit.
    pub(crate) values: Vec<Option<f64>>,
    /// Whether the servers do not keep up with the load.
    pub(crate) is_overloaded: bool,
    /// Whether the limits hold, and no request is rejected.
    pub(crate) meets: bool,
    /// Whether the values are those of a steady state that lasted until it was clear whether the limits hold.
    pub(crate) is_clear: bool,
    /// Whether the load never becomes steady.
    pub(crate) is_transient: bool,
    /// Requests, served and rejected.
    pub(crate) requests: u64,
    /// Rejected requests. Abandoned ones miss the limits, of which a share of all may, and are among them only where
    /// no share is given.
    pub(crate) rejected: u64,
    /// Rejected requests that no number of servers serves.
    pub(crate) unservable: u64,
    /// Served requests per second.
    pub(crate) requests_per_s: f64,
    /// Generated tokens per second.
    pub(crate) output_tokens_per_s: f64,
    /// Tokens of prompts and outputs per second.
    pub(crate) total_tokens_per_s: f64,
    /// Requests per second that meet all limits; `None` without limits.
    pub(crate) goodput_per_s: Option<f64>,
    /// TTFT, TPOT and end-to-end latency.
    pub(crate) latencies: [LatencyMs; 3],
    /// Share of the time in which a step ran.
    pub(crate) busy_share: f64,
    /// `busy_share` of prefill and of decode servers, where these are separate.
    pub(crate) pool_shares: Option<[f64; 2]>,
    /// Largest share of the KV blocks in use.
    pub(crate) kv_share: f64,
    /// Shares of the time in which settings of the servers held requests back; `None` without a step.
    pub(crate) limits: Option<LimitShares>,
}

/// A figure that too few of the served requests have.
fn unknown(limit: Limit, completed: u64) -> Error {
    let (needed, known) = (limit.figure().least_requests(), Figure::highest_of(completed));
    let found = grouped(completed);
    let text = if completed < needed {
        format!(
            "{limit}: expected at least {needed} served requests for this figure, found {found}; use {} or more requests",
            limit.on(known)
        )
    } else {
        format!("{limit}: expected requests of several output tokens, found {found} of one; leave the limit out")
    };
    Error::new(Kind::NoAnswer, text)
}

impl Trial {
    /// Simulates `run` with a seed until it is clear whether the limits hold, unless its number of requests is given.
    pub(crate) fn of(run: &Run, seed: u64, limits: &Limits) -> Result<Trial, Error> {
        // An interval is known of figures alone.
        let goal = match run.scenario().output.interval {
            None => limits.goal(),
            Some(_) => Goal::Figures,
        };
        Trial::for_goal(run, seed, limits, &goal)
    }

    /// Simulates `run` with a seed, for its figures.
    pub(crate) fn of_figures(run: &Run, seed: u64, limits: &Limits) -> Result<Trial, Error> {
        Trial::for_goal(run, seed, limits, &Goal::Figures)
    }

    /// Simulates all servers of `run` with a seed, for their figures.
    pub(crate) fn of_all(run: &Run, seed: u64, limits: &Limits) -> Result<Trial, Error> {
        Trial::simulated(run, seed, limits, &Goal::Figures)
    }

    fn for_goal(run: &Run, seed: u64, limits: &Limits, goal: &Goal) -> Result<Trial, Error> {
        // A few of many servers are simulated, unless a given number of requests is to be divided among all.
        let sampled = match run.load().requests() {
            None => run.sampled(),
            Some(_) => None,
        };
        Trial::simulated(sampled.as_ref().unwrap_or(run), seed, limits, goal)
    }

    fn simulated(run: &Run, seed: u64, limits: &Limits, goal: &Goal) -> Result<Trial, Error> {
        let run = run.with_seed(seed)?;
        let servers = run.servers() / f64::from(run.replicas());
        let outcome = run.run_for(goal, &mut ())?;
        let summary = &outcome.summary;
        let values = match limits.attainment() {
            Some(_) => {
                let met = summary.goodput.map(|goodput| goodput.met as f64);
                let requests = summary.completed + summary.rejected;
                vec![met.map(|met| 1.0 - met / requests.max(1) as f64)]
            }
            None => {
                let values = limits.limits().iter().map(|limit| value(&outcome, limit));
                values.collect()
            }
        };
        let is_overloaded = outcome.is_overloaded() || outcome.is_overloaded_at_high;
        let rejected = match limits.attainment() {
            Some(_) => outcome.totals.rejected - outcome.totals.abandoned,
            None => outcome.totals.rejected,
        };
        let is_served = !is_overloaded && rejected == 0;
        // Where requests are rejected, too few may be served for a figure; the deployment is out all the same.
        if is_served && let Some((limit, _)) = limits.limits().iter().zip(&values).find(|(_, v)| v.is_none()) {
            return Err(unknown(*limit, summary.completed));
        }
        let holds = outcome.steady.holds;
        let is_within = |share: f64| {
            let pairs = values.iter().zip(bounds(limits));
            pairs.into_iter().all(|(value, bound)| value.is_some_and(|value| value <= share * bound))
        };
        let is_judged = run.load().requests().is_none() && matches!(goal, Goal::Bounds(_));
        let is_met = match holds {
            Some(holds) if is_judged => holds,
            // So near an edge, other seeds may miss what this one meets.
            _ if is_judged && !outcome.steady.is_transient => is_within(NEAR),
            _ => is_within(1.0),
        };
        Ok(Trial {
            is_overloaded,
            meets: is_served && is_met,
            is_clear: is_overloaded
                || outcome.steady.is_transient
                || if is_judged { holds.is_some() } else { outcome.steady.is_steady() },
            is_transient: outcome.steady.is_transient,
            requests: outcome.requests(),
            values,
            rejected,
            unservable: outcome.rejections.too_long + outcome.rejections.too_many_kv_blocks,
            requests_per_s: servers * summary.throughput.requests_per_s,
            output_tokens_per_s: servers * summary.throughput.output_tokens_per_s,
            total_tokens_per_s: servers * summary.throughput.total_tokens_per_s,
            goodput_per_s: summary.goodput.map(|goodput| servers * goodput.per_s),
            latencies: [summary.ttft, summary.tpot, summary.e2e].map(|stats| LatencyMs::of(stats, summary.completed)),
            busy_share: summary.server.busy_share,
            pool_shares: summary
                .stages
                .map(|stages| [stages.prefill, stages.decode].map(|pool| pool.busy_share(summary.makespan))),
            kv_share: f64::from(summary.kv.peak_blocks) / f64::from(summary.kv.blocks.max(1)),
            limits: outcome.limits,
        })
    }

    /// Simulates `run` with one seed, then with the others if that one meets the limits, with more than `floor` of
    /// headroom.
    pub(crate) fn until_missed(
        run: &Run,
        seeds: &[u64],
        limits: &Limits,
        floor: Option<f64>,
    ) -> Result<Vec<Trial>, Error> {
        let trial = |seed: &u64| Trial::of(run, *seed, limits);
        let Some((first, others)) = seeds.split_first() else {
            return Ok(Vec::new());
        };
        let mut trials = vec![trial(first)?];
        let verdict = Verdict::of(trials.clone(), 1, limits);
        if verdict.meets && floor.is_none_or(|floor| verdict.headroom > floor) {
            let others: Result<Vec<Trial>, Error> = others.par_iter().map(trial).collect();
            trials.extend(others?);
        }
        Ok(trials)
    }

    /// Whether no request is rejected by servers that keep up with the load.
    pub(crate) fn is_served(&self) -> bool {
        !self.is_overloaded && self.rejected == 0
    }
}

/// Returns the limited figure, at the far end of its interval where one is asked for.
fn value(outcome: &Outcome<'_>, limit: &Limit) -> Option<f64> {
    let figure = limit.figure();
    if let Some(interval) = outcome.interval {
        let range = match limit.latency() {
            Latency::Ttft => interval.ttft_ms,
            Latency::Tpot => interval.tpot_ms,
            _ => interval.e2e_ms,
        };
        return figure.of(range).map(|range| range.high);
    }
    let summary = &outcome.summary;
    let stats = match limit.latency() {
        Latency::Ttft => summary.ttft,
        Latency::Tpot => summary.tpot,
        _ => summary.e2e,
    };
    let figures: Percentiles<f64> = LatencyMs::of(stats, summary.completed);
    figure.of(figures)
}

/// The trials of a deployment, up to the first seed that misses a limit.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) trials: Vec<Trial>,
    /// Whether every seed was simulated and meets the limits.
    pub(crate) meets: bool,
    /// The least share of a limit that is left, over limits and seeds; negative where a limit is missed, infinite
    /// without limits.
    pub(crate) headroom: f64,
}

impl Verdict {
    pub(crate) fn of(trials: Vec<Trial>, seeds: usize, limits: &Limits) -> Verdict {
        let headrooms = trials.iter().flat_map(|trial| headrooms(trial, limits));
        let headroom = headrooms.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        Verdict { meets: trials.len() == seeds && trials.iter().all(|trial| trial.meets), headroom, trials }
    }

    /// Whether every simulated seed is served in full.
    pub(crate) fn is_served(&self) -> bool {
        self.trials.iter().all(Trial::is_served)
    }
}

/// Returns the share of each limit that is left, negative where it is missed.
pub(crate) fn headrooms<'t>(trial: &'t Trial, limits: &'t Limits) -> impl Iterator<Item = f64> + 't {
    let allowed = bounds(limits).into_iter();
    let values = trial.values.iter().map(|value| value.unwrap_or(f64::INFINITY));
    values.zip(allowed).map(|(value, bound)| 1.0 - value / bound)
}

/// Returns the largest values that are within the limits, in the order of a trial's values.
pub(crate) fn bounds(limits: &Limits) -> Vec<f64> {
    match limits.attainment() {
        Some(share) => vec![1.0 - share],
        None => limits.limits().iter().map(Limit::ms).collect(),
    }
}
