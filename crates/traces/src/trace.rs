//! Requests read from a trace.

use std::fmt;
use std::str::FromStr;

use rooflut::sim::Request;

use crate::format::Format;
use crate::left_out::LeftOut;

/// Tokens of the block that an id of [`Trace::block_ids`] stands for.
pub const BLOCK_TOKENS: u32 = 512;

/// The requests of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// The requests, in the order of the file.
    pub requests: Vec<Request>,
    /// The ids that [`Content::TraceBlocks`](rooflut::sim::Content::TraceBlocks) indexes, one for each
    /// block of [`BLOCK_TOKENS`] tokens; the last block of a prompt may be shorter.
    pub block_ids: Vec<u64>,
    /// The number of requests that were left out, by reason.
    pub left_out: Vec<(LeftOut, u64)>,
    /// The format of the file.
    pub format: Format,
    /// The origin of the arrivals.
    pub arrivals: ArrivalSource,
}

/// The origin of the arrivals of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ArrivalSource {
    /// The file has an arrival for each request.
    Recorded,
    /// The file has only the rate of a Poisson process. The arrivals are drawn with seed 0 and scaled
    /// so that the last request arrives at requests / rate, as vLLM's benchmark does.
    Poisson {
        /// Requests per second.
        requests_per_s: f64,
    },
    /// All requests were sent at the start.
    AtOnce,
}

/// Options for reading a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'o> {
    /// The format; `None` recognises it.
    pub format: Option<Format>,
    /// Conditions that a row must meet, all of them. Only for CSV.
    pub conditions: &'o [Condition],
}

/// A condition on the rows of a CSV: `COLUMN=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The name of the column.
    pub column: String,
    /// The value that its cell must have.
    pub value: String,
}

impl FromStr for Condition {
    type Err = NotACondition;

    fn from_str(text: &str) -> Result<Condition, NotACondition> {
        match text.split_once('=') {
            Some((column, value)) if !column.is_empty() => Ok(Condition {
                column: column.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err(NotACondition),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.column, self.value)
    }
}

/// Text that is not a [`Condition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACondition;

impl fmt::Display for NotACondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected COLUMN=VALUE, as in experiment=first")
    }
}

impl std::error::Error for NotACondition {}
