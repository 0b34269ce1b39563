//! `rooflut-lab tables score`.
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails as tests do")]

use std::fmt::Write;
use std::path::Path;

use crate::support::{file, json, list, number, success, text, workspace};
use serde_json::Value;

fn score(path: &str, gpu: &str) -> Value {
    json(&format!("tables score {path} --gpu {gpu}"))
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// A file of the built-in data, from the folder of the workspace.
fn data(set: &str, name: &str) -> String {
    match set {
        "h100-infersim" => format!("laboratory/predecessors/{set}/{name}"),
        set => format!("bench_data/{set}/{name}"),
    }
}

/// A CSV whose last column, the latency, is `factor` times as long.
fn scaled(csv: &str, factor: f64) -> String {
    let (header, rows) = csv.split_once('\n').expect("a header");
    let mut text = format!("{header}\n");
    for row in rows.lines() {
        let (kernel, latency) = row.rsplit_once(',').expect("columns");
        let latency: f64 = latency.parse().expect("a number");
        writeln!(text, "{kernel},{}", latency * factor).expect("room");
    }
    text
}

fn summary<'v>(answer: &'v Value, metric: &str) -> &'v Value {
    let mut summaries = list(answer, "/summary").iter();
    let found = summaries.find(|summary| text(summary, "/metric") == metric);
    found.unwrap_or_else(|| panic!("no {metric} in {answer}"))
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-4, "{found}, not {expected}");
}

#[test]
fn a_set_has_no_error_against_its_own_rows() {
    for set in ["a100", "b200", "b300", "gb200", "gb300", "h100", "h100-infersim", "h200", "l40s", "rtx-pro-6000"] {
        for file in ["gemm.csv", "attention_prefill.csv", "attention_decode.csv", "allreduce.csv", "moe.csv"] {
            let path = data(set, file);
            let Ok(csv) = std::fs::read_to_string(workspace().join(&path)) else {
                continue;
            };
            let answer = score(&path, set);
            assert!(list(&answer, "/skipped").is_empty());
            assert_eq!(list(&answer, "/rows").len(), csv.lines().count() - 1);
            // Some sets exclude rows, which are interpolated, and replace others, which keep an error.
            let rows = list(&answer, "/rows").iter();
            let (measured, excluded): (Vec<_>, Vec<_>) = rows.partition(|row| row["class"] == "measured");
            let expected = match path.as_str() {
                "bench_data/b200/gemm.csv" => 52,
                "bench_data/b300/gemm.csv" | "bench_data/gb200/gemm.csv" => 6,
                "bench_data/gb300/gemm.csv"
                | "bench_data/a100/attention_decode.csv"
                | "bench_data/l40s/attention_decode.csv" => 1,
                _ => 0,
            };
            assert_eq!(excluded.len(), expected, "{path}");
            let (replaced, kept): (Vec<_>, Vec<_>) = (measured.into_iter())
                .partition(|row| path == "bench_data/b200/gemm.csv" && row["dtype"] == "fp8" && row["m"] == 1);
            for row in kept {
                assert_close(number(row, "/ape"), 0.0);
            }
            // (All of one token, and slower than those in their place.)
            let expected = if path == "bench_data/b200/gemm.csv" { 42 } else { 0 };
            assert_eq!(replaced.len(), expected, "{path}");
            assert!(replaced.iter().all(|row| number(row, "/signed") < -10.0));
        }
    }
}

#[test]
fn rows_of_our_own_are_near_the_published_ones() {
    // Medians of absolute errors, in percent: bench_data/README.md says what the sets time differently.
    let files =
        [("gemm.csv", 15.0), ("attention_prefill.csv", 25.0), ("attention_decode.csv", 12.0), ("moe.csv", 15.0)];
    for (file, at_most) in files {
        let answer = score(&data("h200-measured", file), "h200");
        let whole = list(&answer, "/summary").last().expect("a summary");
        let median = number(whole, "/median_ape");
        assert!(median < at_most, "{file}: {median}");
    }
}

