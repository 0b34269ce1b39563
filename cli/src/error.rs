//! Why a command failed.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::Path;

use rooflut_error::reading;
use rooflut_scenario::Kind;

/// Why a command failed: one line that says what was found, what was expected and what to do, with flags for settings.
#[derive(Debug)]
pub struct Error(rooflut_scenario::Error);

impl Error {
    /// An error with this message, of wrong use.
    pub fn new(message: impl Display) -> Error {
        Error::of(Kind::Value, message)
    }

    /// An error of this kind with this message.
    pub(crate) fn of(kind: Kind, message: impl Display) -> Error {
        Error(rooflut_scenario::Error::new(kind, message.to_string()))
    }

    /// The kind, which decides the exit code.
    pub(crate) fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// Returns the error as one of the value of a key.
    pub fn about(self, key: &'static str) -> Error {
        Error(self.0.about([key]))
    }

    /// Converts an error of reading `path`.
    pub fn reading(path: &Path) -> impl Fn(io::Error) -> Error {
        |error| Error(reading(path)(error))
    }

    /// Converts an error of writing `path`.
    pub fn writing(path: &Path) -> impl Fn(io::Error) -> Error {
        |error| {
            let path = match path.to_str() {
                Some("-") => "to standard output".to_owned(),
                _ => path.display().to_string(),
            };
            let advice = match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free space there, or write to another disk",
                ErrorKind::TimedOut => "start its reader first",
                ErrorKind::FileTooLarge => "raise the limit of `ulimit -f`, or write less",
                _ => "check the folder and its permissions",
            };
            Error::of(Kind::Io, format!("cannot write {path}: {error}; {advice}"))
        }
    }

    /// A problem of what the file at `path` contains, with its line if it has one.
    pub fn in_file(path: &Path, line: Option<u64>, problem: impl Display) -> Error {
        Error(Error::new(problem).0.at_line(line).in_file(path))
    }

    /// Returns the error with the place in a scenario file, and with keys as that has them.
    pub(crate) fn placed(&self, path: &Path, line: impl Into<Option<u64>>) -> Error {
        Error(Error::of(self.kind(), self.in_keys()).0.at_line(line).in_file(path))
    }

    /// Returns the message with keys as a scenario file has them.
    pub fn in_keys(&self) -> String {
        self.0.to_string()
    }

    /// The keys of a scenario that the error is about; the first one that is given is the one to correct.
    pub(crate) fn keys(&self) -> Vec<&str> {
        self.0.keys()
    }
}

/// Errors of other libraries have messages of their own.
impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Error {
        let error: Box<dyn std::error::Error> = error.into();
        let kind = if error.is::<io::Error>() { Kind::Io } else { Kind::Value };
        error.downcast().map_or_else(|error| Error::of(kind, error), |error| Error(*error))
    }
}

impl From<Error> for rooflut_scenario::Error {
    fn from(error: Error) -> rooflut_scenario::Error {
        error.0
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_flags(&self.0))
    }
}

/// Returns the message of an error with flags for settings: `--arrival gamma`.
pub(crate) fn with_flags(error: &rooflut_scenario::Error) -> String {
    error.message(|key, value| {
        let flag = format!("--{}", key.replace('_', "-"));
        value.map_or(flag.clone(), |value| format!("{flag} {value}"))
    })
}
