//! Parts of messages.

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;

use rooflut_error::{hint, nearest};

use crate::format::Format;
use crate::left_out::LeftOut;

/// Most values that a message lists.
const MAX_VALUES: usize = 8;
/// Most columns or keys that a message lists.
const MAX_NAMES: usize = 16;
/// Most characters of a value that a message shows.
const MAX_CHARACTERS: usize = 60;

/// Returns the line of a problem, as it precedes the problem.
pub(crate) fn place(line: Option<u64>) -> String {
    line.map_or(String::new(), |line| format!("line {line}: "))
}

/// Returns what a file without requests lacks.
pub(crate) fn no_requests(format: Format) -> String {
    if format.is_csv() {
        "no rows; expected one line per request".to_owned()
    } else {
        format!("no requests; expected {}", content(format))
    }
}

/// Returns the numbers of requests that were left out.
pub(crate) fn reasons(left_out: &[(LeftOut, u64)]) -> String {
    let reasons = left_out.iter().map(|(reason, count)| format!("{count} {reason}"));
    reasons.collect::<Vec<String>>().join(", ")
}

/// Returns why bytes of this kind of failure cannot be read.
pub(crate) fn failure(kind: ErrorKind, cause: &str) -> String {
    let cause = Shown(cause);
    match kind {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::Other => {
            format!("cannot decompress: {cause}; the file is cut off or damaged: fetch it again")
        }
        ErrorKind::StorageFull => {
            format!("cannot keep a copy of the pipe: {cause}; set TMPDIR to a folder with more room")
        }
        _ => format!("cannot read the file: {cause}; check the path"),
    }
}

/// Returns the formats that are JSON, with their keys.
pub(crate) fn json_formats() -> String {
    let formats = Format::ALL
        .into_iter()
        .filter(|format| !format.is_csv())
        .map(|format| format!("{format} ({})", format.expected()));
    formats.collect::<Vec<String>>().join(", ")
}

/// Returns what to use in place of a file of totals.
pub(crate) fn no_details(format: Format) -> &'static str {
    match format {
        Format::InferencePerf => {
            "expected one object per request, found a summary; use \
             per_request_lifecycle_metrics.json, which inference-perf writes with per_request: true"
        }
        _ => {
            "expected input_lens and output_lens, found a result without details; run vllm bench serve \
             with --save-result --save-detailed, or SGLang's bench_serving with --output-details"
        }
    }
}

/// Returns a hint at the columns whose names are similar to that of a missing one.
pub(crate) fn nearest_of(column: &str, found: &[String]) -> String {
    let near = nearest(column, found.iter().map(String::as_str));
    hint(&near.into_iter().map(shown).collect::<Vec<String>>())
}

/// Returns what a file of `format` contains.
pub(crate) fn content(format: Format) -> String {
    let expected = format.expected();
    match format {
        Format::Vllm => format!("one JSON object with {expected}"),
        _ if format.is_csv() => format!("a header ({expected}) and one line per request"),
        _ => format!("one JSON object per request, with {expected}"),
    }
}

/// Returns what stands in place of a missing column or key.
pub(crate) fn missing(format: Format, name: &str, found: &[String]) -> String {
    let is_unknown = |other: &&str| !format.names().any(|known| known == *other);
    let unknown = found.iter().map(String::as_str).filter(is_unknown);
    let Some(near) = nearest(name, unknown).first().copied() else {
        return format!(", found {}; expected {}", names(found), format.expected());
    };
    let shown = Shown(near);
    match (format.time(name), unit(near)) {
        (None, _) => format!("; rename {shown}?"),
        (Some(expected), Some(found)) if found != expected => {
            format!(" ({expected}); {shown} is {found}: convert and rename it")
        }
        (Some(expected), _) => format!("; rename {shown} if it is {expected}"),
    }
}

/// Returns what a time of this name is, as far as other formats and endings tell.
fn unit(name: &str) -> Option<&'static str> {
    let of_format = || {
        // Mooncake and Qwen-Bailian have one name for two units.
        let formats = Format::ALL.into_iter().filter(|format| format.is_csv());
        formats.into_iter().find_map(|format| format.time(name))
    };
    let mut endings = [
        ("_s", "in seconds"),
        ("_sec", "in seconds"),
        ("_seconds", "in seconds"),
        ("_ms", "in milliseconds"),
        ("_us", "in microseconds"),
        ("_ns", "in nanoseconds"),
    ]
    .into_iter();
    of_format().or_else(|| {
        let found = endings.find(|(ending, _)| name.to_ascii_lowercase().ends_with(ending));
        found.map(|(_, unit)| unit)
    })
}

/// Lists columns or keys.
pub(crate) fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { list(names, MAX_NAMES) }
}

/// Lists values of a column.
pub(crate) fn listed(values: &BTreeSet<String>) -> String {
    list(values, MAX_VALUES)
}

fn list<'v>(values: impl IntoIterator<Item = &'v String>, max: usize) -> String {
    let mut values = values.into_iter();
    let first = values.by_ref().take(max);
    let first: Vec<String> = first.map(|value| shown(value)).collect();
    let more = if values.next().is_some() { ", ..." } else { "" };
    first.join(", ") + more
}

fn shown(text: &str) -> String {
    Shown(text).to_string()
}

/// Writes a text of a file on one line, shortened where it is long.
pub(crate) struct Shown<'t>(pub(crate) &'t str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(MAX_CHARACTERS) {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?
            } else {
                write!(f, "{character}")?
            }
        }
        match characters.next() {
            Some(_) => f.write_str("..."),
            None => Ok(()),
        }
    }
}
