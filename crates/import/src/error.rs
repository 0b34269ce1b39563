//! Why an import fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rooflut_codegen::OperationKind;
use rooflut_roofline::Dtype;

use crate::layout::Layout;
use crate::missing::MissingAnswer;
use crate::text::{MAX_LISTED, listed, quoted, write_devices};

/// Why an import fails. Every message is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A CSV is not UTF-8 text.
    NotText {
        /// The file.
        file: String,
        /// Its line.
        line: u64,
    },
    /// None of the files is a table of the layout.
    NoTable {
        /// The layout.
        layout: Layout,
        /// The files that were not imported, each with the reason.
        not_imported: Vec<(String, String)>,
    },
    /// Neither files nor user gave what a table set must name: all of it at once.
    MissingAnswers(Vec<MissingAnswer>),
    /// Columns are missing.
    MissingColumns {
        /// The file.
        file: String,
        /// The missing columns, each with a similar one of the file.
        missing: Vec<(String, Option<String>)>,
        /// The columns found.
        found: Vec<String>,
        /// The columns that such a file must have.
        expected: Vec<String>,
    },
    /// A column occurs twice.
    ColumnTwice {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A header was given that does not match a file.
    HeaderLength {
        /// The file.
        file: String,
        /// Its columns.
        found: usize,
        /// The columns given.
        given: Vec<String>,
    },
    /// A condition that no row meets.
    Condition {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// The columns of the files if the column is unknown, else the values of the column.
        known: Vec<String>,
        /// Whether no file has the column.
        unknown_column: bool,
    },
    /// One kernel with several latencies that columns distinguish.
    Ambiguous {
        /// The operation.
        operation: OperationKind,
        /// The columns and their values.
        columns: BTreeMap<String, BTreeSet<String>>,
    },
    /// Rows name another device than the GPU of the set.
    Device {
        /// The GPU.
        gpu: String,
        /// The devices that rows name, each with the flag that imports its rows.
        devices: Vec<(String, String)>,
        /// The device that is the GPU of the set, if one is.
        matching: Option<String>,
    },
    /// Rows of several engine stacks.
    Engines(Vec<String>),
    /// No row has this name of a format.
    DtypeName {
        /// The name.
        name: String,
        /// The names that rows have.
        known: Vec<String>,
    },
    /// So many rows are faster than the GPU can be that the GPU or the format is wrong.
    Implausible {
        /// The operation.
        operation: OperationKind,
        /// The number of impossible rows.
        impossible: usize,
        /// The number of all rows.
        rows: usize,
        /// File, line and detail of the first impossible row.
        first: String,
        /// The formats with which all rows are possible.
        fitting: Vec<Dtype>,
    },
    /// No row is left.
    NothingLeft {
        /// The number of rows, by reason.
        left_out: Vec<(String, usize)>,
    },
    /// A data sheet cannot be read.
    Sheet(rooflut_codegen::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotText { file, line } => {
                write!(
                    f,
                    "{file}:{line}: expected UTF-8 text, found other bytes; save the file as UTF-8"
                )
            }
            Error::NoTable {
                layout,
                not_imported,
            } => {
                write!(
                    f,
                    "expected tables of {layout} ({}), found none",
                    layout.expected()
                )?;
                for (file, why) in not_imported.iter().take(MAX_LISTED) {
                    write!(f, "; {file}: {why}")?;
                }
                match not_imported.len() {
                    0 => f.write_str("; check the path"),
                    found if found > MAX_LISTED => write!(f, "; and {} more", found - MAX_LISTED),
                    _ => Ok(()),
                }
            }
            Error::MissingAnswers(missing) => {
                f.write_str(
                    "expected all that a table set must name, found only a part in the files; add ",
                )?;
                for (index, answer) in missing.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{answer}")?;
                }
                Ok(())
            }
            Error::MissingColumns {
                file,
                missing,
                found,
                expected,
            } => {
                write!(
                    f,
                    "{file}: expected the columns {}, found {}; missing: ",
                    expected.join(","),
                    found.join(",")
                )?;
                for (index, (column, nearest)) in missing.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{column}")?;
                    if let Some(nearest) = nearest {
                        write!(f, " (is it {nearest}?)")?;
                    }
                }
                f.write_str(
                    "; rename the columns that are meant, or leave the file out with --skip",
                )
            }
            Error::ColumnTwice { file, column } => write!(
                f,
                "{file}: {column}: expected a column of that name once, found it twice; rename one of the two"
            ),
            Error::HeaderLength { file, found, given } => write!(
                f,
                "{file}: --header: expected a name for each of its {found} columns, found {} ({}); name them all",
                given.len(),
                given.join(",")
            ),
            Error::Condition {
                column,
                value,
                known,
                unknown_column,
            } => {
                let listed = listed(known.iter().map(String::as_str), known.len());
                match unknown_column {
                    true => write!(
                        f,
                        "--where {column}={value}: expected a column of the files, one of {listed}, found none called {column}"
                    ),
                    false => write!(
                        f,
                        "--where {column}={value}: expected a value that the column has, one of {listed}, found no row with {value}"
                    ),
                }
            }
            Error::Ambiguous { operation, columns } => {
                write!(
                    f,
                    "{operation}: one kernel has several latencies, which differ in "
                )?;
                for (index, (column, values)) in columns.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    let values = listed(values.iter().map(String::as_str), values.len());
                    write!(f, "{separator}{column} ({values})")?;
                }
                let first = columns.iter().next();
                let example = first.and_then(|(column, values)| Some((column, values.first()?)));
                match example {
                    Some((column, value)) => {
                        let condition = quoted(&format!("{column}={value}"));
                        write!(f, "; select one with --where, as in --where {condition}")
                    }
                    None => Ok(()),
                }
            }
            Error::Device {
                gpu,
                devices,
                matching,
            } => write_devices(f, gpu, devices, matching.as_deref()),
            Error::Engines(engines) => write!(
                f,
                "expected rows of one engine stack, found {}; select one with --where version=..., or name the \
                 stack of the set with --engine",
                listed(engines.iter().map(String::as_str), engines.len())
            ),
            Error::DtypeName { name, known } if known.is_empty() => write!(
                f,
                "--dtype-name {name}: expected a name that a row has, found no row that names a format; \
                 use --dtype"
            ),
            Error::DtypeName { name, known } => write!(
                f,
                "--dtype-name {name}: expected a name that a row has, one of {}, found no row with it",
                listed(known.iter().map(String::as_str), known.len())
            ),
            Error::Implausible {
                operation,
                impossible,
                rows,
                first,
                fitting,
            } => {
                write!(
                    f,
                    "{operation}: {impossible} of {rows} rows are faster than the GPU can be ({first}): \
                     an answer for all rows is wrong, not these rows; check --gpu and the format of the \
                     numbers"
                )?;
                let names: Vec<&str> = fitting.iter().map(|dtype| dtype.name()).collect();
                match names.is_empty() {
                    true => f.write_str(" (no format fits)"),
                    false => write!(f, " (fitting: {})", names.join(", ")),
                }
            }
            Error::NothingLeft { left_out } if left_out.is_empty() => {
                f.write_str("expected rows of measurements, found only headers; check SRC")
            }
            Error::NothingLeft { left_out } => {
                f.write_str("expected rows that a table set can hold, found none: ")?;
                let reasons: Vec<String> = left_out
                    .iter()
                    .map(|(reason, rows)| format!("{rows} left out: {reason}"))
                    .collect();
                f.write_str(&reasons.join("; "))
            }
            Error::Sheet(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
