//! `--tables PATH`: measurements of one's own in place of a built-in set.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

use std::fs;

use crate::support::own_tables::mine;
use crate::support::{failure, json, list, text, workspace};

#[test]
fn scores_are_those_of_the_same_set_compiled_in() {
    let (_temp, path) = mine();
    let rows = format!("{path}/gemm.csv");
    let score = json(&format!("--tables {path} tables score {rows}"));
    let compiled = json(&format!("tables score {rows} --gpu h100"));
    assert_eq!(text(&score, "/summary/0/gpu"), "h10x");
    assert_eq!(text(&compiled, "/summary/0/gpu"), "h100");
    assert_eq!(score["rows"], compiled["rows"]);
    assert!(list(&score, "/rows").len() > 1000);
}

#[test]
fn validate_predicts_the_rows_of_the_gpu_with_it() {
    let (temp, path) = mine();
    let runs = workspace().join("laboratory/validation/decode_steps.csv").display().to_string();
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
    assert_eq!(predicted(&own).replace("h10x", "h100"), predicted(&built_in));
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
