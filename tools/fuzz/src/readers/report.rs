//! Outputs of commands that other commands read.

use std::sync::OnceLock;

use rooflut_html::{Document, Input};
use rooflut_observe::Measured;
use rooflut_report::compare::{Comparison, ReadReport};
use serde_json::{Value, json};

use super::{check_error, check_message, files, small_report};

/// Reads the first file as `compare` and `report` do, and compares it with the second, or with the report of a run.
pub(super) fn report(bytes: &[u8]) {
    let files = files(bytes);
    let read = |bytes: &[u8]| ReadReport::read(bytes).inspect_err(|error| check_error(bytes, error)).ok();
    let other = files.get(1).and_then(|bytes| read(bytes)).unwrap_or_else(|| read(sample().as_bytes()).unwrap());
    if let Some(report) = read(files[0]) {
        serde_json::to_string(&Comparison::of(&report, &other)).unwrap();
        let itself = Comparison::of(&report, &report);
        assert!(itself.settings.is_empty() && itself.causes.iter().all(|cause| cause.difference_ms == 0.0));
    }
    match Input::read("a.json", files[0]) {
        Ok(input) => assert_eq!(markup(input), markup(Input::read("a.json", sample().as_bytes()).unwrap())),
        Err(error) => check_message(&error.to_string()),
    }
    if let Ok(report) = serde_json::from_slice::<Value>(files[0]) {
        match measured().compared(0, &report) {
            Ok(compared) => drop(serde_json::to_string(&compared).unwrap()),
            Err(error) => check_message(&error.to_string()),
        }
    }
}

/// The report of a small run.
fn sample() -> &'static str {
    static SAMPLE: OnceLock<String> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let mut report = small_report().clone();
        report["schema_version"] = json!(rooflut_report::SCHEMA_VERSION);
        report.to_string()
    })
}

/// Counts of the markup that ends or begins a script: text of an input must not be markup.
fn markup(input: Input) -> [usize; 3] {
    let mut html = Vec::new();
    Document::new(vec![input]).write(&mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    ["<script", "</script", "<!--"].map(|tag| html.matches(tag).count())
}

/// A measured load.
fn measured() -> &'static Measured {
    static MEASURED: OnceLock<Measured> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let figures = json!({"mean": 10.0, "p50": 9.0, "p90": 12.0, "p95": 13.0, "p99": 14.0});
        let run = json!({"client": "client", "load": {}, "ttft_ms": figures, "tpot_ms": figures, "itl_ms": figures,
            "e2e_ms": figures, "requests_per_s": 3.0, "output_tokens_per_s": 100.0});
        serde_json::from_value(json!({"runs": [run], "metrics": {"queue_ms": 1.0}})).unwrap()
    })
}
