//! The error of a text that is not a value.

use std::fmt;

/// Why a text is not the value of a key: what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError(String);

impl ValueError {
    pub(crate) fn new(expected: impl fmt::Display) -> ValueError {
        ValueError(expected.to_string())
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}
