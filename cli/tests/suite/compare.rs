//! `rooflut compare`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;

use serde_json::Value;

use crate::support::{file, json, success};

const A: &str = "[workload]\nrequests = 100\n";
const B: &str = "gpu = 'h200'\ntp = 2\n[workload]\nrequests = 100\n[server]\nmax_num_seqs = 16\n";

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn terms_of_simulated_servers_add_up() {
    let ((_a, a), (_b, b)) = (file("a.toml", A), file("b.toml", B));
    let answer = json(&format!("compare {a} {b}"));
    let causes = answer["causes"].as_array().expect("causes");
    assert_eq!(causes.len(), 2);
    for cause in causes {
        let terms = cause["terms"].as_array().expect("terms").iter();
        let sum: f64 = terms.map(|term| number(&term["difference_ms"])).sum();
        let difference = number(&cause["difference_ms"]);
        assert!((sum / difference - 1.0).abs() < 1e-9, "{cause}");
    }
    let [of_a, of_b] = [&a, &b].map(|path| json(&format!("run --scenario {path}")));
    let ttft = &answer["figures"][0];
    assert_eq!(ttft["a"], of_a["ttft_ms"]["mean"]);
    assert_eq!(ttft["b"], of_b["ttft_ms"]["mean"]);
    // Requests wait for one of the 16 places.
    assert!(number(&ttft["percent"]) > 0.0);
}

#[test]
fn a_report_is_equal_to_the_scenario_that_it_is_of() {
    let (_folder, path) = file("a.toml", A);
    let (_other, report) = file("a.json", success(&format!("run --scenario {path} --json")));
    let answer = json(&format!("compare {path} {report}"));
    let figures = answer["figures"].as_array().expect("figures");
    assert!(figures.iter().all(|figure| figure["a"] == figure["b"]));
    assert_eq!(answer["settings"], Value::Array(Vec::new()));
    assert_eq!(answer["remarks"], Value::Array(Vec::new()));
}

#[test]
fn the_outputs_of_scenarios_are_not_written() {
    let (folder, _) = file("kept.csv", "kept");
    let kept = folder.path().join("kept.csv");
    let keys = format!("{A}[output]\nsteps_out = {kept:?}\n");
    let (_scenario, path) = file("a.toml", &keys);
    success(&format!("compare {path} {path}"));
    assert_eq!(fs::read_to_string(kept).expect("a file"), "kept");
}
