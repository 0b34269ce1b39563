//! Files that are no traces, or not in a form that can be read.

use rooflut_error::Error;

use crate::error::contents;
use crate::measurement::Measurement;

/// A file that is recognised but not read.
struct Foreign {
    /// Its kind.
    title: &'static str,
    /// An instruction for the user.
    advice: &'static str,
}

const DECOMPRESS: &str = "decompress it, or pipe it: bzcat, xzcat or unzip -p FILE | rooflut run --trace -";
const TO_CSV: &str = "write arrival_ms, prompt_tokens and output_tokens of each of its requests to a CSV";

/// Files by their first bytes.
const BEGINNINGS: [(&[u8], Foreign); 8] = [
    (
        b"version https://git-lfs",
        Foreign { title: "a Git LFS pointer, not the data", advice: "run git lfs pull in its repository" },
    ),
    (b"BZh", compressed("a bzip2 file")),
    (b"\xfd7zXZ", compressed("an xz file")),
    (b"PK\x03\x04", compressed("a zip file")),
    (b"PAR1", Foreign { title: "a Parquet file", advice: "convert it to CSV" }),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"SQLite format 3", Foreign { title: "an SQLite database", advice: TO_CSV }),
];

const UTF_16: Foreign = Foreign { title: "UTF-16 text", advice: "convert it: iconv -f UTF-16 -t UTF-8" };

const fn compressed(title: &'static str) -> Foreign {
    Foreign { title, advice: DECOMPRESS }
}

/// CSV files by columns that all of them have.
const COLUMNS: [(&[&str], Foreign); 2] = [
    (&["Metric", "avg"], in_json("a summary of genai-perf or AIPerf")),
    (&["Run Info", "Benchmark"], in_json("a guidellm report")),
];

const fn in_json(title: &'static str) -> Foreign {
    Foreign { title, advice: "use the JSON beside it, which rooflut observe reads" }
}

/// JSON files by keys that all of them have.
const KEYS: [(&[&str], Foreign); 5] = [
    (&["experiments"], Foreign { title: "a genai-perf profile", advice: TO_CSV }),
    (
        &["conversations"],
        Foreign {
            title: "a ShareGPT dataset without lengths and times",
            advice: "replay the dataset with a benchmark and use the result, as of vllm bench serve --save-detailed",
        },
    ),
    (&["resourceSpans"], OPEN_TELEMETRY),
    (&["traceId", "spanId"], OPEN_TELEMETRY),
    (&["trace_id", "span_id"], OPEN_TELEMETRY),
];

const OPEN_TELEMETRY: Foreign = Foreign { title: "OpenTelemetry spans", advice: TO_CSV };

const SERVE_GEN: Foreign = Foreign {
    title: "a client model of ServeGen, not a trace",
    advice: "sample requests with ServeGen's own tool and write their arrival_ms, prompt_tokens and \
             output_tokens to a CSV",
};

/// Refuses a file that is recognised by its first bytes.
pub(crate) fn check_bytes(head: &[u8]) -> Result<(), Error> {
    let mut known = BEGINNINGS.iter();
    refuse(known.find(|(beginning, _)| head.starts_with(beginning)).map(|(_, foreign)| foreign))
}

/// Refuses a file that is recognised by the keys of its first object, or the cells of its first line.
pub(crate) fn check_names(names: &[String], is_json: bool) -> Result<(), Error> {
    let is_number = |name: &String| name.parse::<f64>().is_ok();
    let is_model = match (is_json, names) {
        // Lengths by the start of their window.
        (true, names) => !names.is_empty() && names.iter().all(is_number),
        // Start of the window, rate, coefficient of variation, distribution and its parameters.
        (false, [start, rate, cv, distribution, ..]) => {
            [start, rate, cv].into_iter().all(is_number) && distribution.starts_with(char::is_alphabetic)
        }
        _ => false,
    };
    if is_model {
        return refuse(Some(&SERVE_GEN));
    }
    let measured = if is_json { Measurement::of_keys(names) } else { Measurement::of_columns(names) };
    check_measured(measured)?;
    let known: &[(&[&str], Foreign)] = if is_json { &KEYS } else { &COLUMNS };
    let mut known = known.iter();
    let found = known.find(|(keys, _)| {
        let mut keys = keys.iter();
        keys.all(|key| names.iter().any(|name| name == key))
    });
    refuse(found.map(|(_, foreign)| foreign))
}

/// Refuses a file of measured figures that is no trace.
pub(crate) fn check_measured(found: Option<Measurement>) -> Result<(), Error> {
    match found.filter(|kind| !kind.may_be_trace()) {
        Some(kind) => {
            let text = format!(
                "expected a trace, found a file of figures ({kind}); read it with rooflut observe, or {TO_CSV}"
            );
            Err(contents(text))
        }
        None => Ok(()),
    }
}

fn refuse(found: Option<&Foreign>) -> Result<(), Error> {
    let refused = |Foreign { title, advice }: &Foreign| contents(format!("expected a trace, found {title}; {advice}"));
    found.map(refused).map_or(Ok(()), Err)
}
