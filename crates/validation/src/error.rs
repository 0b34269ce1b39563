//! Why a file is no file of measurements.

use std::fmt;

use crate::kind::Kind;

/// Why a file cannot be read: one line that says what was found, what was expected and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1, if it is one.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in it.
    Empty,
    /// There is a header and no row.
    NoRows,
    /// A line is no UTF-8 text.
    NotText,
    /// The reader of CSV refuses it.
    Csv(String),
    /// A row has more or fewer fields than the header.
    Fields {
        /// Columns of the header.
        expected: u64,
        /// Fields of the row.
        found: u64,
    },
    /// Something else than a comma separates the columns.
    Separator {
        /// What it is called.
        found: &'static str,
    },
    /// A column occurs more than once.
    ColumnTwice {
        /// Its name.
        column: String,
    },
    /// The columns are those of no kind of file.
    Columns {
        /// The kind that lacks the fewest.
        nearest: Kind,
        /// What it lacks.
        missing: Vec<&'static str>,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// The columns are those of two kinds of files.
    TwoKinds(Kind, Kind),
    /// A cell is not what its column holds.
    Value {
        /// The column.
        column: &'static str,
        /// What it holds.
        expected: &'static str,
        /// What the cell says.
        found: String,
    },
}

/// The most columns that a message lists.
const MOST_COLUMNS: usize = 8;

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

/// The files of all kinds, as one says it.
fn files(last: &str) -> String {
    let [first, middle @ .., end] = Kind::ALL.map(Kind::file);
    let middle: String = middle.iter().map(|file| format!(", {file}")).collect();
    format!("{first}{middle}{last}{end}")
}

fn list(columns: &[String]) -> String {
    let more = if columns.len() > MOST_COLUMNS {
        ", ..."
    } else {
        ""
    };
    let first: Vec<&str> = columns
        .iter()
        .take(MOST_COLUMNS)
        .map(String::as_str)
        .collect();
    first.join(", ") + more
}
