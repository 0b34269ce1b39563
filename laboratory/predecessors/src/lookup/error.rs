//! Errors of the predecessors' lookups.

use std::fmt;

use super::{Row, TableKey};
use rooflut::table::TableSet;

/// The error of a predecessor's lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// The set has no table of an operation in a format that the original supports.
    NoTable {
        /// Name of the set.
        set: String,
        /// The operation, with the accepted formats.
        operation: &'static str,
    },
    /// The published MFU of a row is 0.000, and the original divides by it.
    ZeroMfu {
        /// The row.
        row: Row,
    },
    /// All MFUs of a table are 0.000, or the table has no row.
    NothingPositive {
        /// The table.
        table: TableKey,
    },
}

impl LookupError {
    pub(super) fn no_table(set: &TableSet, operation: &'static str) -> LookupError {
        LookupError::NoTable { set: set.name().to_owned(), operation }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupError::NoTable { set, operation } => {
                write!(f, "{set}: expected a table for {operation}, found none: choose a set that has one")
            }
            LookupError::ZeroMfu { row } => write!(
                f,
                "{row}: expected a positive MFU, found 0.000 (rounded as published), by which the \
                 original divides: ask for a larger step or use the default model"
            ),
            LookupError::NothingPositive { table } => {
                write!(f, "{table}: expected a row with a positive MFU, found none: choose another set")
            }
        }
    }
}

impl std::error::Error for LookupError {}
