//! Why a file is no report.

use std::fmt;

/// Why a file is no report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompareError {
    /// The file is not JSON.
    Json(String),
    /// A figure of a report is missing or has another type.
    Figure(String),
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, found) = match self {
            CompareError::Json(found) => ("JSON", found),
            CompareError::Figure(found) => ("the report of a run", found),
        };
        write!(f, "expected {expected}: {found}; write the report with `rooflut run --json`")
    }
}

impl std::error::Error for CompareError {}
