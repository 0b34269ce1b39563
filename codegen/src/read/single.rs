//! One CSV of measured kernels without a set around it.

use std::path::Path;

use rooflut_roofline::{Gpu, OperationKind};

use super::csv_file::{Row, Rows};
use super::error::{Error, ErrorKind, Found};
use super::files::Part;
use super::measurement::MeasuredRow;
use super::physics;

/// The rows of a CSV, separated into plausible and refused ones.
#[derive(Debug)]
pub struct MeasuredRows {
    /// The measured operation.
    pub operation: OperationKind,
    /// The columns that were ignored.
    pub ignored: Vec<String>,
    /// The plausible rows, in the order of the file. A kernel may occur several times.
    pub rows: Vec<MeasuredRow>,
    /// The refused rows, in the order of the file. Empty rows are skipped.
    pub refused: Vec<RefusedRow>,
}

/// A row that was refused.
#[derive(Debug)]
pub struct RefusedRow {
    /// Its line in the file, from 1 (the header).
    pub line: u64,
    /// The reason: [`ErrorKind::Impossible`], [`ErrorKind::MfuDisagrees`], [`ErrorKind::WarmUp`],
    /// [`ErrorKind::Row`], or [`ErrorKind::Value`] for a cell that is malformed or makes no sense and for
    /// a dtype that the GPU has no peak for.
    pub error: Error,
}

/// Reads a CSV of measured kernels and checks each row against the data sheet of `gpu`.
///
/// Without `operation`, the columns determine the operation. Values are checked as in a set, but a row that is
/// malformed or impossibly fast for `gpu` does not end the reading: the row goes to [`MeasuredRows::refused`], as does
/// a row with 1 in its column `warmup`. Columns that no set has are ignored.
///
/// # Errors
/// The file cannot be read, is not UTF-8 or has no rows; its columns match no operation, or one other than `operation`;
/// a column occurs twice. See [`ErrorKind`].
pub fn read_rows(path: &Path, operation: Option<OperationKind>, gpu: &Gpu) -> Result<MeasuredRows, Error> {
    let rows = Rows::read(&Part::alone(path)?)?;
    let operation = recognise(&rows, operation)?;
    let declared = operation.declared();
    let required: Vec<_> = declared.columns().collect();
    let optional: Vec<_> = declared.optional_columns().chain([WARMUP]).collect();
    let mut read = MeasuredRows {
        operation,
        ignored: rows.check_known(&required, &optional)?,
        rows: Vec::new(),
        refused: Vec::new(),
    };
    for row in rows.iter().filter(|row| !row.is_blank()) {
        match checked(operation, &row, gpu) {
            Ok(measured) => read.rows.push(measured),
            Err(error) => read.refused.push(RefusedRow { line: row.line(), error }),
        }
    }
    Ok(read)
}

/// The operation `asked`, or else the one with the columns of the rows. One that lacks a single column is
/// recognised too: the check of the columns names that column.
fn recognise(rows: &Rows, asked: Option<OperationKind>) -> Result<OperationKind, Error> {
    let fits = with_columns(rows.header(), 0);
    let refuse = |expected: String, found, hint: String| {
        Error::new(ErrorKind::Columns, rows.location().clone(), expected, found, hint)
    };
    match (asked, fits) {
        (Some(asked), Some(fits)) if fits != asked => {
            let found = format!("{}, the columns of {fits}", rows.found());
            Err(refuse(
                format!("the columns of {asked} ({})", columns(asked)),
                Found::words(found),
                format!("name {fits} or another file"),
            ))
        }
        (asked, fits) => asked.or(fits).or_else(|| with_columns(rows.header(), 1)).ok_or_else(|| {
            let operations = OperationKind::ALL.map(|kind| format!("{kind}: {}", columns(kind)));
            let hint = rows.unseparated().unwrap_or("rename the columns or name another file");
            refuse(format!("the columns of one operation ({})", operations.join("; ")), rows.found(), hint.to_owned())
        }),
    }
}

/// The operation whose columns are all in `header` but for `lacking` ones. Where several qualify, the one
/// that has the columns of all others.
fn with_columns(header: &[String], lacking: usize) -> Option<OperationKind> {
    let missing = |column: &&str| !header.iter().any(|name| name == column);
    let columns = |kind: OperationKind| kind.declared().columns();
    let fits = |kind: &OperationKind| columns(*kind).filter(missing).count() <= lacking;
    let fitting: Vec<_> = OperationKind::ALL.into_iter().filter(fits).collect();
    let covers =
        |kind: OperationKind, other: OperationKind| columns(other).all(|column| columns(kind).any(|own| own == column));
    let mut all = fitting.iter().copied();
    all.find(|kind| fitting.iter().all(|other| covers(*kind, *other)))
}

/// The columns of an operation as its CSV writes them.
fn columns(operation: OperationKind) -> String {
    operation.declared().columns().collect::<Vec<_>>().join(",")
}

/// The column that marks rows measured while the GPU warmed up.
const WARMUP: &str = "warmup";

/// Reads a row and checks that `gpu` can be that fast.
fn checked(operation: OperationKind, row: &Row<'_>, gpu: &Gpu) -> Result<MeasuredRow, Error> {
    row.check_length()?;
    let warms = |text: &str| matches!(text, "1" | "1.0") || text.eq_ignore_ascii_case("true");
    if row.text(WARMUP).is_some_and(warms) {
        return Err(Error::new(
            ErrorKind::WarmUp,
            row.location(WARMUP),
            "a measurement on a warm GPU",
            Found::words("a warm-up run"),
            "leave it out",
        ));
    }
    let measured = MeasuredRow::parse(row, operation)?;
    physics::check(row, &measured, gpu)?;
    Ok(measured)
}
