//! `rooflut run` with requests that no server can take, unsorted, too many, or spread over a year.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "test code outside of test functions")]

use std::fs;
use std::path::Path;

use crate::support::{json, number, success};
use serde_json::{Value, json as value};

/// The rows of a file of requests.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let row = |row: csv::Result<csv::StringRecord>| row.expect("a row").iter().map(str::to_owned).collect();
    reader.records().map(row).collect()
}

/// Arrival, prompt and output of each; a server of 100 blocks of 16 tokens takes no more than 1,600.
const TRACE: [(u32, u32, u32, &str); 10] = [
    (900, 5, 5, "completed"),
    (0, 5, 5, "completed"),
    (300, 0, 5, "empty_prompt"),
    (300, 5, 0, "empty_output"),
    (0, 0, 0, "empty_prompt"),
    (300, 1_999, 2, "too_long"),
    (300, 1_600, 1, "too_long"),
    (300, 1_599, 1, "completed"), // just fits
    (300, 5, 5, "completed"),
    (300, 5, 5, "completed"),
];

fn run(folder: &Path, rows: &[(u32, u32, u32, &str)], flags: &str) -> (Value, String) {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let line = |(arrival_ms, prompt, output, _): &(u32, u32, u32, &str)| format!("{arrival_ms},{prompt},{output}\n");
    let lines: String = rows.iter().map(line).collect();
    let (trace, requests) = (path("trace.csv"), path("requests.csv"));
    fs::write(&trace, format!("arrival_ms,prompt_tokens,output_tokens\n{lines}")).expect("a file");
    let base = format!("run --trace {trace} --requests-out {requests} --kv-blocks 100 --max-num-seqs 1");
    let arguments = format!("{base} {flags}");
    (json(&arguments), success(&arguments))
}

#[test]
fn what_cannot_be_served_is_counted_by_reason_and_named_row_by_row() {
    let folder = tempfile::tempdir().expect("a folder");
    for flags in ["", "--replicas 2"] {
        let (answer, text) = run(folder.path(), &TRACE, flags);
        assert_eq!(answer["completed"], 5);
        assert_eq!(answer["rejected"], 5);
        let reasons = value!({
            "empty_prompt": 2, "empty_output": 1, "too_late": 0, "too_long": 2,
            "too_many_kv_blocks": 0, "queue_full": 0, "abandoned": 0, "other": 0,
        });
        assert_eq!(answer["rejected_by_reason"], reasons);
        for told in [
            "rejected     2: the prompt is empty",
            "rejected     1: no output token is asked for",
            "rejected     2: prompt and output exceed the 1600 tokens that the KV cache holds",
        ] {
            assert!(text.contains(told), "{told}: {text}");
        }
        let rows = rows(&folder.path().join("requests.csv"));
        assert_eq!(rows.len(), TRACE.len());
        for ((place, row), expected) in rows.iter().enumerate().zip(TRACE) {
            assert_eq!(row[0], place.to_string());
            assert_eq!(row[5], expected.3, "{row:?}");
            // Times and a replica where it was served.
            assert_eq!(row[9].is_empty(), expected.3 != "completed");
            assert_eq!(row[11].is_empty(), expected.3 != "completed");
        }
    }
}

#[test]
fn the_order_of_a_trace_says_only_who_of_the_same_nanosecond_is_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let finished = |order: &[usize]| {
        let trace: Vec<_> = order.iter().map(|place| TRACE[*place]).collect();
        run(folder.path(), &trace, "");
        let mut finished: Vec<(f64, usize)> = (rows(&folder.path().join("requests.csv")).iter())
            .zip(order)
            .filter_map(|(row, place)| {
                let e2e_ms: f64 = row[9].parse().ok()?;
                let arrival_ms: f64 = row[1].parse().expect("ms");
                Some((arrival_ms + e2e_ms, *place))
            })
            .collect();
        finished.sort_by(|a, b| a.0.total_cmp(&b.0));
        finished
    };
    let places = |finished: &[(f64, usize)]| -> Vec<usize> { finished.iter().map(|of| of.1).collect() };
    let listed = finished(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(places(&listed), [1, 7, 8, 9, 0]);
    // Sorted by arrival.
    assert_eq!(finished(&[1, 4, 2, 3, 5, 6, 7, 8, 9, 0]), listed);
    // Simultaneous requests, in reverse order.
    let swapped = finished(&[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(places(&swapped), [1, 9, 8, 7, 0]);
}

#[test]
fn an_hour_of_overload_ends_and_its_queue_grows() {
    let flags = "run --rate 60 --requests 216000 --output 64 --max-num-seqs 16";
    let answer = json(flags);
    assert_eq!(answer["completed"], 216_000);
    let makespan_s = number(&answer, "/makespan_s");
    assert!(makespan_s > 4_000.0, "{makespan_s}");
    let quarter = |name| number(&answer, &format!("/queue_growth/{name}_quarter_ms"));
    assert!(quarter("last") > 5.0 * quarter("first"));
    // The last of those served within the hour waited since its arrival; the last quarter for 7/8 of that, on average.
    let within_hour = 216_000.0 - number(&answer, "/steady/drain_requests");
    let last_ms = 1e3 * (3_600.0 - within_hour / 60.0);
    let share = quarter("last") / last_ms;
    assert!((share - 7.0 / 8.0).abs() < 0.02, "{share}");
}

#[test]
fn a_year_is_simulated_to_its_end() {
    // One in a thousand seconds.
    let base = "run --arrival constant --rate 0.001 --requests 31537";
    for flags in ["", "--replicas 3"] {
        let answer = json(&format!("{base} {flags}"));
        assert_eq!(answer["completed"], 31_537);
        let makespan_s = number(&answer, "/makespan_s");
        assert!((31_536_000.0..31_536_010.0).contains(&makespan_s), "{makespan_s}");
        let mean_s = number(&answer, "/e2e_ms/mean") / 1e3;
        let busy = number(&answer, "/busy_share") * makespan_s * number(&answer, "/replicas");
        // All of a request but the API server's milliseconds is steps.
        assert!((busy / 31_537.0 / mean_s - 1.0).abs() < 0.02, "{busy} {mean_s}");
        // All are equal, except for the rounding of a mean.
        for key in ["p50", "p99"] {
            let of = number(&answer, &format!("/e2e_ms/{key}")) / 1e3;
            assert!((of / mean_s - 1.0).abs() < 1e-3, "{key} {of} {mean_s}");
        }
    }
}
