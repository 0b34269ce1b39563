//! Published servers that were measured twice are not found to have changed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;

use rooflut_calibrate::{Change, Metric, New, Posterior, Priors, Residual, Vector};

const FILES: [&str; 2] = [
    include_str!("../../validation/servers_inferencex.csv"),
    include_str!("../../validation/servers_steady_state.csv"),
];
/// Columns that tell a load of a server, before the first column of free text.
const TELLING: [&str; 12] = [
    "gpu",
    "engine",
    "model",
    "precision",
    "kv_dtype",
    "gpus",
    "tp",
    "dp",
    "expert_parallel",
    "isl",
    "osl",
    "concurrency",
];
const METRICS: [(Metric, &str); 2] = [(Metric::Tpot, "tpot_ms"), (Metric::Ttft, "ttft_ms")];

/// The times of each load that was measured, of servers that keep up with it.
fn loads() -> Vec<Vec<[f64; 2]>> {
    let mut loads: BTreeMap<Vec<&str>, Vec<[f64; 2]>> = BTreeMap::new();
    for file in FILES {
        let mut lines = file.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            if ["saturated", "suspect"].iter().all(|name| cells[column(name)] == "0") {
                let times = METRICS.map(|(_, name)| cells[column(name)].parse().unwrap());
                loads.entry(TELLING.map(|name| cells[column(name)]).into()).or_default().push(times);
            }
        }
    }
    loads.into_values().collect()
}

#[test]
fn at_most_one_in_twenty_repeats_is_an_alarm() {
    let posterior = Posterior::new(&Priors::shipped().unwrap(), &[]);
    let loads = loads();
    let pairs = loads.iter().filter(|load| load.len() > 1).map(|load| [load[0], load[1]]);
    // Each of the two may be the newer one.
    let pairs: Vec<_> = pairs.flat_map(|[a, b]| [[a, b], [b, a]]).collect();
    assert!(pairs.len() > 150, "{}", pairs.len());
    let of_pair = |[before, after]: &[[f64; 2]; 2], index: usize, slowdown: f64, runs: usize| {
        let (metric, _) = METRICS[index];
        let since = Some((slowdown * after[index] / before[index]).ln());
        let residual = Residual { metric, error: 0.0, slopes: Vector::zeros() };
        Change::of(metric, &vec![New { load: 0, residual, since }; runs], &posterior).unwrap()
    };
    // However often it is measured on that day.
    for runs in [1, 3, 10] {
        let is_alarm = |pair: &&[[f64; 2]; 2]| (0..2).any(|index| of_pair(pair, index, 1.0, runs).is_slower());
        let alarms = pairs.iter().filter(is_alarm).count();
        assert!(20 * alarms <= pairs.len(), "{alarms} of {}", pairs.len());
    }
    let is_found = |pair: &&[[f64; 2]; 2]| of_pair(pair, 0, 1.1, 1).is_slower();
    let found = pairs.iter().filter(is_found).count();
    assert!(5 * found > 4 * pairs.len(), "{found} of {}: steps that are 10 % slower", pairs.len());
}
