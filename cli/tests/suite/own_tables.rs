//! `--tables PATH`: measurements of one's own in place of a built-in set.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{failure, json, list, number, success, text, unwrapped, workspace};
use tempfile::TempDir;

/// A copy of the folder of the set `h100` that is called `h10x`.
fn mine() -> (TempDir, String) {
    let temp = tempfile::tempdir().unwrap();
    let dir = copy("h100", temp.path());
    let header = fs::read_to_string(dir.join("set.toml")).unwrap();
    let renamed = header.replacen("name = \"h100\"", "name = \"h10x\"", 1);
    fs::write(dir.join("set.toml"), renamed).unwrap();
    let path = dir.display().to_string();
    (temp, path)
}

fn copy(set: &str, into: &Path) -> PathBuf {
    let dir = into.join("measured");
    fs::create_dir(&dir).unwrap();
    for entry in fs::read_dir(workspace().join("bench_data").join(set)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
    }
    dir
}

const GEMM: &str = "lookup gemm --k 4096 --n 5000 --m 100";

#[test]
fn every_command_answers_as_with_the_same_set_compiled_in() {
    let (_temp, path) = mine();
    for command in [
        GEMM,
        "step --decode 64x1000 --prefill 512@100",
        "run --requests 50 --rate 5",
    ] {
        for more in ["--json", ""] {
            let built_in = success(&format!("{command} --gpu h100 {more}"));
            let own = success(&format!("{command} --tables {path} {more}"));
            assert_ne!(own, built_in, "{command:?} does not name the set");
            let [own, built_in] = [own, built_in].map(|text| without_interval(&text));
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
    for (command, pointer) in [
        (GEMM, "/interval/high_us"),
        ("step --decode 64x1000", "/interval/high_ms"),
    ] {
        let own = format!("{command} --tables {path}");
        assert!(high(&own, pointer) > high(command, pointer), "{command}");
        let is_named = |line: &str| unwrapped(line).contains("with errors as on h100");
        assert!(is_named(&own) && !is_named(command), "{command}");
    }
    let run = json(&format!(
        "run --requests 50 --rate 5 --interval 0.8 --tables {path}"
    ));
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
fn tables_lists_the_set_and_scores_it() {
    let (_temp, path) = mine();
    let sets = json(&format!("tables --tables {path}"));
    assert_eq!(list(&sets, "/tables").len(), 1);
    assert_eq!(text(&sets, "/tables/0/name"), "h10x");
    let rows = format!("{path}/gemm.csv");
    let score = json(&format!("--tables {path} tables score {rows}"));
    let compiled = json(&format!("tables score {rows} --gpu h100"));
    assert_eq!(text(&score, "/summary/0/gpu"), "h10x");
    assert_eq!(text(&compiled, "/summary/0/gpu"), "h100");
    assert_eq!(score["rows"], compiled["rows"]);
    assert!(list(&score, "/rows").len() > 1000);
}

#[test]
fn a_scenario_has_a_key_for_it_which_replaces_gpu_and_is_replaced_by_it() {
    let (temp, path) = mine();
    let scenario = temp.path().join("scenario.toml");
    fs::write(
        &scenario,
        format!("tables = {path:?}\n[workload]\nrequests = 20\n"),
    )
    .unwrap();
    let scenario = scenario.display().to_string();
    let own = success(&format!("run --scenario {scenario}"));
    assert!(own.contains("h10x: vLLM"), "{own}");
    let replaced = success(&format!("run --scenario {scenario} --gpu h200"));
    assert!(
        replaced.contains("h200: vLLM") && replaced.contains("tables"),
        "{replaced}"
    );
    fs::write(&scenario, "gpu = \"h200\"\n[workload]\nrequests = 20\n").unwrap();
    let replaced = success(&format!("run --scenario {scenario} --tables {path}"));
    assert!(replaced.contains("h10x: vLLM"), "{replaced}");
}

#[test]
fn validate_predicts_the_rows_of_the_gpu_with_it() {
    let (temp, path) = mine();
    let runs = workspace()
        .join("crates/validation/decode_steps.csv")
        .display()
        .to_string();
    let built_in = json(&format!("validate {runs}"));
    let own = json(&format!("validate {runs} --tables {path}"));
    let rows = |report: &serde_json::Value, gpu| {
        let rows = list(report, "/rows").iter();
        rows.filter(|row| text(row, "/gpu") == gpu).count()
    };
    assert!(rows(&built_in, "h100") > 0);
    assert_eq!(rows(&own, "h10x"), rows(&built_in, "h100"));
    assert_eq!(rows(&own, "h100"), 0);
    // Equal measurements predict equal times.
    let predicted = |report: &serde_json::Value| report["rows"].to_string();
    assert_eq!(
        predicted(&own).replace("h10x", "h100"),
        predicted(&built_in)
    );
    let notes = own["notes"].to_string();
    assert!(notes.contains("predicted as h10x"), "{notes}");

    let header = temp.path().join("measured/set.toml");
    let other = fs::read_to_string(&header).unwrap();
    fs::write(&header, other.replace("gpu = \"h100\"", "gpu = \"b200\"")).unwrap();
    assert_eq!(
        failure(&format!("validate {runs} --tables {path}")),
        "--tables: expected rows that were measured on b200, the GPU of h10x, found none; leave \
         --tables out or name other files"
    );
}
