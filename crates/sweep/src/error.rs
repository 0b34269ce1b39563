//! Why a sweep cannot go on.

use std::{fmt, io};

use rooflut_error::hint;
use rooflut_scenario::{RunError, grouped};

/// Why a sweep cannot start or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum SweepError {
    /// No key of a scenario that a sweep can vary has this name.
    UnknownKey {
        /// The name as given.
        found: String,
        /// The name that it misspells.
        nearest: Option<String>,
    },
    /// A key does not take a value, or a range is impossible.
    Value {
        /// The key.
        key: String,
        /// The value as given.
        found: String,
        /// The accepted values, as `expected ...`.
        expected: String,
    },
    /// A key is given twice.
    Twice {
        /// The key.
        key: String,
    },
    /// The grid has more points than can be numbered.
    TooLarge {
        /// Keys and their numbers of values.
        sizes: String,
    },
    /// The scenario cannot be written as data.
    Data(String),
    /// A model, a table set or a file that a value names cannot be found or read.
    NotFound(String),
    /// No deployment of the grid can be run, with the error of the first; or the sweep was stopped.
    Run(Box<RunError>),
    /// No thread can be started.
    Threads(io::Error),
    /// A row cannot be written, or rows cannot be read.
    Io(io::Error),
    /// Rows that are of no sweep, or of another grid or shard.
    Rows {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The problem: expected, found and what to do.
        problem: String,
    },
    /// Shards that do not make a whole.
    Shards(String),
}

impl SweepError {
    pub(crate) fn value(key: &str, found: &str, expected: String) -> SweepError {
        SweepError::Value { key: key.to_owned(), found: found.to_owned(), expected }
    }

    /// The key that the error is about.
    pub fn key(&self) -> Option<&str> {
        match self {
            SweepError::Value { key, .. } | SweepError::Twice { key } => Some(key),
            _ => None,
        }
    }

    /// Returns the message, with keys as `name` writes them.
    pub fn message(&self, name: impl Fn(&str) -> String) -> String {
        match self {
            SweepError::UnknownKey { found, nearest } => {
                format!("unknown key {found:?}{}; correct or remove it", hint(nearest.as_slice()))
            }
            SweepError::Value { key, found, expected } => {
                format!("{}: {expected}, found {found:?}; correct it", name(key))
            }
            SweepError::Twice { key } => {
                format!("{}: expected once, found twice; remove one", name(key))
            }
            SweepError::TooLarge { sizes } => {
                let most = grouped(u64::MAX);
                format!("expected at most {most} deployments, found {sizes}; take fewer values")
            }
            SweepError::Data(message) => {
                format!("expected values that JSON has, too: {message}")
            }
            SweepError::NotFound(message) => message.clone(),
            SweepError::Run(error) => error.to_string(),
            SweepError::Threads(error) => format!("cannot start a thread: {error}; use fewer"),
            SweepError::Io(error) => error.to_string(),
            SweepError::Rows { file, line, problem } => format!("{file}:{line}: {problem}"),
            SweepError::Shards(problem) => problem.clone(),
        }
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(str::to_owned))
    }
}

/// Has no source: its message contains that of the error that it wraps.
impl std::error::Error for SweepError {}

impl From<io::Error> for SweepError {
    fn from(error: io::Error) -> SweepError {
        SweepError::Io(error)
    }
}
