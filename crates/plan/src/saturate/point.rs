//! Figures at one rate.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rooflut_report::{LatencyMs, LatencySpread, Spread};
use rooflut_scenario::{Error, Run};
use serde::Serialize;

use crate::limit::Limits;
use crate::saturate::knee::Sample;
use crate::trial::{Trial, Verdict};

/// Figures of a deployment at one rate: means over the seeds, and of latencies the lowest, mean and highest.
///
/// Beyond saturation, latencies grow with the number of requests of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Point {
    /// Requests (of sessions: sessions) that arrive per second; of users, those that are served.
    pub rate: f64,
    /// Requests served per second.
    pub requests_per_s: f64,
    /// Tokens generated per second.
    pub output_tokens_per_s: f64,
    /// Requests per second that meet all limits; null without limits.
    pub goodput_per_s: Option<f64>,
    /// Time to first token, milliseconds.
    pub ttft_ms: LatencySpread,
    /// Time per output token after the first, milliseconds.
    pub tpot_ms: LatencySpread,
    /// Time from the arrival to the last token, milliseconds.
    pub e2e_ms: LatencySpread,
    /// Share of the time during which a step ran, averaged over the servers.
    pub busy_share: f64,
    /// That share of prefill servers; null where servers do both.
    pub prefill_busy_share: Option<f64>,
    /// That share of decode servers; null where servers do both.
    pub decode_busy_share: Option<f64>,
    /// Seeds with which the servers do not keep up with the load.
    pub overloaded: u64,
    /// Rejected requests of the seed that has the most.
    pub rejected: u64,
    /// Whether every seed meets the limits; without limits, whether every seed is served in full. For the highest rate,
    /// as the search found in runs that end when this is clear.
    pub meets: bool,
    /// Whether the figures of every seed describe a steady state.
    pub is_steady: bool,
}

impl Point {
    /// Simulates a run of this rate with each of the seeds.
    pub(crate) fn of(run: &Run, rate: f64, seeds: &[u64], limits: &Limits) -> Result<Point, Error> {
        let point = Point::of_run(&run.with_rate(rate)?, seeds, limits)?;
        Ok(Point { rate, ..point })
    }

    /// Simulates a run with each of the seeds. The rate is that of the requests served.
    pub(crate) fn of_run(run: &Run, seeds: &[u64], limits: &Limits) -> Result<Point, Error> {
        // Points of a curve are simulated in parallel.
        let trials = seeds.iter().map(|seed| Trial::of_figures(run, *seed, limits));
        Ok(Point::of_trials(&trials.collect::<Result<Vec<_>, _>>()?, seeds, limits))
    }

    /// As [`of_run`](Point::of_run), of all servers where that simulates a few, as the command of the run does.
    pub(crate) fn of_all(run: &Run, seeds: &[u64], limits: &Limits) -> Result<Point, Error> {
        let trials = seeds.par_iter().map(|seed| Trial::of_all(run, *seed, limits));
        Ok(Point::of_trials(&trials.collect::<Result<Vec<_>, _>>()?, seeds, limits))
    }

    fn of_trials(trials: &[Trial], seeds: &[u64], limits: &Limits) -> Point {
        let mean = |of: fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / seeds.len() as f64;
        let known = |of: fn(&Trial) -> Option<f64>| Spread::of(trials.iter().map(of)).map(|spread| spread.mean);
        let latency = |of: fn(&Trial) -> LatencyMs| LatencySpread::of_runs(trials.iter().map(of));
        Point {
            rate: mean(|trial| trial.requests_per_s),
            requests_per_s: mean(|trial| trial.requests_per_s),
            output_tokens_per_s: mean(|trial| trial.output_tokens_per_s),
            goodput_per_s: known(|trial| trial.goodput_per_s),
            ttft_ms: latency(|trial| trial.latencies[0]),
            tpot_ms: latency(|trial| trial.latencies[1]),
            e2e_ms: latency(|trial| trial.latencies[2]),
            busy_share: mean(|trial| trial.busy_share),
            prefill_busy_share: known(|trial| trial.pool_shares.map(|[prefill, _]| prefill)),
            decode_busy_share: known(|trial| trial.pool_shares.map(|[_, decode]| decode)),
            overloaded: trials.iter().filter(|trial| trial.is_overloaded).count() as u64,
            rejected: trials.iter().map(|trial| trial.rejected).max().unwrap_or_default(),
            is_steady: trials.iter().all(|trial| trial.is_clear),
            meets: Verdict::of(trials.to_vec(), seeds.len(), limits).meets,
        }
    }

    /// Returns the sample by which the knee is found; `None` where no request was served.
    pub(crate) fn sample(&self) -> Option<Sample> {
        Some(Sample { rate: self.rate, throughput: self.requests_per_s, latency: self.e2e_ms.mean?.mean })
    }
}
