//! The texts of problems.

use std::{fmt, io};

use rooflut_nearest::{hint, nearest};

use crate::error::Problem;
use crate::foreign::Foreign;
use crate::format::Format;

/// Most values that a message lists.
const MAX_VALUES: usize = 8;
/// Most columns or keys that a message lists.
const MAX_NAMES: usize = 16;
/// Most characters of a value that a message shows.
const MAX_CHARACTERS: usize = 60;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty { format } => {
                write!(f, "the file is empty; expected {}", content(*format))
            }
            Problem::NoRequests { format } if format.is_csv() => {
                f.write_str("no rows; expected one line per request")
            }
            Problem::NoRequests { format } => {
                write!(f, "no requests; expected {}", content(*format))
            }
            Problem::AllLeftOut { left_out } => {
                let reasons = left_out.iter();
                let reasons = reasons.map(|(reason, count)| format!("{count} {reason}"));
                let reasons = reasons.collect::<Vec<String>>().join(", ");
                write!(
                    f,
                    "expected a request that was served, found none: {reasons}; use another file"
                )
            }
            Problem::Read {
                kind: io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other,
                cause,
            } => write!(
                f,
                "cannot decompress: {}; the file is cut or damaged: get it again",
                Shown(cause)
            ),
            Problem::Read {
                kind: io::ErrorKind::StorageFull,
                cause,
            } => write!(
                f,
                "cannot keep a copy of the pipe: {}; set TMPDIR to a folder with more room",
                Shown(cause)
            ),
            Problem::Read { cause, .. } => {
                write!(f, "cannot read the file: {}; check the path", Shown(cause))
            }
            Problem::Changed => {
                f.write_str("the file was changed while it was read; run again when it is complete")
            }
            Problem::Foreign(Foreign { title, advice }) => {
                write!(f, "expected a trace, found {title}; {advice}")
            }
            Problem::LongRecord => f.write_str(
                "expected one request, found more bytes than one can have; check that the file is a trace and \
                 that each quote is closed",
            ),
            Problem::DelayAlone => {
                f.write_str("delay: expected a session_id beside it, found none; add one, or a timestamp")
            }
            Problem::Misspelt {
                found,
                meant,
                is_csv,
            } => {
                let kind = if *is_csv { "column" } else { "key" };
                let found = Shown(found);
                write!(f, "unknown {kind} {found}; did you mean {meant}? rename or remove it")
            }
            Problem::NotText => {
                f.write_str("expected UTF-8 text, found other bytes; correct this line")
            }
            Problem::Csv(error) => write!(f, "{error}; expected comma-separated UTF-8"),
            Problem::NotJson { found } => write!(
                f,
                "expected JSON, found \"{}\"; name another --trace-format, or none",
                Shown(found)
            ),
            Problem::Json(error) => {
                write!(f, "expected other JSON: {}; correct it", Shown(error))
            }
            Problem::Fields { expected, found } => write!(
                f,
                "expected {expected} fields, found {found}; correct this line"
            ),
            Problem::Value {
                key,
                expected,
                found,
            } => write!(
                f,
                "{key}: expected {expected}, found \"{}\"; correct this line",
                Shown(found)
            ),
            Problem::NoColumn {
                format,
                column,
                found,
            } => write_missing(f, "column", *format, column, found),
            Problem::NoKey { format, key, found } => write_missing(f, "key", *format, key, found),
            Problem::UnknownKeys { found } => {
                let known = Format::ALL.into_iter().filter(|format| !format.is_csv());
                let known =
                    known.map(|format| format!("{} ({})", format.name(), format.expected()));
                let known = known.collect::<Vec<String>>().join(", ");
                let found = names(found);
                write!(
                    f,
                    "keys of no known format: {found}; expected those of {known}"
                )
            }
            Problem::NoDetails {
                format: Format::InferencePerf,
            } => f.write_str(
                "expected one object per request, found a summary; use \
                 per_request_lifecycle_metrics.json, which inference-perf writes with per_request: true",
            ),
            Problem::NoDetails { .. } => f.write_str(
                "expected input_lens and output_lens, found a result without details; run vllm bench \
                 serve with --save-result --save-detailed, or SGLang's bench_serving with --output-details",
            ),
            Problem::NoArrivals { why } => write!(
                f,
                "expected start_times, which newer versions of vllm bench serve save, or arrivals that follow \
                 request_rate, found {}; run vLLM's or SGLang's benchmark with --request-rate alone",
                Shown(why)
            ),
            Problem::Lengths {
                list,
                found,
                expected,
            } => write!(
                f,
                "{list}: expected {expected} elements as in input_lens, found {found}; correct the file"
            ),
            Problem::SeveralResults => f.write_str(
                "expected one result, found several (--append-result); split the file",
            ),
            Problem::ConditionOnJson { format } => write!(
                f,
                "--where selects rows of CSV, found JSON ({}); leave it out",
                format.name()
            ),
            Problem::NoConditionColumn { column, found } => {
                let near = nearest(column, found.iter().map(String::as_str));
                let near: Vec<String> = near.into_iter().map(shown).collect();
                write!(
                    f,
                    "--where: no column {}{}; use one of {}",
                    Shown(column),
                    hint(&near),
                    names(found)
                )
            }
            Problem::SeveralColumns { column } => write!(
                f,
                "expected one column {}, found several; rename or remove the others",
                Shown(column)
            ),
            Problem::Separator { found } => write!(
                f,
                "expected columns separated by commas, found {found}; replace them"
            ),
            Problem::SeveralExperiments { values } => write!(
                f,
                "column experiment has {} values ({}); select one with --where experiment=NAME",
                values.len(),
                list(values, MAX_VALUES)
            ),
            Problem::NoMatch { column, values } => write!(
                f,
                "no row meets every --where; column {} has {}",
                Shown(column),
                list(values, MAX_VALUES)
            ),
        }
    }
}

