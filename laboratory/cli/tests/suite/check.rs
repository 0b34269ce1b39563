//! `rooflut-lab tables check`.
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails as tests do")]

use crate::support::{json, list, number, success, text};
use serde_json::Value;

const SETS: [&str; 10] =
    ["a100", "b200", "b300", "gb200", "gb300", "h100", "h100-infersim", "h200", "l40s", "rtx-pro-6000"];

fn check(set: &str) -> Value {
    json(&format!("tables check {set}"))
}

/// The folder of a built-in set.
fn folder(set: &str) -> String {
    match set {
        "h100-infersim" => "laboratory/predecessors/h100-infersim".to_owned(),
        set => format!("bench_data/{set}"),
    }
}

/// Kind, file and line of each row that a warning names.
fn warned(answer: &Value) -> Vec<(String, String, u64)> {
    let mut rows = Vec::new();
    for warning in list(answer, "/warnings") {
        for row in list(warning, "/rows") {
            let line = row["line"].as_u64().expect("a line");
            rows.push((text(warning, "/kind").into(), text(row, "/file").into(), line));
        }
    }
    rows
}

/// Whether kernels have a feature of their own: most are not predicted from other rows, and the document does not count
/// them.
fn is_apart(kernels: &Value) -> bool {
    let of_features =
        ["_window ", "mla_", "dsa_", "delta_", "compressed_", "msa_", "hyper_", "allgather", "reducescatter"];
    let kernels = text(kernels, "/kernels");
    of_features.iter().any(|name| kernels.contains(name))
}

#[test]
fn the_set_of_our_own_has_no_errors() {
    let answer = check("bench_data/h200-measured");
    assert_eq!(text(&answer, "/set"), "h200-measured");
    let kernels = list(&answer, "/kernels").iter();
    let gemms = kernels.filter(|kernels| text(kernels, "/kernels").starts_with("gemm"));
    let rows: f64 = gemms.map(|kernels| number(kernels, "/rows")).sum();
    assert!((rows - 1_008.0).abs() < 0.5, "{rows}");
}

#[test]
fn the_built_in_sets_have_warnings_and_no_errors() {
    for set in SETS {
        let answer = check(&folder(set));
        assert_eq!(text(&answer, "/set"), set);
        let rows: f64 = list(&answer, "/kernels").iter().map(|kernels| number(kernels, "/rows")).sum();
        assert!((rows - number(&answer, "/rows")).abs() < 0.5);
        for kernels in list(&answer, "/kernels") {
            if is_apart(kernels) {
                continue;
            }
            assert!(number(kernels, "/left_out/median_ape") < 8.0, "{set}: {kernels}");
            assert!(number(kernels, "/left_out/rows") > 10.0);
        }
        let found = |figure: &str| -> f64 {
            let kernels = list(&answer, "/kernels").iter().filter(|kernels| !is_apart(kernels));
            kernels.map(|kernels| number(kernels, figure)).sum()
        };
        let row = format!("| `{set}` | {} | {} | ", found("/outliers"), found("/dips"));
        let told = include_str!("../../../../bench_data/README.md").contains(&row);
        assert!(told, "write into bench_data/README.md, Outliers: {row}");
        // Few enough to be read, except where decode attention depends on what the largest L2 cache keeps.
        let max_warnings = if set == "rtx-pro-6000" { 250 } else { 80 };
        let warnings = list(&answer, "/warnings").iter().filter(|warning| !is_apart(warning)).count();
        assert!(warnings < max_warnings, "{set}: {warnings}");
        let compiled = check(set);
        assert_eq!(compiled["kernels"], answer["kernels"]);
        assert_eq!(compiled["coverage"], answer["coverage"]);
        assert_eq!(list(&compiled, "/warnings").len(), list(&answer, "/warnings").len());
        for row in list(&compiled, "/warnings").iter().flat_map(|warning| list(warning, "/rows")) {
            assert_eq!((&row["file"], &row["line"]), (&Value::Null, &Value::Null));
        }
        for name in [set.to_owned(), folder(set)] {
            let people = success(&format!("tables check {name}"));
            // Rows of attention within a window have one more column and a longer name.
            let widest = if people.contains("_window") { 130 } else { 102 };
            assert!(people.lines().all(|line| line.chars().count() <= widest), "{people}");
        }
    }
}

#[test]
fn known_bad_rows_of_the_built_in_sets_are_found() {
    for (set, kind, file, line) in [
        // 94 us between 23 and 24.
        ("a100", "outlier", "a100/attention_decode.csv", 1042),
        // 15 us between 6 and 7.
        ("a100", "outlier", "a100/allreduce.csv", 52),
        // 11.8 us between 7.6 and 8.3.
        ("b200", "outlier", "b200/gemm.csv", 224),
        // 3,017 us where four heads take 90.
        ("a100", "suspects", "a100/attention_decode.csv", 13),
        // 841 us over a link that takes 66.
        ("l40s", "suspects", "l40s/allreduce.csv", 38),
    ] {
        let found = warned(&check(&folder(set)));
        let row = (kind.to_owned(), file.to_owned(), line);
        assert!(found.contains(&row), "no {row:?} in {found:?}");
    }
}

#[test]
fn replaced_rows_are_listed_with_their_latencies() {
    let answer = check("bench_data/b200");
    let replaced = list(&answer, "/excluded").iter().filter(|entry| !list(entry, "/latency_us").is_empty());
    let rows: usize = replaced.map(|entry| list(entry, "/rows").len()).sum();
    assert_eq!(rows, 42);
    let people = success("tables check bench_data/b200");
    assert!(people.contains("\n  replaced 32 rows of b200/gemm.csv: 15 us slower"), "{people}");
}

#[test]
fn coverage_is_told_for_each_model_and_number_of_gpus() {
    let answer = check("h100");
    let coverage = list(&answer, "/coverage");
    assert_eq!(coverage.len(), 4 * rooflut::model::CATALOG.len());
    let of = |model: &str, tp: u32| {
        let mut found = coverage.iter().filter(|row| row["model"] == model && row["tp"] == tp);
        found.next().unwrap_or_else(|| panic!("no {model}"))
    };
    assert_eq!(of("llama-3.1-8b", 2)["class"], "smoothed");
    assert_eq!(of("llama-3.1-8b", 1)["part"], "lm_head");
    assert_eq!(of("qwen2.5-7b", 8)["class"], Value::Null);
    assert!(text(of("qwen2.5-7b", 8), "/refused").contains("q_heads"));
    // A set without MoE cannot answer for experts, and says so.
    let people = success("tables check h100-infersim");
    assert!(people.contains("refused (1)"), "{people}");
    // Rows that are predicted from the others are not those that a set excludes.
    let heading = "rows  outliers  dips  suspects  predicted  median error %  p95 error %";
    assert!(people.contains(heading), "{people}");
    assert!(!people.contains("left out"), "{people}");
    assert!(people.contains("\n  (1)      "), "{people}");
}
