//! `rooflut tables score`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as tests do"
)]

use std::fmt::Write;
use std::path::Path;

use crate::support::{failure, json, list, number, success, text, workspace};
use serde_json::Value;
use tempfile::TempDir;

const GEMM: &str = "dtype,k,n,m,latency_us\n";

fn score(file: &str, gpu: &str) -> Value {
    json(&format!("tables score {file} --gpu {gpu}"))
}

/// A file of that name and its path; the folder goes with the value.
fn written(name: &str, contents: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, contents).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// A file of the built-in data, from the folder of the workspace.
fn data(set: &str, file: &str) -> String {
    format!("bench_data/{set}/{file}")
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
    for set in ["a100", "b200", "h100", "h100-infersim", "h200", "l40s"] {
        for file in [
            "gemm.csv",
            "attention_prefill.csv",
            "attention_decode.csv",
            "allreduce.csv",
            "moe.csv",
        ] {
            let path = data(set, file);
            let Ok(csv) = std::fs::read_to_string(workspace().join(&path)) else {
                continue;
            };
            let answer = score(&path, set);
            assert!(list(&answer, "/skipped").is_empty());
            assert_eq!(list(&answer, "/rows").len(), csv.lines().count() - 1);
            // Three sets exclude rows.
            let rows = list(&answer, "/rows").iter();
            let (measured, excluded): (Vec<_>, Vec<_>) =
                rows.partition(|row| row["class"] == "measured");
            let expected = match path.as_str() {
                "bench_data/b200/gemm.csv" => 53,
                "bench_data/a100/attention_decode.csv" | "bench_data/l40s/attention_decode.csv" => {
                    1
                }
                _ => 0,
            };
            assert_eq!(excluded.len(), expected, "{path}");
            for row in measured {
                assert_close(number(row, "/ape"), 0.0);
            }
        }
    }
}

