//! The output of `rooflut lookup`.

use rooflut::interval::{Coverage, Interval};
use rooflut::op::Estimate;
use rooflut::table::{ErrorGroup, TableSet};
use rooflut_report::Provenance;
use serde::Serialize;

use crate::error::Error;
use crate::grid::Grid;
use crate::output::{number, percent, title, to_json, wrapped};
use rooflut_report::fields::{Fields, Value};

/// A measured shape that answers.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Matched {
    #[serde(flatten)]
    pub(crate) key: Fields,
    /// Its share of the answer; shares add up to 1.
    pub(crate) share: f64,
}

/// A point of the tables.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Neighbour {
    #[serde(flatten)]
    pub(crate) point: Fields,
    pub(crate) latency_us: f32,
}

/// The answer of the tables for a kernel.
pub(crate) struct Answer {
    pub(crate) operation: &'static str,
    pub(crate) set: TableSet,
    pub(crate) query: Fields,
    pub(crate) estimate: Estimate,
    pub(crate) errors: ErrorGroup,
    pub(crate) matched: Vec<Matched>,
    pub(crate) neighbours: Vec<Neighbour>,
}

impl Answer {
    pub(crate) fn text(&self, coverage: Coverage) -> String {
        let mut text = title(&format!("{} on {}", self.operation, self.set.name()));
        text += &wrapped("query", &self.query.to_string());
        let latency = number(self.estimate.time.us(), 2);
        text += &wrapped("latency", &format!("{latency} us"));
        text += &wrapped("interval", &self.interval(coverage));
        if let Some(mfu) = self.mfu() {
            text += &wrapped("MFU", &format!("{mfu:.3}"));
        }
        text += &wrapped("origin", &self.estimate.provenance.to_string());
        for (index, matched) in self.matched.iter().enumerate() {
            let label = if index == 0 { "matched" } else { "" };
            let share = match self.matched.len() {
                1 => String::new(),
                _ => format!(" ({})", percent(100.0 * matched.share)),
            };
            text += &wrapped(label, &format!("{}{share}", matched.key));
        }
        text + "\n  measured around it:\n\n" + &self.grid().render(2)
    }

    fn interval(&self, coverage: Coverage) -> String {
        let Interval { low, high } = self.estimate.interval(self.errors, coverage);
        let text = format!(
            "{} to {} us for {} of measurements",
            number(low.us(), 2),
            number(high.us(), 2),
            percent(100.0 * coverage.share())
        );
        match self.errors.set(self.estimate.provenance.extent) {
            own if own == self.set.name() => text,
            other => format!("{text}, with errors as on {other}"),
        }
    }

    /// None where there is no matrix math.
    fn mfu(&self) -> Option<f64> {
        Some(self.estimate.mfu().0).filter(|&mfu| mfu > 0.0)
    }

    fn grid(&self) -> Grid {
        // Fields that all matched shapes share stand above the table.
        let is_shared = |field: &(&str, Value)| {
            let mut shapes = self.matched.iter();
            shapes.all(|shape| shape.key.iter().any(|of_shape| of_shape == *field))
        };
        let coordinates =
            |point: &Fields| -> Vec<(&'static str, Value)> { point.iter().filter(|field| !is_shared(field)).collect() };
        let points: Vec<_> = self.neighbours.iter().map(|n| coordinates(&n.point)).collect();
        let names = points.first().into_iter().flatten().map(|(name, _)| *name);
        let columns: Vec<&str> = names.chain(["latency us"]).collect();
        let mut grid = Grid::of(&[], &columns);
        for (point, neighbour) in points.iter().zip(&self.neighbours) {
            let latency = number(neighbour.latency_us.into(), 2);
            let cells = point.iter().map(|(_, value)| value.to_string());
            grid.row(cells.chain([latency]).collect());
        }
        grid
    }

    pub(crate) fn json(&self, coverage: Coverage) -> Result<String, Error> {
        let Interval { low, high } = self.estimate.interval(self.errors, coverage);
        to_json(&AnswerJson {
            operation: self.operation,
            gpu: self.set.name(),
            query: &self.query,
            latency_us: self.estimate.time.us(),
            interval: IntervalJson {
                coverage: coverage.share(),
                low_us: low.us(),
                high_us: high.us(),
                errors: self.errors.to_string(),
                errors_set: self.errors.set(self.estimate.provenance.extent),
            },
            mfu: self.mfu(),
            provenance: self.estimate.provenance.into(),
            matched: &self.matched,
            neighbours: &self.neighbours,
        })
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct AnswerJson<'a> {
    operation: &'static str,
    gpu: &'a str,
    query: &'a Fields,
    latency_us: f64,
    interval: IntervalJson,
    mfu: Option<f64>,
    #[serde(flatten)]
    provenance: Provenance,
    matched: &'a [Matched],
    neighbours: &'a [Neighbour],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct IntervalJson {
    coverage: f64,
    low_us: f64,
    high_us: f64,
    /// The kind of lookup, as `bench_data/errors.csv` names it.
    errors: String,
    /// The set whose rows were left out.
    errors_set: &'static str,
}
