//! `rooflut run --steps-out`, and files that cannot be written.
#![allow(clippy::float_cmp, reason = "counts, and the same numbers read twice")]

use std::fs;

use crate::support::run_files::{columns, most, run, sum, trace};
use crate::support::{failure, number};

#[test]
fn steps_out_has_a_line_per_step_and_adds_up_to_the_answer() {
    let (answer, folder) = run();
    let steps = columns(&folder.path().join("steps.csv"));
    let (starts, durations) = (&steps["start_ms"], &steps["duration_ms"]);
    assert_eq!(starts.len() as f64, number(&answer, "/steps"));
    assert!(steps.values().flatten().all(Option::is_some));
    let spans: Vec<(f64, f64)> = (starts.iter().flatten().copied())
        .zip(durations.iter().flatten().copied())
        .collect();
    assert!(
        spans
            .windows(2)
            .all(|two| two[0].0 + two[0].1 <= two[1].0 + 1e-9)
    );
    let (last_start, last) = spans[spans.len() - 1];
    assert!(((last_start + last) / 1e3 - number(&answer, "/makespan_s")).abs() < 1e-6);

    assert!(number(&answer, "/preemptions") > 0.0);
    assert_eq!(sum(&steps["preempted"]), number(&answer, "/preemptions"));
    assert_eq!(
        most(&steps["kv_blocks_used"]),
        number(&answer, "/kv_blocks_peak")
    );
    assert_eq!(most(&steps["running"]), 8.0);
    assert!(most(&steps["waiting"]) > 0.0);
    assert_eq!(most(&steps["prefill_tokens"]), 256.0);
    // A token per request and step, but for the first token, which the last chunk yields, and what a
    // preempted request decodes in its chunks.
    let outputs: f64 = (0..20).map(|index| f64::from(1 + 9 * index)).sum();
    let decoded = sum(&steps["decode_requests"]);
    assert!(decoded <= outputs - 20.0);
    assert!(decoded >= outputs - 20.0 - number(&answer, "/preemptions"));
}

#[test]
fn files_that_cannot_be_written_are_refused_and_nothing_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (trace_path, other) = (path("trace.csv"), path("other"));
    fs::write(&trace_path, trace()).expect("a file");
    for flag in ["--steps-out", "--perfetto"] {
        let message = failure(&format!("run {flag} no/such/folder/file"));
        assert!(
            message.starts_with("cannot write no/such/folder/file"),
            "{message}"
        );
        let message = failure(&format!("run --trace {trace_path} {flag} {trace_path}"));
        assert!(message.contains("is the trace itself"), "{message}");
        let message = failure(&format!("run --requests-out {other} {flag} {other}"));
        assert!(message.contains("is being written already"), "{message}");
    }
    assert_eq!(fs::read_to_string(&trace_path).expect("a file"), trace());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
