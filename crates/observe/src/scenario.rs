//! A measured load as a scenario.

use rooflut_error::{Error, Kind, key};
use rooflut_scenario::{Scenario, table_of};
use serde_json::{Map, Value, json};

use crate::distribution::Distribution;
use crate::measured::Measured;
use crate::run::Run;

/// Lengths that vary by less are all the mean.
const FIXED: f64 = 0.02;
/// The standard deviation of uniform lengths differs by less from that of their range.
const UNIFORM: f64 = 0.1;

impl Measured {
    /// Returns the scenario of a run, which simulates the same load on the same server. Without runs, given keys must
    /// describe the load.
    ///
    /// # Errors
    /// Keys that no file tells: a model and a GPU always, and the load. No run of this index.
    pub fn scenario(&self, run: usize) -> Result<Scenario, Error> {
        let needed: Vec<String> = self.needed().map(|missing| key(missing).to_string()).collect();
        if !needed.is_empty() {
            let text = format!("the files do not tell {}; add it", needed.join(", "));
            return Err(Error::new(Kind::Conflict, text));
        }
        let workload = match self.runs.get(run) {
            Some(run) => self.workload(run),
            None if self.runs.is_empty() => Map::new(),
            None => {
                let text = format!("expected a run from 1 to {}, found {}", self.runs.len(), run + 1);
                return Err(Error::new(Kind::Value, text));
            }
        };
        let own = self.deployment.iter().map(|(key, fact)| (key.clone(), fact.value.clone()));
        let (scenario, _) = of_keys(workload.into_iter())?.overlaid(&of_keys(own)?)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether files and flags tell all that a scenario needs.
    pub fn is_complete(&self) -> bool {
        self.needed().next().is_none()
    }

    /// Returns the missing keys that have no usual value.
    fn needed(&self) -> impl Iterator<Item = &String> {
        self.missing.iter().filter(|key| !["engine", "tp"].contains(&key.as_str()))
    }

    /// Returns the keys of a load.
    pub(crate) fn workload(&self, run: &Run) -> Map<String, Value> {
        let load = &run.load;
        let requests = load.completed.map(|completed| completed + load.failed.unwrap_or_default());
        let mut keys = Map::new();
        let mut set = |key: &str, value: Option<Value>| keys.extend(value.map(|value| (key.to_owned(), value)));
        if let (Some(trace), false) = (&run.trace, run.is_closed_loop()) {
            set("trace", Some(json!(trace)));
            return keys;
        }
        match load.sent_per_s.or(load.asked_per_s).filter(|_| !run.is_closed_loop()) {
            Some(rate) => {
                set("rate", Some(json!(rate)));
                set(
                    "arrival",
                    load.arrival.clone().filter(|arrival| arrival != "poisson").map(|arrival| json!(arrival)),
                );
                set("burstiness", load.burstiness.map(|shape| json!(shape)));
            }
            // Requests that are sent at once are those of as many users.
            None => set("users", load.users.or(requests).map(|users| json!(users))),
        }
        set("requests", requests.map(|requests| json!(requests)));
        set("prompt", lengths(&load.prompt_tokens).map(|lengths| json!(lengths)));
        set("output", lengths(&load.output_tokens).map(|lengths| json!(lengths)));
        let hits = self.metrics.get("prefix_hit_rate").filter(|rate| **rate > 0.0 && **rate < 1.0);
        set("prefix_hit_rate", hits.map(|rate| json!(rate)));
        keys
    }
}

/// Reads keys into their tables.
fn of_keys(keys: impl Iterator<Item = (String, Value)>) -> Result<Scenario, Error> {
    let mut tables = Map::new();
    for (key, value) in keys {
        let table = match table_of(&key) {
            Some("") | None => "target",
            Some(table) => table,
        };
        let table = tables.entry(table).or_insert_with(|| json!({}));
        table.as_object_mut().into_iter().for_each(|table| drop(table.insert(key.clone(), value.clone())));
    }
    Scenario::try_from_sections(tables).map_err(rooflut_error::not_json)
}

/// Returns lengths as a scenario has them: of the family whose spread is that of the measured ones.
fn lengths(tokens: &Distribution) -> Option<String> {
    let mean = tokens.mean?;
    let fixed = format!("{}", mean.round().max(1.0));
    let Some(sd) = tokens.sd.filter(|sd| *sd > FIXED * mean) else {
        return Some(fixed);
    };
    let whole = |limit: f64| limit.round().max(1.0);
    let range = tokens.min.zip(tokens.max).filter(|(min, max)| whole(*min) < whole(*max));
    let Some((min, max)) = range else {
        return Some(fixed);
    };
    let (min, max) = (whole(min), whole(max));
    let uniform_sd = (max - min) / 12_f64.sqrt();
    if (sd / uniform_sd - 1.0).abs() < UNIFORM && ((min + max) / 2.0 / mean - 1.0).abs() < UNIFORM / 2.0 {
        return Some(format!("uniform:{min}..{max}"));
    }
    // A lognormal distribution has this mean and standard deviation.
    let sigma = (1.0 + (sd / mean) * (sd / mean)).ln().sqrt();
    let median = mean * (-sigma * sigma / 2.0).exp();
    Some(format!("lognormal:{median:.1},{sigma:.3}@{min}..{max}"))
}

impl Measured {
    /// Returns the scenario of a run as a scenario file, with its sources as comments.
    ///
    /// # Errors
    /// As of [`Measured::scenario`].
    pub fn scenario_file(&self, run: usize) -> Result<String, Error> {
        let files: Vec<&str> = self.files.iter().map(|file| file.file.as_str()).collect();
        let comment = format!("# As measured: {}\n", files.join(", ").replace(['\n', '\r'], " "));
        Ok(comment + &self.scenario(run)?.to_toml()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_of_the_family_that_they_come_from() {
        let of = |samples: Vec<f64>| lengths(&Distribution::of(samples)).unwrap();
        assert_eq!(of(vec![512.0; 9]), "512");
        assert_eq!(of((100..=300).map(f64::from).collect()), "uniform:100..300");
        // exp of evenly spaced quantiles of a normal distribution, sigma 0.5.
        let quantiles = [-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64];
        let lognormal = of(quantiles.iter().map(|z: &f64| 400.0 * (0.5 * z).exp()).collect());
        assert!(lognormal.starts_with("lognormal:40"), "{lognormal}");
        let mean = Distribution { mean: Some(99.6), ..Distribution::default() };
        assert_eq!(lengths(&mean).unwrap(), "100");
    }
}
