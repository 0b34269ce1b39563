//! Readers of the files that `rooflut run` writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::json;

/// The rows of a CSV, by column, as numbers; `None` where there is none.
pub(crate) fn columns(path: &Path) -> BTreeMap<String, Vec<Option<f64>>> {
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let header = reader.headers().expect("a header").clone();
    let mut columns: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for name in &header {
        columns.entry(name.to_owned()).or_default();
    }
    for row in reader.records() {
        let row = row.expect("a row");
        for (name, field) in header.iter().zip(&row) {
            let column = columns.get_mut(name).expect("a column");
            column.push(field.parse().ok());
        }
    }
    columns
}

/// A server so small that it preempts, chunks prompts and lets requests wait; there is a pause, and a
/// request that it rejects.
pub(crate) const TIGHT: &str = "run --max-num-seqs 8 --max-num-batched-tokens 256 --kv-blocks 100";

/// Two prefill servers, and two decode servers, instead of one for both.
pub(crate) const POOLS: &str = "--prefill-replicas 2 --decode-replicas 2 --link-bandwidth 10 --link-latency 50";

/// A trace for it.
pub(crate) fn trace() -> String {
    let mut trace = "arrival_ms,prompt_tokens,output_tokens\n".to_owned();
    for index in 0..20 {
        let pause = if index < 15 { 0 } else { 60_000 };
        trace.push_str(&format!("{},{},{}\n", pause + index * 3, 100 + 20 * index, 1 + 9 * index));
    }
    trace + "70000,3000,10\n"
}

/// Runs [`TIGHT`] with all files; answers JSON and folder.
pub(crate) fn run() -> (Value, tempfile::TempDir) {
    run_with("")
}

/// Runs with more flags.
pub(crate) fn run_with(flags: &str) -> (Value, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display();
    fs::write(folder.path().join("trace.csv"), trace()).expect("a file");
    let answer = json(&format!(
        "{TIGHT} --trace {path}/trace.csv --requests-out {path}/requests.csv --steps-out {path}/steps.csv \
         --perfetto {path}/timeline.json {flags}"
    ));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 4);
    (answer, folder)
}

/// The timeline of [`run`].
pub(crate) fn timeline(folder: &tempfile::TempDir) -> Value {
    let text = fs::read_to_string(folder.path().join("timeline.json")).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}
