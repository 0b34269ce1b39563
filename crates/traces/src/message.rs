//! What is wrong with a trace, in words.

use std::fmt;

use rooflut_nearest::{hint, nearest};

use crate::error::Problem;
use crate::format::Format;

/// The most values or names that a message lists.
const MOST_VALUES: usize = 8;
/// The most columns or keys that a message lists.
const MOST_NAMES: usize = 16;
/// The most characters of a value that a message shows.
const MOST_CHARACTERS: usize = 60;

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
                let reasons: Vec<String> = reasons.collect();
                write!(
                    f,
                    "expected a request that was served, found none: {}; use another file",
                    reasons.join(", ")
                )
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
            Problem::TooManyIds => write!(
                f,
                "hash_ids: expected at most {} ids in a file, found more; split the file",
                u32::MAX
            ),
            _ => self.write_names(f),
        }
    }
}

impl Problem {
    /// What is wrong with columns, keys and the values that rows are picked by.
    fn write_names(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoColumn {
                format,
                column,
                found,
            } => write_missing(f, "column", *format, column, found),
            Problem::NoKey { format, key, found } => write_missing(f, "key", *format, key, found),
            Problem::UnknownKeys { found } => {
                write!(
                    f,
                    "keys of no known format: {}; expected those of ",
                    names(found)
                )?;
                let known = Format::ALL.into_iter().filter(|format| !format.is_csv());
                let known =
                    known.map(|format| format!("{} ({})", format.name(), format.expected()));
                f.write_str(&known.collect::<Vec<String>>().join(", "))
            }
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
            Problem::ConditionOnJson { format } => write!(
                f,
                "--where picks rows of CSV, found JSON ({}); leave it out",
                format.name()
            ),
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
                "column experiment has {} values ({}); pick one with --where experiment=NAME",
                values.len(),
                list(values, MOST_VALUES)
            ),
            Problem::NoMatch { column, values } => write!(
                f,
                "no row fulfils every --where; column {} has {}",
                Shown(column),
                list(values, MOST_VALUES)
            ),
            _ => self.write_results(f),
        }
    }

    /// What is wrong with the results of a benchmark.
    fn write_results(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoDetails {
                format: Format::InferencePerf,
            } => f.write_str(
                "expected one object per request, found a summary; use \
                 per_request_lifecycle_metrics.json, which inference-perf writes with per_request: true",
            ),
            Problem::NoDetails { .. } => f.write_str(
                "expected input_lens and output_lens, found a result without details; run vllm bench \
                 serve with --save-result --save-detailed",
            ),
            Problem::NoArrivals { why } => write!(
                f,
                "expected start_times, or arrivals that follow request_rate, found {}; run vllm bench \
                 serve of a version that saves start_times, or with --request-rate alone",
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
            _ => f.write_str(
                "expected one result, found several (--append-result); split the file",
            ),
        }
    }
}

/// What a file of `format` has.
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
    what: &str,
    format: Format,
    name: &str,
    found: &[String],
) -> fmt::Result {
    let meant =
        |other: &&str| !format.required().contains(other) && !format.others().contains(other);
    let strangers = found.iter().map(String::as_str).filter(meant);
    match nearest(name, strangers).first() {
        Some(near) => write!(f, "no {what} {name}; rename {}?", Shown(near)),
        None => write!(
            f,
            "no {what} {name}, found {}; expected {}",
            names(found),
            format.expected()
        ),
    }
}

fn names(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => list(names, MOST_NAMES),
    }
}

fn list<'v>(values: impl IntoIterator<Item = &'v String>, most: usize) -> String {
    let mut values = values.into_iter();
    let first = values.by_ref().take(most);
    let first: Vec<String> = first.map(|value| shown(value)).collect();
    let more = if values.next().is_some() { ", ..." } else { "" };
    first.join(", ") + more
}

fn shown(text: &str) -> String {
    Shown(text).to_string()
}

/// A text of a file on one line and not too long.
struct Shown<'t>(&'t str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(MOST_CHARACTERS) {
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
