//! Why an import gives nothing, told to the person who has to mend it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rooflut_codegen::OperationKind;
use rooflut_roofline::Dtype;

use crate::asked::Asked;
use crate::layout::Layout;
use crate::told::{LISTED, listed, quoted, write_devices};

/// Why an import gives nothing. Every message is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A CSV that is no text.
    NotText {
        /// The file.
        file: String,
        /// Its line.
        line: u64,
    },
    /// No file of the layout among those that were given.
    NoTable {
        /// The layout.
        layout: Layout,
        /// What was left aside, and why.
        not_imported: Vec<(String, String)>,
    },
    /// The files do not say what a table set has to: all of it at once.
    Asked(Vec<Asked>),
    /// Columns are missing.
    MissingColumns {
        /// The file.
        file: String,
        /// The missing columns, each with the column that may be meant.
        missing: Vec<(String, Option<String>)>,
        /// The columns found.
        found: Vec<String>,
        /// The columns that such a file must have.
        expected: Vec<String>,
    },
    /// A column stands twice.
    ColumnTwice {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A header was given that does not fit a file.
    HeaderLength {
        /// The file.
        file: String,
        /// Its columns.
        found: usize,
        /// The columns given.
        given: Vec<String>,
    },
    /// A condition that nothing can meet.
    Condition {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// The columns that there are, if it is none of them; else the values that the column has.
        known: Vec<String>,
        /// Whether the column is none.
        unknown_column: bool,
    },
    /// One kernel with several latencies that columns tell apart.
    Ambiguous {
        /// What was measured.
        operation: OperationKind,
        /// The columns and their values.
        columns: BTreeMap<String, BTreeSet<String>>,
    },
    /// Rows of a device that is not the GPU that was asked for.
    Device {
        /// The GPU.
        gpu: String,
        /// The devices that rows are of, each with what would import its rows.
        devices: Vec<(String, String)>,
        /// The one of them that is the GPU.
        meant: Option<String>,
    },
    /// Rows of several engine stacks.
    Engines(Vec<String>),
    /// A name of a format was explained that no row has.
    DtypeName {
        /// The name.
        name: String,
        /// The names that rows have.
        known: Vec<String>,
    },
    /// So many rows are faster than the GPU can be that GPU or format are in doubt.
    Implausible {
        /// What was measured.
        operation: OperationKind,
        /// Rows that are impossible.
        impossible: usize,
        /// All rows.
        rows: usize,
        /// Where the first of them is, and what is wrong with it.
        first: String,
        /// The formats with which all rows are possible.
        fitting: Vec<Dtype>,
    },
    /// No row is left.
    NothingLeft {
        /// Reasons and how many rows each left out.
        left_out: Vec<(String, usize)>,
    },
    /// A data sheet that cannot be read.
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
                for (file, why) in not_imported.iter().take(LISTED) {
                    write!(f, "; {file}: {why}")?;
                }
                match not_imported.len() {
                    0 => f.write_str("; check the path"),
                    found if found > LISTED => write!(f, "; and {} more", found - LISTED),
                    _ => Ok(()),
                }
            }
            Error::Asked(asked) => {
                f.write_str("the files do not say all that a table set has to; add ")?;
                for (index, asked) in asked.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{asked}")?;
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
                    "{operation}: one kernel has several latencies, told apart by "
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
                        write!(f, "; say which are meant, as with --where {condition}")
                    }
                    None => Ok(()),
                }
            }
            Error::Device {
                gpu,
                devices,
                meant,
            } => write_devices(f, gpu, devices, meant.as_deref()),
            Error::Engines(engines) => write!(
                f,
                "expected rows of one engine stack, found {}; take those of one with --where version=..., or \
                 say with --engine what the set is of",
                listed(engines.iter().map(String::as_str), engines.len())
            ),
            Error::DtypeName { name, known } if known.is_empty() => write!(
                f,
                "--dtype-name {name}: expected a name that a row has, found no row that names a format; \
                 say --dtype"
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
                     what was said of all of them is wrong, not these rows; check --gpu and the format of \
                     the numbers"
                )?;
                let names: Vec<&str> = fitting.iter().map(|dtype| dtype.name()).collect();
                match names.is_empty() {
                    true => f.write_str(" (no format fits)"),
                    false => write!(f, " (fitting: {})", names.join(", ")),
                }
            }
            Error::NothingLeft { left_out } if left_out.is_empty() => f.write_str(
                "expected rows of measurements, found files without one, only headers; check SRC",
            ),
            Error::NothingLeft { left_out } => {
                f.write_str("expected rows that a table set can hold, found none: ")?;
                let told: Vec<String> = left_out
                    .iter()
                    .map(|(reason, rows)| format!("{rows} left out: {reason}"))
                    .collect();
                f.write_str(&told.join("; "))
            }
            Error::Sheet(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
