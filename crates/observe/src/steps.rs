//! Steps of an engine as CSV.

use csv::{ReaderBuilder, StringRecord, Trim};
use rooflut_error::Error;

use crate::contents::Contents;
use crate::json::contents;
use crate::step::Step;

/// Maximum number of steps of a file.
const MAX_STEPS: usize = 2_000_000;

/// Reads the columns `duration_ms`, `prefill_tokens`, `decode_requests` and, if there is one, `kv_tokens`.
pub(crate) fn read(text: &[u8]) -> Result<Contents, Error> {
    if !text.ends_with(b"\n") {
        return Err(contents("the last line has no end; end it, or write the file again if it is cut off"));
    }
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text);
    let columns = reader.headers().map_err(|error| wrong(&error))?.clone();
    let mut steps = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| wrong(&error))?;
        let line = row.position().map(|position| position.line());
        if steps.len() == MAX_STEPS {
            return Err(
                contents(format!("expected at most {MAX_STEPS} steps, found more; divide the file")).at_line(line)
            );
        }
        steps.push(step(&columns, &row).map_err(|error| error.at_line(line))?);
    }
    if steps.is_empty() {
        return Err(contents("expected a line for each step, found none; write the file again"));
    }
    Ok(Contents { steps, ..Contents::default() })
}

fn wrong(error: &csv::Error) -> Error {
    let line = error.position().map(|position| position.line());
    contents(format!("expected CSV: {error}; write the file again")).at_line(line)
}

fn step(columns: &StringRecord, row: &StringRecord) -> Result<Step, Error> {
    let cell = |name: &str| columns.iter().position(|column| column == name).and_then(|at| row.get(at));
    let count = |name: &'static str| match cell(name).filter(|text| !text.is_empty()) {
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| refused(name, "a whole number", text)),
        None => Ok(None),
    };
    let required = |name| count(name)?.ok_or_else(|| refused(name, "a whole number", ""));
    let text = cell("duration_ms").unwrap_or_default();
    let duration_ms = text.parse::<f64>().ok().filter(|ms| *ms > 0.0 && ms.is_finite());
    Ok(Step {
        duration_ms: duration_ms.ok_or_else(|| refused("duration_ms", "a positive number", text))?,
        prefill_tokens: required("prefill_tokens")?,
        decode_requests: required("decode_requests")?,
        kv_tokens: count("kv_tokens")?,
    })
}

fn refused(column: &str, expected: &str, found: &str) -> Error {
    contents(format!("{column}: expected {expected}, found {found:?}; correct this line"))
}
