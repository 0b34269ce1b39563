//! Sweeps: a grid, and a row for each of its points.

use std::ops::Range;
use std::path::Path;

use rooflut_error::{self as error, not_json, printable};
use rooflut_report::SCHEMA_VERSION;
use rooflut_scenario::{Error, Run, Stop};
use serde_json::Value;

use crate::cells::{Named, cells};
use crate::checksum::{CHECKSUM, checksum};
use crate::column::{Column, FIXED, figures};
use crate::grid::Grid;
use crate::keys::push;
use crate::kind::Kind;
use crate::ordered::ordered;
use crate::runs::{Runs, Sources};
use crate::shard::Shard;

/// A grid of deployments and loads that can be run.
///
/// Each point is one [`Row`]: its index, what identifies the grid, its values, the figures of
/// [`Report`](rooflut_scenario::Outcome::report), why it cannot be run, if it cannot, and the CRC-32 of its line of CSV up
/// to there, by which a row that was changed is found.
pub struct Sweep<'s> {
    runs: Runs<'s>,
    columns: Vec<Named>,
    figures: Vec<Column>,
    fingerprint: String,
    pub(crate) stop: Stop,
}

/// A row of a sweep: the values of [`Sweep::columns`]'s columns, null if a figure is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub(crate) values: Vec<Value>,
}

impl Row {
    /// The values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether the deployment could not be simulated.
    pub fn has_error(&self) -> bool {
        matches!(self.values.as_slice(), [.., Value::String(_), _])
    }

    /// Returns the row as a line of CSV.
    pub fn csv(&self) -> Vec<u8> {
        line(&self.values)
    }
}

/// Returns values as a line of CSV.
pub(crate) fn line(values: &[Value]) -> Vec<u8> {
    let mut line = String::with_capacity(16 * values.len());
    for value in values {
        push(&mut line, value);
        line.push(',');
    }
    line.pop();
    line.push('\n');
    line.into_bytes()
}

/// Returns the header of columns as a line of CSV.
pub(crate) fn header(columns: &[Named]) -> Vec<u8> {
    let names: Vec<Value> = columns.iter().map(|(name, _)| name.as_str().into()).collect();
    line(&names)
}

impl<'s> Sweep<'s> {
    /// Finds the models, tables and files that the grid names. Predictions also depend on `version`: the version of the
    /// library and its measurements.
    ///
    /// # Errors
    /// A value that names nothing, an unreadable file, and the error of the first point if no point can run.
    pub fn try_new(grid: Grid, sources: Sources<'s>, version: &str) -> Result<Sweep<'s>, Error> {
        let (runs, files) = Runs::try_new(grid, sources)?;
        let fingerprint = runs.grid().fingerprint(&format!("{version} {files}"))?;
        let figures = figures(runs.grid());
        let columns = columns(runs.grid(), &figures);
        Ok(Sweep { runs, columns, figures, fingerprint, stop: Stop::default() })
    }

    /// Returns the sweep as one that `stop` ends early.
    pub fn stopped_by(self, stop: Stop) -> Sweep<'s> {
        Sweep { stop, ..self }
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        self.runs.grid()
    }

