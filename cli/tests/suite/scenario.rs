//! `rooflut run --scenario`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::{file, json, success};
use serde_json::{Value, json};

const EXAMPLE: &str = "examples/scenario.toml";

/// The answer to a scenario with these flags.
fn answer(text: &str, flags: &str) -> Value {
    let (_folder, path) = file("scenario.toml", text);
    json(&format!("run --scenario {path} {flags}"))
}

#[test]
fn the_example_runs_and_the_guide_names_it() {
    let answer = json(&format!("run --scenario {EXAMPLE}"));
    assert_eq!(answer["completed"], 500);
    assert_eq!(answer["gpu"], "h200");
    assert_eq!(answer["load"]["kind"], "gamma");
    assert_eq!(answer["scenario"], json!({"path": EXAMPLE, "replaced": []}));
    let guide = include_str!("../../../docs/command.md");
    assert!(guide.contains("run --scenario examples/scenario.toml"));
}

#[test]
fn keys_are_the_flags_of_their_names() {
    let text = "tp = 2\n[server]\nmax-num-seqs = 64\npolicy = 'priority'\n[workload]\nrate = 5\nrequests = 50\n\
                prompt = 'uniform:100..900'\noutput = 100\npriorities = [0.4, 0.6]\nseed = 3\n\
                [output]\njson = true\n";
    let (_folder, path) = file("scenario.toml", text);
    let said: Value = serde_json::from_str(&success(&format!("run --scenario {path}"))).expect("JSON");
    let flags = "run --tp 2 --max-num-seqs 64 --rate 5 --requests 50 --prompt uniform:100..900 --output 100 --policy priority --priorities 0.4,0.6 --seed 3";
    let mut flagged = json(flags);
    assert_eq!(flagged["scenario"], Value::Null);
    flagged["scenario"] = json!({"path": path, "replaced": []});
    assert_eq!(said, flagged);
}

#[test]
fn help_is_given_whatever_the_scenario_is() {
    let help = success("run --scenario no/such --help");
    assert!(help.contains("LENGTHS are"), "{help}");
    let (_folder, path) = file("scenario.toml", "");
    assert_eq!(json(&format!("run --scenario {path}"))["ttft_ms"], json("run")["ttft_ms"]);
}

#[test]
fn drafts_and_pools_of_a_scenario_are_those_of_the_flags() {
    let drafts = "draft_tokens = 4\nacceptance = 0.7\ndraft_model = 'ngram'\n";
    let pools = "prefill_replicas = 2\ndecode_replicas = 1\nlink_bandwidth = 50.5\nlink_latency = 5\n";
    for (keys, flags, told) in [
        (drafts, "--draft-tokens 4 --acceptance 0.7 --draft-model ngram", "speculation"),
        (pools, "--prefill-replicas 2 --decode-replicas 1 --link-bandwidth 50.5 --link-latency 5", "disaggregation"),
    ] {
        let said = answer(&format!("pp = 1\ndp = 1\n[server]\n{keys}"), "--requests 20");
        let mut flagged = json(&format!("run --requests 20 {flags}"));
        assert!(flagged[told].is_object(), "{flagged}");
        for of_form in ["scenario", "command"] {
            flagged[of_form] = said[of_form].clone();
        }
        assert_eq!(said, flagged);
    }
}