/// Returns what a file of `format` contains.
fn content(format: Format) -> String {
    let expected = format.expected();
    match format {
        Format::Vllm => format!("one JSON object with {expected}"),
        _ if format.is_csv() => format!("a header ({expected}) and one line per request"),
        _ => format!("one JSON object per request, with {expected}"),
    }
}

fn write_missing(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    format: Format,
    name: &str,
    found: &[String],
) -> fmt::Result {
    let is_unknown = |other: &&str| !format.names().any(|known| known == *other);
    let unknown = found.iter().map(String::as_str).filter(is_unknown);
    match (nearest(name, unknown).first(), format.time(name)) {
        (Some(near), None) => write!(f, "no {kind} {name}; rename {}?", Shown(near)),
        (Some(near), Some(expected)) => match unit(near) {
            Some(found) if found != expected => write!(
                f,
                "no {kind} {name}, which is {expected}; {} is {found}: convert and rename it",
                Shown(near)
            ),
            _ => write!(
                f,
                "no {kind} {name}; rename {} if it is {expected}",
                Shown(near)
            ),
        },
        (None, _) => write!(
            f,
            "no {kind} {name}, found {}; expected {}",
            names(found),
            format.expected()
        ),
    }
}

/// Returns what a time of this name is, as far as other formats and endings tell.
fn unit(name: &str) -> Option<&'static str> {
    let of_format = || {
        // Mooncake and Qwen-Bailian have one name for two units.
        let formats = Format::ALL.into_iter().filter(|format| format.is_csv());
        formats.into_iter().find_map(|format| format.time(name))
    };
    let endings = [
        ("_s", "in seconds"),
        ("_sec", "in seconds"),
        ("_seconds", "in seconds"),
        ("_ms", "in milliseconds"),
        ("_us", "in microseconds"),
        ("_ns", "in nanoseconds"),
    ];
    let mut endings = endings.into_iter();
    of_format().or_else(|| {
        let found = endings.find(|(ending, _)| name.to_ascii_lowercase().ends_with(ending));
        found.map(|(_, unit)| unit)
    })
}

fn names(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => list(names, MAX_NAMES),
    }
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
struct Shown<'t>(&'t str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(MAX_CHARACTERS) {
            match character.is_control() {
                true => write!(f, "{}", character.escape_default())?,
                false => write!(f, "{character}")?,
            }
        }
        match characters.next() {
            Some(_) => f.write_str("..."),
            None => Ok(()),
        }
    }
}
