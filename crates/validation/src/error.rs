//! Errors of reading a file of measurements.

use std::fmt;

use crate::kind::Kind;

/// A file that cannot be read. The message is one line: found, expected, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Name of the file, as given.
    pub file: String,
    /// Line in the file, from 1; `None` if the whole file is wrong.
    pub line: Option<u64>,
    /// The defect.
    pub problem: Problem,
}

/// A defect of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file is empty.
    Empty,
    /// The file has a header and no rows.
    NoRows,
    /// A line is not UTF-8 text.
    NotText,
    /// The CSV reader rejects the file.
    Csv(String),
    /// A row has more or fewer fields than the header.
    Fields {
        /// Columns of the header.
        expected: u64,
        /// Fields of the row.
        found: u64,
    },
    /// The columns are not separated by commas.
    Separator {
        /// Name of the separator found.
        found: &'static str,
    },
    /// A column occurs more than once.
    ColumnTwice {
        /// Name of the column.
        column: String,
    },
    /// The columns match no kind of file.
    Columns {
        /// The kind with the fewest missing columns.
        nearest: Kind,
        /// Missing columns of that kind.
        missing: Vec<&'static str>,
        /// Columns of the file.
        found: Vec<String>,
    },
    /// The columns match two kinds of files.
    TwoKinds(Kind, Kind),
    /// A cell is not a value of its column.
    Value {
        /// Name of the column.
        column: &'static str,
        /// Values that the column accepts.
        expected: &'static str,
        /// Text of the cell.
        found: String,
    },
}

/// Columns that a message lists at most.
const MAX_COLUMNS: usize = 8;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => write!(
                f,
                "the file is empty; expected a header and one line per measurement, as in {}",
                files(" or ")
            ),
            Problem::NoRows => write!(
                f,
                "no rows; expected one line per measurement under the header"
            ),
            Problem::NotText => write!(
                f,
                "expected UTF-8 text, found other bytes; save the file as UTF-8"
            ),
            Problem::Csv(message) => write!(
                f,
                "{message}; expected comma-separated UTF-8, correct this line"
            ),
            Problem::Fields { expected, found } => write!(
                f,
                "expected {expected} fields, found {found}; correct this line"
            ),
            Problem::Separator { found } => write!(
                f,
                "expected columns separated by commas, found {found}; replace them"
            ),
            Problem::ColumnTwice { column } => write!(
                f,
                "expected one column {column}, found several; rename or remove the others"
            ),
            Problem::Columns {
                nearest,
                missing,
                found,
            } => write!(
                f,
                "expected the columns of {}, found {}; nearest is {}: add {}",
                files(" or "),
                list(found),
                nearest.file(),
                missing.join(", ")
            ),
            Problem::TwoKinds(first, second) => write!(
                f,
                "expected the columns of one kind of file, found those of {} and of {}; remove the \
                 columns of one",
                first.file(),
                second.file()
            ),
            Problem::Value {
                column,
                expected,
                found,
            } => write!(
                f,
                "{column}: expected {expected}, found \"{found}\"; correct this line"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Lists the files of all kinds, with `last` before the last one.
fn files(last: &str) -> String {
    let [first, middle @ .., end] = Kind::ALL.map(Kind::file);
    let middle: String = middle.iter().map(|file| format!(", {file}")).collect();
    format!("{first}{middle}{last}{end}")
}

fn list(columns: &[String]) -> String {
    let more = if columns.len() > MAX_COLUMNS {
        ", ..."
    } else {
        ""
    };
    let first: Vec<&str> = columns
        .iter()
        .take(MAX_COLUMNS)
        .map(String::as_str)
        .collect();
    first.join(", ") + more
}
