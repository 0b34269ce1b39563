//! Readers of files: each reads any bytes. It refuses them with a message of one line, or returns values that hold
//! together.

mod config;
#[cfg(feature = "parquet")]
mod parts;
mod points;
mod report;
mod results;
mod rows;
mod scenario;
mod small;
mod tables;
mod trace;
mod vllm;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use rooflut::model;
use rooflut::table::sets;
use rooflut_scenario::{Error, Model, Resources, Run, Scenario, no_others};
use rooflut_traces::Input;
use serde_json::Value;

/// Reads an input, and panics where an answer is wrong.
pub type Reader = fn(&[u8]);

/// The readers by the names of their fuzz targets.
pub const ALL: [(&str, Reader); 14] = [
    ("config", config::config),
    ("engine", small::engine),
    ("fleet", small::fleet),
    ("gpu", small::gpu),
    ("lengths", small::lengths),
    ("points", points::points),
    ("prices", small::prices),
    ("report", report::report),
    ("results", results::results),
    ("rows", rows::rows),
    ("scenario", scenario::scenario),
    ("tables", tables::tables),
    ("trace", trace::trace),
    ("vllm", vllm::vllm),
];

/// The line between two files of an input.
const BETWEEN: &str = "\n==>\n";

/// Returns the files of an input.
fn files(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut files = Vec::new();
    while let Some(end) = bytes.windows(BETWEEN.len()).position(|found| found == BETWEEN.as_bytes()) {
        files.push(&bytes[..end]);
        bytes = &bytes[end + BETWEEN.len()..];
    }
    files.push(bytes);
    files
}

/// Asserts that a message is of one line and does nothing to a terminal.
fn check_message(message: &str) {
    // Characters that change the direction of the text behind them.
    let turns = |c: char| {
        "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}".contains(c)
    };
    assert!(!message.is_empty() && !message.contains(|c: char| c.is_control() || turns(c)), "{message:?}");
}

/// Asserts that an error has a message of one line, and a line of the file where it names one.
fn check_error(bytes: &[u8], error: &Error) {
    check_message(&error.to_string());
    assert!(error.line().is_none_or(|line| is_line(bytes, line)), "{error}");
}

/// Whether there is a line of this number.
fn is_line(bytes: &[u8], line: u64) -> bool {
    let ends = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
    (1..=1 + ends.count() as u64).contains(&line)
}

/// A folder of this process for readers that take paths, without files.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rooflut-fuzz-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Opens no file: what is read must not depend on the machine.
fn open(path: &Path) -> io::Result<Input> {
    Err(io::Error::new(io::ErrorKind::NotFound, format!("no {}", path.display())))
}

/// The report of a small run as JSON.
fn small_report() -> &'static Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    REPORT.get_or_init(|| {
        let mut scenario = Scenario::default();
        scenario.workload.requests = Some(5);
        let entry = model::find(scenario.target.model()).unwrap();
        let model = Model::new(entry.name, entry.spec);
        let resources =
            Resources { model, draft_model: None, tables: sets::H100.clone(), find: &no_others, read: &open };
        let report = Run::try_new(scenario, resources).unwrap().run(&mut ()).unwrap().report();
        serde_json::to_value(&report).unwrap()
    })
}
