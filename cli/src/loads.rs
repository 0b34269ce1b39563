//! Measured loads of a server, and their predictions.

use std::collections::BTreeMap;
use std::mem;

use rooflut::engine::EngineStack;
use rooflut::sim::figures::Stats;
use rooflut_calibrate::{Metric, Times};
use rooflut_observe::{Distribution, Measured, Run as MeasuredRun};
use rooflut_scenario::{Placement, Run, Scenario, Workload};
use serde_json::Value;

use crate::error::Error;
use crate::input;
use crate::prepared::PreparedRun;

/// Share of requests above which a run with failures is left out.
const FAILED: f64 = 0.01;
/// Share of the rate of a load that servers complete which keep up with it, in a run that is long enough.
const KEEPS_UP: f64 = 0.8;
/// Keys of a load that do not tell it apart from others.
const IGNORED: [&str; 2] = ["requests", "seed"];

/// A measured load.
pub(crate) struct MeasuredLoad {
    /// The number of the run, from 1.
    pub(crate) number: usize,
    /// Its file.
    pub(crate) source: String,
    /// The keys of the load.
    pub(crate) keys: BTreeMap<String, String>,
    /// Mean times, or medians where the client wrote no means.
    pub(crate) times: Times,
    is_median: [bool; 2],
    run: Run,
}

/// The loads that were measured of a server.
pub(crate) struct MeasuredLoads {
    pub(crate) loads: Vec<MeasuredLoad>,
    /// The scenario of the first.
    pub(crate) scenario: Scenario,
    /// Mean prompt and output tokens of the first.
    pub(crate) lengths: Option<[u32; 2]>,
    /// Remarks on what was left out.
    pub(crate) notes: Vec<String>,
}

impl MeasuredLoads {
    /// Returns the loads whose times were measured.
    pub(crate) fn of(measured: &Measured) -> Result<MeasuredLoads, Error> {
        let scenario = measured.scenario(0)?;
        let first = measured.runs.first().map(|run| &run.load);
        let lengths = first.and_then(|load| Some([load.prompt_tokens.mean?, load.output_tokens.mean?]));
        let lengths = lengths.map(|lengths| lengths.map(|mean| mean.round().max(1.0) as u32));
        let mut all = MeasuredLoads { loads: Vec::new(), scenario, lengths, notes: Vec::new() };
        for (index, run) in measured.runs.iter().enumerate() {
            match MeasuredLoad::of(measured, index, run)? {
                Ok(load) => all.loads.push(load),
                Err(why) => all.notes.push(format!("run {} is left out: {why}", index + 1)),
            }
        }
        match all.loads.is_empty() {
            true => Err(Error::new(format!(
                "expected a load with its latencies, found none{}; add the result of a benchmark",
                all.notes.first().map_or_else(String::new, |note| format!(" ({note})"))
            ))),
            false => Ok(all),
        }
    }

    /// Leaves loads out, with a remark, unless none is left.
    pub(crate) fn leave_out(&mut self, of: impl Fn(&MeasuredLoad) -> bool, why: &str) -> Result<(), Error> {
        let (out, kept): (Vec<MeasuredLoad>, Vec<MeasuredLoad>) = mem::take(&mut self.loads).into_iter().partition(of);
        self.notes.extend(out.iter().map(|load| format!("run {} is left out: {why}", load.number)));
        self.loads = kept;
        match out.first().filter(|_| self.loads.is_empty()) {
            Some(load) => Err(Error::new(format!("{}: {why}; measure the server again", load.source))),
            None => Ok(()),
        }
    }

    /// Returns the predicted times of all loads.
    pub(crate) fn predict(&self, stack: &EngineStack) -> Result<Vec<Times>, Error> {
        self.loads.iter().map(|load| load.predict(stack)).collect()
    }

    /// Returns the index of the first load with the keys of another.
    pub(crate) fn first_alike(&self, index: usize) -> usize {
        let keys = self.loads.get(index).map(|load| &load.keys);
        self.loads.iter().position(|load| Some(&load.keys) == keys).unwrap_or(index)
    }

