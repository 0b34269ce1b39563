//! `--tables PATH`: measurements of one's own in place of a built-in set.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

use std::fs;

use crate::support::own_tables::mine;
use crate::support::{json, list, number, success, text, unwrapped};

const GEMM: &str = "lookup gemm --k 4096 --n 5000 --m 100";

#[test]
fn every_command_answers_as_with_the_same_set_compiled_in() {
    let (_temp, path) = mine();
    for command in [GEMM, "step --decode 64x1000 --prefill 512@100", "run --requests 50 --rate 5"] {
        for more in ["--json", ""] {
            let built_in = success(&format!("{command} --gpu h100 {more}"));
            let own = success(&format!("{command} --tables {path} {more}"));
            assert_ne!(own, built_in, "{command:?} does not name the set");
            let [own, built_in] = [own, built_in].map(|text| without_interval(&text));
            let own = own.replace(&format!("--tables {path}"), "--gpu h100");
            assert_eq!(own.replace("h10x", "h100"), built_in, "{command:?}");
        }
    }
}

/// Leaves the interval out, as the errors of a set of one's own are not known.
fn without_interval(answer: &str) -> String {
    let mut inside = false;
    let mut rest = String::new();
    for line in answer.lines() {
        inside = match line.trim_start() {
            begin if begin.starts_with("\"interval\": {") || begin.starts_with("interval ") => true,
            "}," => false,
            _ => inside && line.starts_with("    "),
        };
        if !inside {
            rest += line;
            rest += "\n";
        }
    }
    rest
}

#[test]
fn intervals_of_own_tables_are_wide_and_name_the_set_of_their_errors() {
    let (_temp, path) = mine();
    let high = |line: &str, pointer: &str| number(&json(line), pointer);
    for (command, pointer) in [(GEMM, "/interval/high_us"), ("step --decode 64x1000", "/interval/high_ms")] {
        let own = format!("{command} --tables {path}");
        assert!(high(&own, pointer) > high(command, pointer), "{command}");
        let is_named = |line: &str| unwrapped(line).contains("with errors as on h100");
        assert!(is_named(&own) && !is_named(command), "{command}");
    }
    let run = json(&format!("run --requests 50 --rate 5 --interval 0.8 --tables {path}"));
    let note = "the errors of h10x are not known; the interval has the largest of h100";
    assert_eq!(run["notes"], serde_json::json!([note]));
}

#[test]
fn the_flag_may_stand_before_the_command() {
    let (_temp, path) = mine();
    let behind = success(&format!("{GEMM} --tables {path}"));
    assert_eq!(success(&format!("--tables {path} {GEMM}")), behind);
    let alone = success(&format!("--tables {path}"));
    assert_eq!(alone, success(&format!("run --tables {path}")));
    assert!(alone.contains("h10x: vLLM 0.24.0"), "{alone}");
    assert!(success("--help").contains("--tables PATH"));
}

#[test]
fn tables_lists_the_set() {
    let (_temp, path) = mine();
    let sets = json(&format!("tables --tables {path}"));
    assert_eq!(list(&sets, "/tables").len(), 1);
    assert_eq!(text(&sets, "/tables/0/name"), "h10x");
}

#[test]
fn a_scenario_has_a_key_for_it_which_replaces_gpu_and_is_replaced_by_it() {
    let (temp, path) = mine();
    let scenario = temp.path().join("scenario.toml");
    fs::write(&scenario, format!("tables = {path:?}\n[workload]\nrequests = 20\n")).unwrap();
    let scenario = scenario.display().to_string();
    let own = success(&format!("run --scenario {scenario}"));
    assert!(own.contains("h10x: vLLM"), "{own}");
    let replaced = success(&format!("run --scenario {scenario} --gpu h200"));
    assert!(replaced.contains("h200: vLLM") && replaced.contains("tables"), "{replaced}");
    fs::write(&scenario, "gpu = \"h200\"\n[workload]\nrequests = 20\n").unwrap();
    let replaced = success(&format!("run --scenario {scenario} --tables {path}"));
    assert!(replaced.contains("h10x: vLLM"), "{replaced}");
}
