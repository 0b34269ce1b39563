//! A row of a CSV as a measured kernel.

use rooflut_roofline::operation::{Codes, Column, ColumnKind, Operation};
use rooflut_roofline::{Dtype, MeasuredKernel, OperationKind};

use super::csv_file::Row;
use super::error::Error;

/// A measured kernel, and its line in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRow {
    /// Its line in the file, from 1 (the header).
    pub line: u64,
    /// The measured kernel.
    pub kernel: MeasuredKernel,
    /// Its latency, microseconds.
    pub latency_us: f64,
}

/// The hint for a value that is not a number of the expected kind.
const CORRECT: &str = "correct it or leave the row out";

/// The hint for a name that is not one of a list.
const RENAME: &str = "rename it or leave the row out";

impl MeasuredRow {
    /// Reads a row of a table of `operation`.
    ///
    /// # Errors
    /// A cell cannot be read, or the shape contradicts itself.
    pub(crate) fn parse(row: &Row<'_>, operation: OperationKind) -> Result<MeasuredRow, Error> {
        let declared = operation.declared();
        let shape = shape(row, declared)?;
        let mut point = [1; 2];
        for (coordinate, axis) in point.iter_mut().zip(declared.axes) {
            *coordinate = whole(row, axis, 1)?;
        }
        Ok(MeasuredRow {
            line: row.line(),
            kernel: MeasuredKernel::new(operation, shape, point),
            latency_us: positive(row, "latency_us")?,
        })
    }
}

fn shape(row: &Row<'_>, operation: &Operation) -> Result<Codes, Error> {
    let mut shape = Codes::default();
    for (code, column) in shape.iter_mut().zip(operation.shape) {
        *code = cell(row, column)?;
    }
    (operation.check)(&shape).map_err(|wrong| row.refuse(wrong.column, wrong.expected.to_string(), wrong.hint))?;
    Ok(shape)
}

/// The code of a cell of a shape.
fn cell(row: &Row<'_>, column: &Column) -> Result<u32, Error> {
    match column.kind {
        ColumnKind::Dtype => dtype(row, column.name).map(Dtype::code),
        ColumnKind::CountOr(number) if row.text(column.name).is_none() => Ok(number),
        ColumnKind::Whole => whole(row, column.name, 0),
        ColumnKind::Name(names) => place(row, column.name, names),
        _ => whole(row, column.name, 1),
    }
}

/// The place of a name among `names`.
fn place(row: &Row<'_>, column: &'static str, names: &'static [&'static str]) -> Result<u32, Error> {
    let text = row.text(column).unwrap_or_default();
    let place = (0..).zip(names).find(|(_, name)| **name == text);
    place.map(|(place, _)| place).ok_or_else(|| {
        let expected = format!("one of {}", names.join(", "));
        row.refuse(column, expected, RENAME)
    })
}

/// A whole number of at least `least`: 0 or 1.
fn whole(row: &Row<'_>, column: &'static str, least: u32) -> Result<u32, Error> {
    let text = row.text(column).unwrap_or_default();
    match text.parse() {
        Ok(number) if number >= least => Ok(number),
        _ => {
            let expected = match least {
                0 => "a whole number below 2^32",
                _ => "a positive whole number below 2^32",
            };
            let is_whole =
                |value: f64| value >= f64::from(least) && value <= f64::from(u32::MAX) && value.fract() <= 0.0;
            let hint = if text.parse().is_ok_and(is_whole) { "write it in plain digits" } else { CORRECT };
            Err(row.refuse(column, expected, hint))
        }
    }
}

/// A positive, finite number that stays so as f32.
fn positive(row: &Row<'_>, column: &'static str) -> Result<f64, Error> {
    let expected = match row.text(column).unwrap_or_default().parse::<f64>() {
        Ok(number) if (number as f32).is_normal() && number > 0.0 => return Ok(number),
        Ok(number) if number > 0.0 && number.is_finite() => "a positive number between 1.2e-38 and 3.4e38",
        _ => "a positive number",
    };
    Err(row.refuse(column, expected, CORRECT))
}

fn dtype(row: &Row<'_>, column: &'static str) -> Result<Dtype, Error> {
    let text = row.text(column).unwrap_or_default();
    text.parse().map_err(|_| {
        let expected = format!("one of {}", Dtype::ALL.map(Dtype::name).join(", "));
        row.refuse(column, expected, RENAME)
    })
}
