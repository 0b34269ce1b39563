//! Why a trace cannot be replayed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::{fmt, io};

use crate::foreign::Foreign;
use crate::format::Format;
use crate::left_out::LeftOut;
use crate::message::{
    Shown, content, failure, json_formats, listed, missing, names, nearest_of, no_details, no_requests, place, reasons,
};

/// Why a trace cannot be replayed. Its text is one line: what was found, what was expected and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", place(*.line))]
pub struct TraceError {
    /// The line, from 1; `None` for a problem of the whole file.
    pub line: Option<u64>,
    /// The problem.
    pub problem: Problem,
}

/// A problem of a trace.
///
/// Its text names the flags of `rooflut run`: `--where` for [`Options::conditions`],
/// `--trace-format` for [`Options::format`].
///
/// [`Options::conditions`]: crate::Options::conditions
/// [`Options::format`]: crate::Options::format
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file is empty.
    #[error("the file is empty; expected {}", content(*.format))]
    Empty {
        /// The expected format.
        format: Format,
    },
    /// The file has no requests.
    #[error("{}", no_requests(*.format))]
    NoRequests {
        /// The format of the file.
        format: Format,
    },
    /// All requests of the file were left out.
    #[error("expected a request that was served, found none: {}; use another file", reasons(.left_out))]
    AllLeftOut {
        /// The number of requests, by reason.
        left_out: Vec<(LeftOut, u64)>,
    },
    /// The file cannot be read.
    #[error("{}", failure(*.kind, .cause))]
    Read {
        /// The kind of the failure.
        kind: io::ErrorKind,
        /// The failure.
        cause: String,
    },
    /// The file was changed between the two readings.
    #[error("the file was changed while it was read; run again when it is complete")]
    Changed,
    /// The file is not a trace, or packed in a way that is not read.
    #[error("expected a trace, found {}; {}", .0.title, .0.advice)]
    Foreign(Foreign),
    /// A row or record, or the header, is too long to be one.
    #[error(
        "expected one request, found more bytes than one can have; check that the file is a trace and that each quote \
         is closed"
    )]
    LongRecord,
    /// The file is not UTF-8 text.
    #[error("expected UTF-8 text, found other bytes; correct this line")]
    NotText,
    /// The CSV reader rejects the file.
    #[error("{0}; expected comma-separated UTF-8")]
    Csv(String),
    /// The file does not begin with a JSON object or list.
    #[error("expected JSON, found \"{}\"; name another --trace-format, or none", Shown(.found))]
    NotJson {
        /// The first line.
        found: String,
    },
    /// The JSON reader rejects the file.
    #[error("invalid JSON: {}; correct it", Shown(.0))]
    Json(String),
    /// A row has more or fewer fields than the header.
    #[error("expected {expected} fields, found {found}; correct this line")]
    Fields {
        /// The number of columns in the header.
        expected: u64,
        /// The number of fields in the row.
        found: u64,
    },
    /// A value does not meet the requirements of its column or key.
    #[error("{key}: expected {expected}, found \"{}\"; correct this line", Shown(.found))]
    Value {
        /// The column or key.
        key: Key,
        /// The requirement.
        expected: Cow<'static, str>,
        /// The value.
        found: String,
    },
    /// A column is missing.
    #[error("no column {column}{}", missing(*.format, .column, .found))]
    NoColumn {
        /// The format of the file.
        format: Format,
        /// The column.
        column: &'static str,
        /// The columns of the file.
        found: Vec<String>,
    },
    /// A key is missing.
    #[error("no key {key}{}", missing(*.format, .key, .found))]
    NoKey {
        /// The format of the file.
        format: Format,
        /// The key.
        key: &'static str,
        /// The keys of the record.
        found: Vec<String>,
    },
    /// No format has these keys.
    #[error("keys of no known format: {}; expected the keys of {}", names(.found), json_formats())]
    UnknownKeys {
        /// The keys.
        found: Vec<String>,
    },
    /// The file has only totals, no single requests.
    #[error("{}", no_details(*.format))]
    NoDetails {
        /// The format of the file.
        format: Format,
    },
    /// The arrivals are neither recorded nor known to follow a rate.
    #[error(
        "expected start_times, which newer versions of vllm bench serve save, or arrivals that follow request_rate, \
         found {}; run vLLM's or SGLang's benchmark with --request-rate alone",
        Shown(.why)
    )]
    NoArrivals {
        /// The keys and values that were found instead.
        why: String,
    },
    /// The lists of a result have different lengths.
    #[error("{list}: expected {expected} elements as in input_lens, found {found}; correct the file")]
    Lengths {
        /// The list that differs from `input_lens`.
        list: &'static str,
        /// Its length.
        found: u64,
        /// The length of `input_lens`.
        expected: u64,
    },
    /// The file has more than one result.
    #[error("expected one result, found several (--append-result); split the file")]
    SeveralResults,
    /// A request waits for one before it, but names no session.
    #[error("delay: expected a session_id beside it, found none; add one, or a timestamp")]
    DelayAlone,
    /// A column or key looks like an optional one that is missing.
    #[error(
        "unknown {} {}; did you mean {meant}? rename or remove it",
        if *.is_csv { "column" } else { "key" }, Shown(.found)
    )]
    Misspelt {
        /// The column or key.
        found: String,
        /// The optional one.
        meant: &'static str,
        /// Whether it is a column.
        is_csv: bool,
    },
    /// There are conditions on rows, but the file is JSON.
    #[error("--where selects rows of CSV, found JSON ({format}); leave it out")]
    ConditionOnJson {
        /// The format of the file.
        format: Format,
    },
    /// A condition names a column that the file does not have.
    #[error("--where: no column {}{}; use one of {}", Shown(.column), nearest_of(.column, .found), names(.found))]
    NoConditionColumn {
        /// The column.
        column: String,
        /// The columns of the file.
        found: Vec<String>,
    },
    /// A column occurs more than once.
    #[error("expected one column {}, found several; rename or remove the others", Shown(.column))]
    SeveralColumns {
        /// The column.
        column: String,
    },
    /// The columns are separated by something else than commas.
    #[error("expected columns separated by commas, found {found}; replace them")]
    Separator {
        /// The name of the separator.
        found: &'static str,
    },
    /// The selected rows are of several experiments.
    #[error(
        "column experiment has {} values ({}); select one with --where experiment=NAME",
        .values.len(), listed(.values)
    )]
    SeveralExperiments {
        /// Their names.
        values: BTreeSet<String>,
    },
    /// No row meets the conditions.
    #[error("no row meets every --where; column {} has {}", Shown(.column), listed(.values))]
    NoMatch {
        /// The column of the first condition.
        column: String,
        /// The values of that column.
        values: BTreeSet<String>,
    },
}

/// The column or key of a value, with the index of an element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The column or key.
    pub name: &'static str,
    /// The index in the list, from 0.
    pub index: Option<usize>,
}

impl Key {
    /// An element of a list.
    pub(crate) fn element(name: &'static str, index: usize) -> Key {
        let index = Some(index);
        Key { name, index }
    }
}

impl From<&'static str> for Key {
    fn from(name: &'static str) -> Key {
        Key { name, index: None }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}[{index}]", self.name),
            None => f.write_str(self.name),
        }
    }
}

impl Problem {
    /// A problem of one value.
    pub(crate) fn value(
        key: impl Into<Key>,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Problem {
        Problem::Value { key: key.into(), expected: expected.into(), found: found.into() }
    }

    /// A failure to read the file.
    pub(crate) fn read(error: &io::Error) -> Problem {
        Problem::Read { kind: error.kind(), cause: error.to_string() }
    }

    /// Adds the line of the problem, if it is known.
    pub(crate) fn at_line(self, line: Option<u64>) -> TraceError {
        TraceError { line, problem: self }
    }
}

impl From<Problem> for TraceError {
    /// A problem of the whole file.
    fn from(problem: Problem) -> TraceError {
        TraceError { line: None, problem }
    }
}
