//! Errors of reading a file of measurements.

use std::fmt;

/// A file that cannot be read. The message is one line: found, expected, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Name of the file, as given.
    pub file: String,
    /// Line in the file, from 1; `None` if the whole file is wrong.
    pub line: Option<u64>,
    /// The defect: found, expected, and what to do.
    pub problem: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for Error {}
