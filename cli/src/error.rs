//! Why a command failed.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::Path;

use rooflut::step::UncertainPart;
use rooflut::table::TooUncertain;
use rooflut_error::hint;
use rooflut_scenario::{RunError, accepting};

/// Why a command failed: one line that says what was found, what was expected and what to do.
///
/// The message is written where the failure is found; nothing but [`main_with`](crate::main_with) reads it.
#[derive(Debug)]
pub struct Error {
    cause: Box<dyn std::error::Error>,
    /// The key of a scenario to correct.
    key: Option<&'static str>,
}

impl Error {
    /// An error with this message or cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error>>) -> Error {
        let cause = cause.into();
        Error { cause, key: None }
    }

    /// Returns the error as one of the value of a key.
    pub fn about(self, key: &'static str) -> Error {
        let key = Some(key);
        Error { key, ..self }
    }

    /// An answer of a table that is less certain than `--strict` accepts.
    pub fn uncertain(error: TooUncertain) -> Error {
        Error::new(format!("{error} ({})", accepting(&error, flag)))
    }

    /// A part of a step that is less certain than `--strict` accepts.
    pub(crate) fn uncertain_part(error: UncertainPart) -> Error {
        RunError::UncertainPart(error).into()
    }

    /// Converts an error of reading `path`.
    pub fn reading(path: &Path) -> impl Fn(io::Error) -> Error {
        |error| {
            let advice = match error.kind() {
                ErrorKind::TimedOut => "start its writer first",
                _ => "check the path",
            };
            Error::new(format!("cannot read {}: {error}; {advice}", path.display()))
        }
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
            Error::new(format!("cannot write {path}: {error}; {advice}"))
        }
    }

    /// A problem of what the file at `path` contains, with its line if it has one.
    pub fn in_file(path: &Path, line: Option<u64>, problem: impl Display) -> Error {
        let path = path.display();
        Error::new(match line {
            Some(line) => format!("{path}:{line}: {problem}"),
            None => format!("{path}: {problem}"),
        })
    }

    /// Returns the message on one line: a name that it quotes may have line breaks.
    pub(crate) fn one_line(&self) -> String {
        self.to_string().replace(char::is_control, "\u{fffd}")
    }

    /// Returns the message with keys as a scenario file has them.
    pub fn in_keys(&self) -> String {
        self.cause.to_string()
    }

    /// The keys of a scenario that the error is about; the first one that is given is the one to correct.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        match self.cause.downcast_ref::<RunError>() {
            Some(error) => error.keys(),
            None => self.key.into_iter().collect(),
        }
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
        match self.cause.downcast_ref::<RunError>() {
            Some(error) => f.write_str(&with_flags(error)),
            None => self.cause.fmt(f),
        }
    }
}

/// Returns a key of a scenario as a flag: `--arrival gamma`.
fn flag(key: &str, value: Option<&str>) -> String {
    let flag = format!("--{}", key.replace('_', "-"));
    value.map_or(flag.clone(), |value| format!("{flag} {value}"))
}

/// Returns the message of an error with flags for keys, and with the commands that list what there is.
pub(crate) fn with_flags(error: &RunError) -> String {
    match error {
        RunError::Scenario(error) => error.problem.message(flag),
        RunError::UnknownEngine { name, nearest } => {
            format!("--engine: unknown engine {name:?}{}; `rooflut engines` lists all", hint(nearest))
        }
        error => error.message(flag),
    }
}
