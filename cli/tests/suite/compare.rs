//! `rooflut compare`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

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

/// Keys of a report that a run computes or that describe its input; all others are settings.
const RESULTS: [&str; 55] = [
    "schema_version",
    "weight_bytes",
    "scenario",
    "command",
    "ttft_ms",
    "tpot_ms",
    "itl_ms",
    "e2e_ms",
    "queue_ms",
    "percentile_error",
    "itl_percentile_error",
    "steady",
    "queue_growth",
    "overloaded",
    "interval",
    "seeds",
    "throughput",
    "goodput",
    "cost",
    "energy_bound",
    "completed",
    "rejected",
    "rejected_by_reason",
    "truncated",
    "preemptions",
    "steps",
    "mean_step_ms",
    "makespan_s",
    "busy_share",
    "running_mean",
    "batch_size",
    "cuda_graph_max_tokens",
    "limited_by",
    "kv_blocks",
    "kv_blocks_peak",
    "kv_blocks_mean",
    "limits_met",
    "prefix_cache_hit_rate",
    "tokens_per_s_per_user",
    "output_tokens_per_s_per_gpu",
    "total_tokens_per_s_per_gpu",
    "by_priority",
    "windows",
    "quantiles",
    "max_model_len_lowered_from",
    "busiest_replica_share",
    "class",
    "extent",
    "time_share_by_source",
    "time_share_outside",
    "time_share_by_part",
    "time_share_by_binding",
    "flagged_rows",
    "notes",
    "table_source",
];

#[test]
fn all_settings_of_a_report_are_compared() {
    let report = json("run --requests 20");
    let mut other = report.clone();
    let (disaggregation, speculation) = (
        json!({"prefill_replicas": 1, "decode_replicas": 1, "link_bandwidth_gb_per_s": 1.0, "link_latency_us": 1.0}),
        json!({"draft_tokens": 2, "acceptance": 0.5, "draft_model": "ngram"}),
    );
    let keys = other.as_object_mut().expect("a report");
    for (key, value) in keys.iter_mut() {
        *value = match (key.as_str(), &*value) {
            (key, value) if RESULTS.contains(&key) => value.clone(),
            ("disaggregation", _) => disaggregation.clone(),
            ("speculation", _) => speculation.clone(),
            ("clients", _) => json!({"patience_s": 1.0, "retries_per_request": 1}),
            (_, Value::Bool(given)) => Value::Bool(!given),
            (_, Value::Number(_)) => json!(7_777),
            _ => json!("another"),
        };
    }
    let expected: BTreeSet<String> = keys.keys().filter(|key| !RESULTS.contains(&key.as_str())).cloned().collect();
    let (_a, a) = file("a.json", report.to_string());
    let (_b, b) = file("b.json", other.to_string());
    let answer = json(&format!("compare {a} {b}"));
    let settings = answer["settings"].as_array().expect("settings").iter();
    let keys = settings.map(|setting| setting["key"].as_str().expect("a key"));
    let named = keys.map(|key| key.split('.').next().unwrap_or(key).to_owned());
    assert_eq!(named.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn runs_of_other_lengths_are_other_loads() {
    let (_a, a) = file("a.toml", A);
    let (_b, b) = file("b.toml", A.replace("100", "50"));
    let answer = json(&format!("compare {a} {b}"));
    assert_eq!(answer["settings"], json!([{"key": "requests", "a": 100, "b": 50}]));
    let remark = answer["remarks"][0].as_str().expect("a remark");
    assert!(remark.starts_with("the loads differ"), "{remark}");
}
