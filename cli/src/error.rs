//! Why a command failed.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// Why a command failed: one line that says what was found, what was expected and what to do.
///
/// The message is written where the failure is found; nothing but `main` and scenarios reads it.
#[derive(Debug)]
pub(crate) struct Error {
    cause: Box<dyn std::error::Error>,
    /// The flags of `rooflut run` to correct, the first that is given.
    flags: &'static [&'static str],
}

impl Error {
    /// An error with this message or cause.
    pub(crate) fn new(cause: impl Into<Box<dyn std::error::Error>>) -> Error {
        Error::about(&[], cause)
    }

    /// An error of the values of `flags`.
    pub(crate) fn about(
        flags: &'static [&'static str],
        cause: impl Into<Box<dyn std::error::Error>>,
    ) -> Error {
        let cause = cause.into();
        Error { cause, flags }
    }

    /// Converts an error of reading `path`.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Error {
        |error| {
            let path = path.display();
            Error::new(format!("cannot read {path}: {error}; check the path"))
        }
    }

    /// Converts an error of writing `path`.
    pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Error {
        |error| {
            let path = path.display();
            Error::new(format!(
                "cannot write {path}: {error}; check the folder and its permissions"
            ))
        }
    }

    /// A problem of what the file at `path` contains, with its line if it has one.
    pub(crate) fn in_file(path: &Path, line: Option<u64>, problem: impl Display) -> Error {
        let path = path.display();
        Error::new(match line {
            Some(line) => format!("{path}:{line}: {problem}"),
            None => format!("{path}: {problem}"),
        })
    }

    /// The flags of `rooflut run` that the error is about.
    pub(crate) fn flags(&self) -> &'static [&'static str] {
        self.flags
    }
}

/// Errors of the libraries have messages of their own.
impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Error {
        Error::new(error)
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}
