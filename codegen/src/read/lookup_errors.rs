//! `errors.csv`: errors of lookups on left-out rows.

use std::path::Path;

use rooflut_roofline::{Dtype, OperationKind};

use super::csv_file::{Row, Rows};
use super::error::Error;
use super::files::Part;

/// Lookups with about the same errors.
pub(crate) struct ErrorGroup {
    pub(crate) set: String,
    /// `None`: any.
    pub(crate) operation: Option<OperationKind>,
    /// `None`: any.
    pub(crate) dtype: Option<Dtype>,
    /// `measured`, `transferred` or `any`.
    pub(crate) shape: String,
    /// Inside and outside the measured axes.
    pub(crate) errors: [Errors; 2],
}

/// Errors of left-out rows.
pub(crate) struct Errors {
    /// The set of the rows.
    pub(crate) set: String,
    /// Quantiles of |ln(measured / predicted)| at 50, 80 and 95 %.
    pub(crate) quantiles: [f32; 3],
}

/// Set and number of the rows, and the quantiles.
type Columns = [&'static str; 5];
const INSIDE: Columns = ["inside_set", "inside_rows", "inside_q50", "inside_q80", "inside_q95"];
const OUTSIDE: Columns = ["outside_set", "outside_rows", "outside_q50", "outside_q80", "outside_q95"];
const KEY: [&str; 4] = ["set", "operation", "dtype", "shape"];
const ANY: &str = "any";
const SHAPES: [&str; 3] = ["measured", "transferred", ANY];

/// Reads the groups in the file at `path`, in its order.
///
/// # Errors
/// The file cannot be read; a column is missing; a value is none of those expected; the first group is not that of
/// any operation.
pub(crate) fn read_lookup_errors(path: &Path) -> Result<Vec<ErrorGroup>, Error> {
    let rows = Rows::read(&Part::alone(path)?)?;
    rows.check(&[&KEY[..], &INSIDE, &OUTSIDE].concat(), &[])?;
    let first = rows.iter().next();
    if let Some(row) = first.filter(|row| row.text("operation") != Some(ANY)) {
        return Err(row.refuse("operation", "any, in the first row", "add a row for any operation"));
    }
    rows.iter().map(|row| group(&row)).collect()
}

fn group(row: &Row<'_>) -> Result<ErrorGroup, Error> {
    let text = |column| row.text(column).unwrap_or_default();
    let operation = OperationKind::ALL.into_iter().find(|kind| kind.name() == text("operation"));
    let dtype = Dtype::ALL.into_iter().find(|dtype| dtype.name() == text("dtype"));
    if operation.is_none() && text("operation") != ANY {
        return Err(row.refuse("operation", "an operation or any", "correct it"));
    }
    if dtype.is_none() && text("dtype") != ANY {
        return Err(row.refuse("dtype", "a format or any", "correct it"));
    }
    if !SHAPES.contains(&text("shape")) {
        return Err(row.refuse("shape", "measured, transferred or any", "correct it"));
    }
    Ok(ErrorGroup {
        set: text("set").to_owned(),
        operation,
        dtype,
        shape: text("shape").to_owned(),
        errors: [errors(row, INSIDE)?, errors(row, OUTSIDE)?],
    })
}

fn errors(row: &Row<'_>, [set, _, columns @ ..]: Columns) -> Result<Errors, Error> {
    let mut least = 0.0;
    let mut quantile = |column| {
        let value = row
            .text(column)
            .and_then(|text| text.parse::<f32>().ok())
            .filter(|value| *value >= least && value.is_finite());
        let expected = "a finite number, at least the quantile before it and above 0";
        let value = value.filter(|value| *value > 0.0);
        least = value.ok_or_else(|| row.refuse(column, expected, "correct it"))?;
        Ok(least)
    };
    let [half, most, nearly_all] = columns;
    Ok(Errors {
        quantiles: [quantile(half)?, quantile(most)?, quantile(nearly_all)?],
        set: row.text(set).unwrap_or_default().to_owned(),
    })
}