    /// The keys of the grid that name files, and the paths of these; `-` is standard input.
    pub fn inputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.runs.contents().inputs()
    }

    /// The text that identifies the grid in each row.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns remarks on the rows so far: servers that are not those to which the constants of their engines were fitted.
    pub fn remarks(&self) -> Vec<String> {
        self.runs.mismatches()
    }

    /// Returns the names of the columns, and the kinds of their values.
    pub fn columns(&self) -> &[(String, Kind)] {
        &self.columns
    }

    /// Returns the header as a line of CSV.
    pub fn csv_header(&self) -> Vec<u8> {
        header(&self.columns)
    }

    /// Simulates a point. A deployment that cannot be built, or that answers with less certainty than `strict` accepts,
    /// is a row with an error.
    ///
    /// # Errors
    /// A sweep that was [stopped](Sweep::stopped_by), and a file that has changed since the sweep began.
    pub fn row(&self, index: u64) -> Result<Row, Error> {
        self.row_until(index, &self.stop)
    }

    pub(crate) fn row_until(&self, index: u64, stop: &Stop) -> Result<Row, Error> {
        let scenario = self.grid().scenario(index)?;
        let run = self.runs.run(index, &scenario);
        let report = run.and_then(|run| report(&run.stopped_by(stop.clone())));
        stop.check()?;
        self.runs.contents().check(&scenario)?;
        let (report, error) = match report {
            Ok(report) => (report, Value::Null),
            Err(error) => (Value::Null, Value::String(error.to_string())),
        };
        let fixed = [index.into(), self.fingerprint.as_str().into(), SCHEMA_VERSION.into()].into_iter();
        let keys = self.grid().values(index).into_iter().cloned();
        let figures = self.figures.iter().map(|figure| figure.of(&report));
        let values = fixed.chain(keys).chain(figures).chain([error]);
        let mut values: Vec<Value> =
            values.zip(&self.columns).map(|(value, (_, kind))| kind.plain(in_a_line(value))).collect();
        let cells = line(&values);
        values.push(checksum(cells.strip_suffix(b"\n").unwrap_or(&cells)).into());
        Ok(Row { values })
    }

    /// Simulates the points of a shard on `threads` threads and passes their rows on in the order of the grid, without
    /// the first `done`. Few rows wait for earlier rows, so memory does not grow with the grid.
    ///
    /// # Errors
    /// No thread can be started, an error of [`row`](Sweep::row), or the error of `take`, which ends the sweep.
    pub fn rows<E: From<Error>>(
        &self,
        shard: Shard,
        done: u64,
        threads: usize,
        mut take: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let places = done..shard.len(self.grid().len());
        let row = |place| self.row(shard.index(place));
        ordered(places, threads, row, |row| take(row?))
    }

    /// Simulates the points with these indices, of which those beyond the grid are left out, on `threads` threads and
    /// passes their rows on in the order of the grid. `stop` ends this call alone, so that one sweep serves several.
    ///
    /// # Errors
    /// As of [`rows`](Sweep::rows).
    pub fn rows_of<E: From<Error>>(
        &self,
        indices: Range<u64>,
        threads: usize,
        stop: &Stop,
        mut take: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let indices = indices.start..indices.end.min(self.grid().len());
        ordered(indices, threads, |index| self.row_until(index, stop), |row| take(row?))
    }

    /// Returns a row from its line of CSV, as [`Row::csv`] writes it. Texts that are empty are null.
    ///
    /// # Errors
    /// A line of other columns, or a cell that is no value of its column.
    pub fn row_of_csv(&self, line: &[u8]) -> Result<Row, Error> {
        row_of_csv(line, &self.columns)
    }
}

/// Returns a row of these columns from its line of CSV.
pub(crate) fn row_of_csv(line: &[u8], columns: &[Named]) -> Result<Row, Error> {
    let cells = cells(line, columns).map_err(|problem| {
        Error::new(error::Kind::Contents, format!("a row of a sweep: {problem}; simulate it again"))
    })?;
    let values = cells.iter().zip(columns).map(|(cell, (_, kind))| kind.value(cell).unwrap_or_default());
    Ok(Row { values: values.collect() })
}

/// Returns the columns of a grid with these figures.
fn columns(grid: &Grid, figures: &[Column]) -> Vec<Named> {
    let axes = grid.axes().iter().map(|axis| (axis.key(), Kind::of(axis.values())));
    let figures = figures.iter().map(|figure| (figure.name.as_str(), figure.kind));
    let last = ["error", CHECKSUM].map(|name| (name, Kind::Text));
    let all = FIXED.into_iter().chain(axes).chain(figures).chain(last);
    all.map(|(name, kind)| (name.to_owned(), kind)).collect()
}

/// Returns a value without line breaks, which paths and messages may have: a row is a line.
fn in_a_line(value: Value) -> Value {
    match value {
        Value::String(text) => printable(text).into(),
        Value::Array(values) => Value::Array(values.into_iter().map(in_a_line).collect()),
        value => value,
    }
}

fn report(run: &Run) -> Result<Value, Error> {
    serde_json::to_value(run.run(&mut ())?.report()).map_err(not_json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_no_line_breaks_nor_has_a_list() {
        assert_eq!(in_a_line(json!(["gpu=a\nb", "tp=2", 3, "c\rd"])), json!(["gpu=a\\nb", "tp=2", 3, "c\\rd"]));
    }
}
