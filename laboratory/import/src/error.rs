//! Errors of an import. Every message is one line.

use std::fmt::Display;

use rooflut_error::{Error, Kind};

/// A file, or the rows of an operation or with a column, are not what was expected.
pub(crate) fn wrong(about: impl Display, problem: impl Display) -> Error {
    Error::new(Kind::Contents, format!("{about}: {problem}"))
}
