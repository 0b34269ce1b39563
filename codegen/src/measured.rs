//! One CSV of measured kernels, by itself.

use std::path::Path;

use rooflut_roofline::{Gpu, MeasuredKernel, OperationKind};

use crate::Error;
use crate::check;
use crate::files::Part;
use crate::rows::{Row, Rows};

/// The operation of whose columns `header` lacks at most `lacking`; of several, the one that has the
/// columns of all others.
fn of_header(header: &[String], lacking: usize) -> Option<OperationKind> {
    let missing = |column: &&str| !header.iter().any(|name| name == column);
    let columns = |kind: OperationKind| kind.declared().columns();
    let fits = |kind: &OperationKind| columns(*kind).filter(missing).count() <= lacking;
    let fitting: Vec<_> = OperationKind::ALL.into_iter().filter(fits).collect();
    let covers = |kind: OperationKind, other: OperationKind| {
        columns(other).all(|column| columns(kind).any(|own| own == column))
    };
    let mut all = fitting.iter().copied();
    all.find(|kind| fitting.iter().all(|other| covers(*kind, *other)))
}

/// A row that can be true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRow {
    /// Its line in the file, from 1 (the header).
    pub line: u64,
    /// What was measured.
    pub kernel: MeasuredKernel,
    /// How long it took, microseconds.
    pub latency_us: f64,
}

/// The rows of one table of a checked set.
#[derive(Debug)]
pub struct TableRows {
    /// The file as messages call it.
    pub file: String,
    /// What they measure.
    pub operation: OperationKind,
    /// In the order of the file; each kernel once.
    pub rows: Vec<MeasuredRow>,
}

/// A row that tells nothing of a GPU.
#[derive(Debug)]
pub struct RefusedRow {
    /// Its line in the file, from 1 (the header).
    pub line: u64,
    /// Why: [`Error::Impossible`], [`Error::MfuDisagrees`], [`Error::WarmUp`], or [`Error::Value`]
    /// for a cell that is malformed or makes no sense and for a dtype that the GPU has no peak for.
    pub error: Error,
}

/// The rows of a CSV, by whether they tell something of a GPU.
#[derive(Debug)]
pub struct MeasuredRows {
    /// What they measure.
    pub operation: OperationKind,
    /// The columns that were not looked at.
    pub ignored: Vec<String>,
    /// Those that can be true, in the order of the file. A kernel may occur several times.
    pub rows: Vec<MeasuredRow>,
    /// The others, in the order of the file, but for empty ones.
    pub refused: Vec<RefusedRow>,
}

/// Reads a CSV of measured kernels and holds each row against the data sheet of `gpu`.
///
/// The file measures `operation`, or else what its columns show. Values are checked as those of a set,
/// but what is wrong with a row, be it a cell or that it breaks the physics of `gpu`, does not end the
/// reading: it goes to [`MeasuredRows::refused`], as does a row whose column `warmup` is 1. Columns
/// that no set has are ignored.
///
/// # Errors
/// A file that cannot be read, is no UTF-8 or has no rows, columns of no operation, of another one than
/// `operation` or that stand twice; see [`Error`].
pub fn read_rows(
    path: &Path,
    operation: Option<OperationKind>,
    gpu: &Gpu,
) -> Result<MeasuredRows, Error> {
    let rows = Rows::read(&Part::alone(path)?)?;
    let kind = recognise(&rows, operation)?;
    read(kind, &rows, gpu)
}

/// The operation that was asked for, or else the one whose columns the rows have. One that lacks a
/// single column is meant all the same: the check of the columns names that column.
fn recognise(rows: &Rows, asked: Option<OperationKind>) -> Result<OperationKind, Error> {
    let found = rows.header();
    let fits = of_header(found, 0);
    match (asked, fits) {
        (Some(asked), Some(fits)) if fits != asked => Err(Error::OtherOperation {
            file: rows.file().to_owned(),
            line: rows.header_line(),
            found: found.to_owned(),
            asked,
            fits,
        }),
        (asked, fits) => asked
            .or(fits)
            .or_else(|| of_header(found, 1))
            .ok_or_else(|| Error::NoOperation {
                file: rows.file().to_owned(),
                line: rows.header_line(),
                found: found.to_owned(),
            }),
    }
}

/// The column that marks rows which only warmed the GPU up.
const WARMUP: &str = "warmup";

fn read(operation: OperationKind, rows: &Rows, gpu: &Gpu) -> Result<MeasuredRows, Error> {
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
        match checked(operation, rows.file(), &row, gpu) {
            Ok(measured) => read.rows.push(measured),
            Err(error) => read.refused.push(RefusedRow {
                line: row.line(),
                error,
            }),
        }
    }
    Ok(read)
}

/// A row that tells something of `gpu`.
fn checked(
    operation: OperationKind,
    file: &str,
    row: &Row<'_>,
    gpu: &Gpu,
) -> Result<MeasuredRow, Error> {
    row.check_length()?;
    let warms = |text: &str| matches!(text, "1" | "1.0") || text.eq_ignore_ascii_case("true");
    if row.text(WARMUP).is_some_and(warms) {
        return Err(Error::WarmUp {
            file: file.to_owned(),
            line: row.line(),
        });
    }
    let measured = row.measurement(operation)?;
    check::row(file, row, gpu, &measured.kernel, measured.latency_us)?;
    Ok(measured)
}
