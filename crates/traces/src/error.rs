//! Why a trace cannot be replayed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use crate::format::Format;
use crate::left_out::LeftOut;

/// Why a trace cannot be replayed: one line that says what was found, what was expected and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// The line, from 1, if it is one.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a trace.
///
/// Its text names flags as `rooflut run` has them: `--where` for [`Options::conditions`],
/// `--trace-format` for [`Options::format`].
///
/// [`Options::conditions`]: crate::Options::conditions
/// [`Options::format`]: crate::Options::format
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in the file.
    Empty {
        /// What it would be.
        format: Format,
    },
    /// There is no request in the file.
    NoRequests {
        /// What it would be.
        format: Format,
    },
    /// No request of the file can be replayed.
    AllLeftOut {
        /// Why, and how many.
        left_out: Vec<(LeftOut, u64)>,
    },
    /// It is no UTF-8 text.
    NotText,
    /// The reader of CSV refuses it.
    Csv(String),
    /// It does not begin as JSON does.
    NotJson {
        /// Its first line.
        found: String,
    },
    /// It is not the JSON that it should be.
    Json(String),
    /// A row has more or fewer fields than the header.
    Fields {
        /// Columns of the header.
        expected: u64,
        /// Fields of the row.
        found: u64,
    },
    /// A value is not what it should be.
    Value {
        /// Its column or key.
        key: Key,
        /// What it should be.
        expected: Cow<'static, str>,
        /// What it is.
        found: String,
    },
    /// A column is missing.
    NoColumn {
        /// The format of the file.
        format: Format,
        /// The column.
        column: &'static str,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// A key is missing.
    NoKey {
        /// The format of the file.
        format: Format,
        /// The key.
        key: &'static str,
        /// The keys that there are.
        found: Vec<String>,
    },
    /// The keys are those of no format.
    UnknownKeys {
        /// The keys.
        found: Vec<String>,
    },
    /// The file has no request by itself, only sums.
    NoDetails {
        /// The format of the file.
        format: Format,
    },
    /// Nothing says when the requests arrived.
    NoArrivals {
        /// Why the keys that there are do not say it.
        why: String,
    },
    /// The lists of a result have different lengths.
    Lengths {
        /// A list.
        list: &'static str,
        /// Its elements.
        found: u64,
        /// The elements of `input_lens`.
        expected: u64,
    },
    /// There is a second result in the file.
    SeveralResults,
    /// There are more ids of blocks than can be counted.
    TooManyIds,
    /// A condition on rows, but there are none.
    ConditionOnJson {
        /// The format of the file.
        format: Format,
    },
    /// A condition is on a column that does not exist.
    NoConditionColumn {
        /// The column.
        column: String,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// A column occurs more than once.
    SeveralColumns {
        /// The column.
        column: String,
    },
    /// Something else than a comma separates the columns.
    Separator {
        /// What it is called.
        found: &'static str,
    },
    /// The file has several experiments.
    SeveralExperiments {
        /// Their names.
        values: BTreeSet<String>,
    },
    /// No row fulfils the conditions.
    NoMatch {
        /// The column of the first condition.
        column: String,
        /// What it has.
        values: BTreeSet<String>,
    },
}

/// The column, or the key and the place in its list, of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The column or key.
    pub name: &'static str,
    /// The place in the list, from 0.
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
    /// A value that is not what it should be.
    pub(crate) fn value(
        key: impl Into<Key>,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Problem {
        Problem::Value {
            key: key.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The same, with the line on which it is.
    pub(crate) fn on_line(self, line: u64) -> TraceError {
        TraceError {
            line: Some(line),
            problem: self,
        }
    }
}

impl From<Problem> for TraceError {
    /// A problem of the whole file.
    fn from(problem: Problem) -> TraceError {
        TraceError {
            line: None,
            problem,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => self.problem.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}
