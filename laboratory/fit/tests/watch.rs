//! Published servers that were measured twice are not found to have changed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;

use rooflut_calibrate::{Change, Metric, New, Posterior, Priors};

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
    let is_alarm = |[before, after]: &&[[f64; 2]; 2]| {
        METRICS.iter().enumerate().any(|(index, (metric, _))| {
            let repeat = New::Repeat { change: (after[index] / before[index]).ln(), of: 1 };
            Change::of(*metric, &[repeat], &posterior).unwrap().is_slower()
        })
    };
    let alarms = pairs.iter().filter(is_alarm).count();
    assert!(20 * alarms <= pairs.len(), "{alarms} of {}", pairs.len());
    let is_found = |[before, _]: &&[[f64; 2]; 2]| {
        let repeat = New::Repeat { change: (1.1 * before[0] / before[0]).ln(), of: 1 };
        Change::of(Metric::Tpot, &[repeat], &posterior).unwrap().is_slower()
    };
    assert!(pairs.iter().all(|pair| is_found(&pair)), "steps that are 10 % slower are found by one repeat");
}
