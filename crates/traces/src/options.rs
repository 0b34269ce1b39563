//! Options for reading a file.

use std::fmt;
use std::str::FromStr;

use rooflut_error::{Error, Kind};

use crate::column_names::ColumnNames;
use crate::extent::Extent;
use crate::format::Format;

/// Options for reading a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'o> {
    /// The format; `None` recognises it.
    pub format: Option<Format>,
    /// The columns or keys of a file in no known format, in place of [`format`](Options::format).
    pub columns: Option<&'o ColumnNames>,
    /// Conditions; a row must meet all of them. Only for CSV.
    pub conditions: &'o [Condition],
    /// The part that is replayed.
    pub extent: Extent,
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
    type Err = Error;

    fn from_str(text: &str) -> Result<Condition, Error> {
        match text.split_once('=') {
            Some((column, value)) if !column.is_empty() => {
                Ok(Condition { column: column.to_owned(), value: value.to_owned() })
            }
            _ => Err(Error::new(Kind::Value, "expected COLUMN=VALUE, as in experiment=first")),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.column, self.value)
    }
}