#[test]
fn a_machine_that_is_slower_or_faster_than_the_tables_shows_in_the_sign() {
    let csv = read(workspace().join(data("h100", "allreduce.csv")));
    for (factor, signed) in [(1.1, -100.0 / 11.0), (1.0 / 1.1, 10.0)] {
        let (_folder, path) = file("mine.csv", scaled(&csv, factor));
        let answer = score(&path, "h100");
        let whole = summary(&answer, "allreduce");
        assert_eq!(whole["n"], 69);
        assert_close(number(whole, "/mean_signed"), signed);
        for figure in ["median_ape", "mean_ape", "p90_ape", "max_ape"] {
            assert_close(number(whole, &format!("/{figure}")), signed.abs());
        }
        for row in list(&answer, "/rows") {
            assert_close(number(row, "/signed"), signed);
            assert_close(number(row, "/ape"), signed.abs());
        }
    }
}

#[test]
fn another_gpu_is_compared_row_by_row() {
    let path = data("h200", "gemm.csv");
    let answer = score(&path, "h100");
    let tables = read(workspace().join(data("h100", "gemm.csv")));
    let measured = read(workspace().join(&path));
    let measured: Vec<&str> = measured.lines().collect();
    // Rows of fp8_block have gaps, and the set excludes some.
    let rows = list(&answer, "/rows").iter();
    for row in rows.filter(|row| text(row, "/dtype") != "fp8_block") {
        let line = row["line"].as_u64().expect("a line") as usize;
        let (kernel, latency) = measured[line - 1].rsplit_once(',').expect("columns");
        let fields = format!("{},{},{},{}", text(row, "/dtype"), row["k"], row["n"], row["m"]);
        assert_eq!(fields, kernel);
        assert_eq!((text(row, "/file"), text(row, "/op")), ("gemm.csv", "gemm"));
        let actual: f64 = latency.parse().expect("a number");
        assert_close(number(row, "/actual"), actual);
        let own = tables.lines().find_map(|other| {
            let rest = other.strip_prefix(kernel)?;
            rest.strip_prefix(',')?.parse::<f64>().ok()
        });
        let predicted = own.expect("h100 has the same kernels");
        assert!((number(row, "/predicted") / predicted - 1.0).abs() < 1e-6);
        assert_close(number(row, "/signed"), 100.0 * (predicted / actual - 1.0));
    }
    // A rate that only an H200 can reach is no measurement of an H100.
    let [faster] = list(&answer, "/skipped") else {
        panic!("{answer}");
    };
    assert!(text(faster, "/reason").starts_with("faster than the bandwidth of h100"));
    let left_out = list(faster, "/lines").len();
    assert_eq!(list(&answer, "/rows").len() + left_out, measured.len() - 1);
    let whole = summary(&answer, "all");
    assert_eq!(text(whole, "/gpu"), "h100");
    assert_eq!(whole["n"], list(&answer, "/rows").len());
    let parts = ["gemm bf16", "gemm fp8", "gemm fp8_block"].map(|metric| number(summary(&answer, metric), "/n"));
    assert_close(number(whole, "/n"), parts.iter().sum());
}

#[test]
fn every_operation_is_told_to_people() {
    for (file, words) in [
        ("gemm.csv", "gemm fp8"),
        ("attention_prefill.csv", "prefill bf16"),
        ("attention_decode.csv", "decode bf16 with fp8 KV"),
        ("allreduce.csv", "allreduce"),
        ("moe.csv", "moe bf16"),
    ] {
        for gpu in ["h100", "b200"] {
            let people = success(&format!("tables score {} --gpu {gpu}", data("h200", file)));
            assert!(people.contains(words), "{people}");
            assert!(people.lines().all(|line| line.len() <= 100), "{people}");
        }
    }
}
