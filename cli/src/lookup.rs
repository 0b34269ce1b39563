//! `rooflut lookup`: one kernel in the tables.

use std::collections::BTreeSet;

use rooflut::ResolveError;
use rooflut::op::{self, Kernel};
use rooflut::table::{Axis, Curve, Grid, TableSet, sets};
use rooflut_error::either;
use rooflut_roofline::operation::Codes;

use crate::args::{LookupArgs, Question};
use crate::error::Error;
use crate::lookup_output::{Answer, Matched, Neighbour};
use crate::table_set;
use rooflut_report::fields::{self, Fields};

/// Looks the kernel up and answers with the text to print.
pub(crate) fn run(args: &LookupArgs) -> Result<String, Error> {
    let set = table_set::find(args.set()?)?;
    let shape = args.question.shape().map_err(Error::new)?;
    let kernel =
        Kernel::resolve(&set, args.question.operation, shape).map_err(|error| refusal(&args.question, shape, error))?;
    let answer = answer(&set, &args.question, shape, &kernel);
    let coverage = args.interval;
    args.strict.check(answer.estimate.provenance).map_err(rooflut_scenario::uncertain)?;
    if args.json { answer.json(coverage) } else { Ok(answer.text(coverage)) }
}

/// Returns the error with the built-in sets that can answer, where the GPU is the reason.
fn refusal(question: &Question, shape: Codes, error: ResolveError) -> Error {
    let can_answer = |set: &&&TableSet| Kernel::resolve(set, question.operation, shape).is_ok();
    let sets = sets::ALL.iter().filter(can_answer).map(|set| set.name());
    let sets: Vec<&str> = sets.collect();
    match error {
        ResolveError::NoPeak { .. } if !sets.is_empty() => Error::new(format!("{error}, or --gpu {}", either(&sets))),
        error => error.into(),
    }
}

/// Returns the answer with the points around the question of each shape that answers.
fn answer(set: &TableSet, question: &Question, shape: Codes, kernel: &Kernel) -> Answer {
    let mut neighbours = Vec::new();
    let matched = kernel
        .matched()
        .map(|op::Neighbour { shape, share }| {
            let key = fields::shape(question.operation, shape);
            neighbours.extend(around(set, question, &key, shape).into_iter().flatten());
            Matched { key, share }
        })
        .collect();
    let shape = fields::shape(question.operation, shape);
    Answer {
        operation: question.operation.name(),
        set: set.clone(),
        query: question.coordinates().fold(shape, |query, (axis, value)| query.and(axis, value)),
        estimate: kernel.at_point(question.point),
        errors: kernel.errors(),
        matched,
        neighbours,
    }
}

/// Returns the points of a measured shape that are next to the question.
fn around(set: &TableSet, question: &Question, key: &Fields, shape: Codes) -> Option<Vec<Neighbour>> {
    let table = set.table(question.operation)?;
    let mut axes = question.coordinates();
    let (axis, x) = axes.next()?;
    Some(match axes.next() {
        None => on_curve(key, axis, table.typed().find(&shape)?.points, x),
        Some((axis, _)) => on_grid(key, axis, table.typed().find(&shape)?.points, question.point),
    })
}

/// The measured points next to `x`: those between which it lies; a point that it lies on, or the end
/// that it lies beyond, with the points beside that.
fn on_curve(key: &Fields, axis: &'static str, curve: Curve<'_>, x: u64) -> Vec<Neighbour> {
    let (first, last) = match curve.axis().around(x as f64).into_inner() {
        (on, end) if on == end => (on.saturating_sub(1), on + 1),
        between => between,
    };
    let points = curve.axis().values().iter().zip(curve.latency_us());
    let near = points.skip(first).take(last - first + 1);
    near.map(|(&value, &latency_us)| Neighbour { point: key.clone().and(axis, value), latency_us }).collect()
}

/// The corners of the cell around (batch, length); in place of a hole the measured points that answer
/// for it.
fn on_grid(key: &Fields, length_name: &'static str, grid: Grid<'_>, [batch, length]: [u64; 2]) -> Vec<Neighbour> {
    let columns = grid.length().around(length as f64);
    let cells = grid
        .batch()
        .around(batch as f64)
        .flat_map(|row| columns.clone().flat_map(move |column| grid.answering_cells(row, column)));
    let value = |axis: Axis<'_>, place: usize| axis.values().get(place).copied().unwrap_or(0);
    let neighbour = |(row, column): (usize, usize)| {
        let point = key.clone().and("batch", value(grid.batch(), row));
        Some(Neighbour {
            point: point.and(length_name, value(grid.length(), column)),
            latency_us: grid.latency_us(row, column)?,
        })
    };
    // Two holes may have the same stand-ins.
    let cells: BTreeSet<(usize, usize)> = cells.collect();
    cells.into_iter().filter_map(neighbour).collect()
}
