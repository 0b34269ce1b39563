//! Errors that several lookups have.

use rooflut::table::TableSet;
use rooflut_error::{Error, Kind};

use super::TableKey;

/// The set has no table of an operation in a format that the original supports.
pub(super) fn no_table(set: &TableSet, operation: &str) -> Error {
    let text = format!("{}: expected a table for {operation}, found none: choose a set that has one", set.name());
    Error::new(Kind::NotMeasured, text)
}

/// All MFUs of a table are 0.000, or the table has no row.
pub(super) fn nothing_positive(table: TableKey) -> Error {
    Error::new(Kind::Contents, format!("{table}: expected a row with a positive MFU, found none: choose another set"))
}
