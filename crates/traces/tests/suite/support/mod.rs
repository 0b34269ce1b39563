//! Reads made-up files.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use rooflut::sim::Request;
use rooflut_traces::{Condition, Format, Options, Trace, TraceError, read};

/// Reads a file; messages are as they follow the name of the file.
pub(crate) fn trace(text: &str) -> Result<Trace, String> {
    named(read(text.as_bytes(), &Options::default()))
}

/// Reads a file of this format.
pub(crate) fn trace_as(format: Format, text: &str) -> Result<Trace, String> {
    let options = Options {
        format: Some(format),
        ..Options::default()
    };
    named(read(text.as_bytes(), &options))
}

/// Returns the requests of the rows that meet `COLUMN=VALUE`.
pub(crate) fn requests(text: &str, conditions: &[&str]) -> Result<Vec<Request>, String> {
    let conditions = conditions.iter().map(|condition| {
        let (column, value) = condition.split_once('=').expect("COLUMN=VALUE");
        Condition {
            column: column.to_owned(),
            value: value.to_owned(),
        }
    });
    let conditions: Vec<Condition> = conditions.collect();
    let options = Options {
        conditions: &conditions,
        ..Options::default()
    };
    named(read(text.as_bytes(), &options)).map(|trace| trace.requests)
}

/// Returns the message of a file that is rejected.
pub(crate) fn message(text: &str) -> String {
    trace(text).expect_err("an error")
}

/// Formats an error as `:LINE: problem`.
pub(crate) fn named<T>(result: Result<T, TraceError>) -> Result<T, String> {
    result.map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{line}: {}", error.problem)
    })
}

/// Returns arrival in ms, prompt and output tokens of each request.
pub(crate) fn shapes(trace: &Trace) -> Vec<(u64, u32, u32)> {
    let shape = |request: &Request| {
        assert_eq!(request.arrival_ns % 1_000_000, 0, "{request:?}");
        let arrival_ms = request.arrival_ns / 1_000_000;
        (arrival_ms, request.prompt_tokens, request.output_tokens)
    };
    trace.requests.iter().map(shape).collect()
}

/// Returns the file with a byte order mark, with CRLF, and with both.
pub(crate) fn disguises(text: &str) -> [String; 3] {
    let crlf = text.replace('\n', "\r\n");
    [
        format!("\u{feff}{text}"),
        crlf.clone(),
        format!("\u{feff}{crlf}"),
    ]
}