#[test]
fn a_machine_that_is_slower_or_faster_than_the_tables_shows_in_the_sign() {
    let csv = read(workspace().join(data("h100", "allreduce.csv")));
    for (factor, signed) in [(1.1, -100.0 / 11.0), (1.0 / 1.1, 10.0)] {
        let (_folder, path) = written("mine.csv", &scaled(&csv, factor));
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
    for row in list(&answer, "/rows") {
        let line = row["line"].as_u64().expect("a line") as usize;
        let (kernel, latency) = measured[line - 1].rsplit_once(',').expect("columns");
        let fields = format!(
            "{},{},{},{}",
            text(row, "/dtype"),
            row["k"],
            row["n"],
            row["m"]
        );
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
    let parts = ["gemm bf16", "gemm fp8"].map(|metric| number(summary(&answer, metric), "/n"));
    assert_close(number(whole, "/n"), parts.iter().sum());
}

#[test]
fn errors_are_told_by_class_and_extent_of_the_prediction() {
    let rows = "bf16,4096,4096,64,12\nbf16,4096,4096,100,12\nbf16,4096,4096,100,13\n\
                bf16,4096,4096,1000000,100000\nbf16,100000,100000,100,50000\n";
    let (_folder, path) = written("mine.csv", &format!("{GEMM}{rows}"));
    let answer = score(&path, "h100");
    let of_origin = |class: &str, extent: &str| {
        let parts = list(&answer, "/by_provenance").iter();
        let mut parts = parts.filter(|part| part["metric"] == "gemm bf16");
        let found = parts.find(|part| part["class"] == class && part["extent"] == extent);
        found.unwrap_or_else(|| panic!("no {class}, {extent} in {answer}"))["n"].clone()
    };
    assert_eq!(of_origin("measured", "inside"), 1);
    assert_eq!(of_origin("interpolated", "inside"), 2);
    assert_eq!(of_origin("interpolated", "outside"), 1);
    assert_eq!(of_origin("transferred", "inside"), 1);
    let people = success(&format!("tables score {path} --gpu h100"));
    for words in [
        "5 of 5 scored (gemm)",
        "gemm bf16  all",
        "interpolated             2",
        "interpolated,outside     1",
        "the largest errors, times in us, dtype bf16\n",
    ] {
        assert!(people.contains(words), "no {words} in\n{people}");
    }
    assert_eq!(people.matches("gemm bf16").count(), 1, "{people}");
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

#[test]
fn rows_that_cannot_be_judged_are_counted_and_named() {
    let rows = "nvfp4,4096,4096,64,8\nbf16,4096,4096,16384,1\nfp8,4096,4096,64,8\n";
    let (_folder, path) = written("mine.csv", &format!("{GEMM}{rows}"));
    let answer = score(&path, "h100");
    let [unknown, faster] = list(&answer, "/skipped") else {
        panic!("{answer}");
    };
    let reason = text(unknown, "/reason");
    assert!(
        reason.contains("a dtype that h100 has a peak for, found \"nvfp4\""),
        "{reason}"
    );
    let reason = text(faster, "/reason");
    assert!(
        reason.starts_with("faster than the bf16 peak of h100 (989.50 TFLOP/s)"),
        "{reason}"
    );
    assert_eq!(
        (&unknown["lines"][0], &faster["lines"][0]),
        (&2.into(), &3.into())
    );
    let people = success(&format!("tables score {path} --gpu h100"));
    assert!(people.contains("1 of 3 scored"), "{people}");
    assert!(
        people.contains("left out 1 row (line 2): dtype"),
        "{people}"
    );

    let ranks = "ranks,bytes,latency_us\n16,1024,9\n2,1024,9\n16,2048,9\n";
    let (_folder, path) = written("mine.csv", ranks);
    let people = success(&format!("tables score {path} --gpu h100"));
    assert!(
        people.contains("2 rows (lines 2, 4): table set h100: allreduce"),
        "{people}"
    );
}

#[test]
fn rows_that_cannot_be_read_are_left_out_and_grouped() {
    let header = "dtype,k,n,m,latency_us,kernel_source,warmup,note,\n";
    let rows = [
        "bf16,4096,4096,64,12,cublas,0,,",
        "int8,4096,4096,64,12,cublas,0,,",
        "bf16,4096,4096,64,nan,cublas,0,,",
        "bf16,4096,4096,64.0,12,cublas,0,,",
        "bf16,4096,4096,128.0,12,cublas,0,,",
        "bf16,4096,4096,64,120,cublas,1,cold,",
        ",,,,,,,,",
        "bf16,4096,4096,64",
        "bf16,4096,4096,64,13,cublas,,,",
    ];
    let (_folder, path) = written("mine.csv", &format!("{header}{}\n", rows.join("\n")));
    let answer = score(&path, "h100");
    assert_eq!(list(&answer, "/rows").len(), 2);
    let skipped = list(&answer, "/skipped").iter();
    let skipped: Vec<(&str, &Value)> = skipped
        .map(|skipped| (text(skipped, "/reason"), &skipped["lines"]))
        .collect();
    let expected = [
        ("dtype: expected one of bf16, fp8, ", vec![3]),
        (
            "latency_us: expected a positive number, found \"nan\"",
            vec![4],
        ),
        (
            "m: expected a positive whole number below 2^32, found \"128.0\", \"64.0\"",
            vec![5, 6],
        ),
        ("a warm-up run", vec![7]),
        ("expected 9 fields (dtype,k,n,m,", vec![9]),
    ];
    assert_eq!(skipped.len(), expected.len());
    for ((reason, lines), (words, expected)) in skipped.iter().zip(expected) {
        assert!(reason.starts_with(words), "{reason}");
        assert_eq!(**lines, Value::from(expected));
    }
    let note = &answer["notes"][0];
    let words = "columns that are not used: kernel_source, note";
    assert_eq!((text(note, "/note"), &note["rows"]), (words, &8.into()));
    let people = success(&format!("tables score {path} --gpu h100"));
    assert!(
        people.contains(&format!("\n  NOTE     {words}\n")),
        "{people}"
    );
    assert!(people.contains("2 of 8 scored"), "{people}");
}

#[test]
fn all_metrics_are_summed_up_only_where_there_are_several() {
    let metrics = |rows: &str| {
        let (_folder, path) = written("mine.csv", &format!("{GEMM}{rows}"));
        let answer = score(&path, "h100");
        let of = |key: &str| {
            let groups = list(&answer, key).iter();
            let metrics = groups.map(|group| text(group, "/metric").to_owned());
            metrics.collect::<Vec<_>>()
        };
        assert_eq!(text(&answer, "/rows/0/file"), "mine.csv");
        assert_eq!(of("/by_provenance"), of("/summary"));
        of("/summary")
    };
    let bf16 = "bf16,4096,4096,64,12\n";
    assert_eq!(metrics(bf16), ["gemm bf16"]);
    let both = format!("{bf16}fp8,4096,4096,64,12\n");
    assert_eq!(metrics(&both), ["gemm bf16", "gemm fp8", "all"]);
}

#[test]
fn a_file_may_have_any_name_and_order_of_columns() {
    let (_folder, path) = written(
        "kernels.txt",
        "latency_us,m,n,k,dtype\n12,64,4096,4096,bf16\n",
    );
    for op in ["", "--op gemm"] {
        let answer = json(&format!("tables score {path} --gpu H100 {op}"));
        assert_eq!(list(&answer, "/rows").len(), 1);
        assert_eq!(text(&answer, "/rows/0/op"), "gemm");
    }
}

#[test]
fn files_that_cannot_be_scored_are_refused() {
    let refused = |contents: &str, more: &str| {
        let (folder, path) = written("mine.csv", contents);
        let message = failure(&format!("tables score {path} --gpu h100 {more}"));
        message.replace(&format!("{}/", folder.path().display()), "")
    };
    let row = format!("{GEMM}bf16,4096,4096,64,12\n");
    for (contents, more, words) in [
        (
            "",
            "",
            "mine.csv:1: expected at least one row of measurements, found none; add some",
        ),
        (
            GEMM,
            "",
            "mine.csv:1: expected at least one row of measurements",
        ),
        (
            "a,b\n1,2\n",
            "",
            "mine.csv:1: expected the columns of one operation (gemm: dtype,k,n,m,",
        ),
        (
            "dtype,k,n,m\nbf16,1,1,1\n",
            "",
            "mine.csv:1: latency_us: expected a column of that name",
        ),
        (
            "dtype,k,n,m,latency_us,k\nbf16,1,1,1,1,1\n",
            "",
            "mine.csv:1: expected the columns dtype,k,n,m,latency_us,mfu,warmup once each, found \"k\"",
        ),
        (
            &row.replace("12", "fast"),
            "",
            "mine.csv: expected a row that table set h100 can be compared with, found none: 1 row \
             (line 2): latency_us: expected a positive number, found \"fast\"",
        ),
        (
            &row,
            "--op decode",
            "mine.csv:1: expected the columns of decode (dtype,kv_dtype,q_heads,kv_heads,head_dim,tp,\
             batch,kv_len,latency_us), found \"dtype,k,n,m,latency_us\", which are those of gemm; ",
        ),
        (
            &row,
            "--op gem",
            "invalid value 'gem' for '--op <OP>': expected one of gemm, prefill,",
        ),
        (
            &row.replace("bf16", "nvfp4"),
            "",
            "mine.csv: expected a row that table set h100 can be compared with, found none: 1 row \
             (line 2): dtype: expected a dtype that h100 has a peak for",
        ),
    ] {
        let message = refused(contents, more);
        assert!(message.starts_with(words), "{message}");
    }
}

#[test]
fn missing_files_sets_and_operations_are_refused() {
    let message = failure("tables score no/such.csv --gpu h100");
    assert!(message.starts_with("no/such.csv: "), "{message}");
    assert!(
        message.ends_with("check that the file is there and readable"),
        "{message}"
    );
    let gemm = data("h100", "gemm.csv");
    let message = failure(&format!("tables score {gemm} --gpu h10"));
    assert!(message.contains("(nearest: h100, "), "{message}");
    assert!(failure(&format!("tables score {gemm}")).contains("--gpu NAME"));
    let moe = data("h100", "moe.csv");
    let message = failure(&format!("tables score {moe} --gpu h100-infersim"));
    assert!(
        message.contains(
            "700 rows (lines 2, 3, 4, 5, 6 and 695 more): table set h100-infersim: \
                          expected a table for moe"
        ),
        "{message}"
    );
}