    /// Returns the measured times of all loads.
    pub(crate) fn times(&self) -> Vec<Times> {
        self.loads.iter().map(|load| load.times).collect()
    }
}

impl MeasuredLoad {
    /// Returns a load, or why it is left out.
    fn of(measured: &Measured, index: usize, run: &MeasuredRun) -> Result<Result<MeasuredLoad, String>, Error> {
        let [completed, failed] = [run.load.completed, run.load.failed].map(|count| count.unwrap_or_default() as f64);
        if failed > FAILED * (completed + failed) {
            return Ok(Err(format!("{failed} of {} requests failed", completed + failed)));
        }
        let time = |figures: &Distribution| Some(figures.mean.or(figures.p50)? * 1e-3);
        let is_median = [&run.tpot_ms, &run.ttft_ms].map(|figures| figures.mean.is_none());
        let mut times = Times { tpot: time(&run.tpot_ms), ttft: time(&run.ttft_ms) };
        for time in [&mut times.tpot, &mut times.ttft] {
            *time = time.filter(|time| *time > 0.0);
        }
        let scenario = measured.scenario(index)?;
        let prepared = PreparedRun::try_new(&scenario, &input::open)?;
        let completed = run.requests_per_s.zip(run.load.asked_per_s);
        let is_behind = completed.is_some_and(|(completed, asked)| completed < KEEPS_UP * asked);
        if is_behind || prepared.run().run(&mut ())?.is_overloaded() {
            // The time to the first token is that of a queue which grows.
            times.ttft = None;
        }
        if times == Times::default() {
            let why = "it has neither TPOT nor a TTFT of servers that keep up with the load";
            return Ok(Err(why.to_owned()));
        }
        let source = run.sources.get("load").cloned().unwrap_or_default();
        let keys = keys_of(&scenario.workload)?;
        let run = prepared.run().clone();
        Ok(Ok(MeasuredLoad { number: index + 1, source, keys, times, is_median, run }))
    }

    /// The model and its GPUs.
    pub(crate) fn placement(&self) -> &Placement {
        self.run.placement()
    }

    /// Returns the predicted times.
    pub(crate) fn predict(&self, stack: &EngineStack) -> Result<Times, Error> {
        predict(&self.run, stack, self.is_median)
    }

    /// Returns the time of a metric.
    pub(crate) fn time(&self, metric: Metric) -> Option<f64> {
        self.times.of(metric)
    }
}

/// Predicts mean times of a run with other constants, or medians.
pub(crate) fn predict(run: &Run, stack: &EngineStack, is_median: [bool; 2]) -> Result<Times, Error> {
    let run = run.with_engine(stack)?;
    let outcome = run.run(&mut ())?;
    let [tpot, ttft] = is_median;
    let time = |stats: Option<Stats>, is_median| stats.map(|stats| if is_median { stats.p50.0 } else { stats.mean.0 });
    Ok(Times { tpot: time(outcome.summary.tpot, tpot), ttft: time(outcome.summary.ttft, ttft) })
}

/// Returns a load in words: `users 16, prompt 512, output 128`.
pub(crate) fn in_words(keys: &BTreeMap<String, String>) -> String {
    const FIRST: [&str; 4] = ["users", "rate", "prompt", "output"];
    let first = FIRST.iter().filter_map(|key| keys.get_key_value(*key));
    let others = keys.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    let all = first.chain(others).map(|(key, value)| format!("{} {value}", key.replace('_', " ")));
    all.collect::<Vec<_>>().join(", ")
}

/// Returns what tells a load apart from others.
pub(crate) fn keys_of(workload: &Workload) -> Result<BTreeMap<String, String>, Error> {
    let value = serde_json::to_value(workload).map_err(rooflut_error::not_json)?;
    let keys = value.as_object().into_iter().flatten();
    let keys = keys.filter(|(key, value)| !value.is_null() && !IGNORED.contains(&key.as_str()));
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(keys.map(|(key, value)| (key.clone(), shown(value))).collect())
}
