//! Accuracy of lookups on rows that are left out.
//!
//! Each interior point of a table (one with a neighbour on both sides of each axis) is predicted with its own row and
//! column left out, by the same code that answers queries, and compared with the measurement.

mod residuals;
mod shapes;
mod subset;

use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, MeasuredKernel, MoeShape, OperationKind};
use rooflut::op::{DecodeAttention, Gemm, Moe, PrefillAttention};
use rooflut::table::{Axis, Curve, Entry, Grid, OwnedPoints, Table, TableSet};
use rooflut::units::Seconds;
use rooflut_roofline::Prompts;
use rooflut_roofline::math::{exp, ln};
use rooflut_roofline::operation::Codes;

use crate::lookup::{Method, MfuCurve, MfuGrid};

pub use residuals::{Residual, predict, residuals};
pub use shapes::{decode_shapes, gemm_shapes, moe_shapes, prefill_shapes};

/// Errors of predictions of left-out points: |predicted / measured - 1|.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeftOut {
    /// Points between measured neighbours on all sides (two on a curve, four corners in a grid).
    pub full: Vec<f64>,
    /// Points of ragged grids with one to three measured corners.
    pub ragged: Vec<f64>,
    /// Points for which the method had no answer.
    pub unanswered: usize,
}

impl LeftOut {
    fn add(&mut self, corners: usize, predicted: Option<Seconds>, measured_us: f32) {
        let Some(time) = predicted else {
            self.unanswered += 1;
            return;
        };
        let error = (time.0 / (f64::from(measured_us) * 1e-6) - 1.0).abs();
        match corners {
            4 => self.full.push(error),
            _ => self.ragged.push(error),
        }
    }

    /// Returns the `q` quantile of `errors` (linear between ranks), or `None` for an empty list.
    pub fn quantile(errors: &[f64], q: f64) -> Option<f64> {
        let mut sorted = errors.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
        let low = rank as usize;
        let (at, next) = (sorted.get(low)?, sorted.get(low + 1).or(sorted.get(low))?);
        Some(at + (next - at) * (rank - low as f64))
    }
}

/// Returns the errors for GEMMs of `dtype`, along m. Rows one token apart from a neighbour are not predicted: only
/// these two rows show a step of the kernel.
pub fn gemm(set: &TableSet, dtype: Dtype, method: Method) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.gemm() else {
        return result;
    };
    for (Entry { shape, points, .. }, owned) in table.entries().zip(table.all_points()) {
        if shape.dtype != dtype {
            continue;
        }
        let rows = points.axis().values();
        for_each_left_out(*table, &owned, |rest, m, measured_us| {
            if [m - 1, m + 1].iter().any(|beside| rows.contains(beside)) {
                return;
            }
            let answer = || {
                if method == Method::Efficiency {
                    return Some(Gemm::resolve(rest, shape).ok()?.at(m).time);
                }
                let table = rest.gemm()?;
                let curve = MfuCurve::gemm(&table.find(&shape)?, rest.gpu())?;
                method.on_curve(&curve, shape.work(f64::from(m)), m).ok()
            };
            result.add(4, answer(), measured_us);
        });
    }
    result
}

/// Returns the errors for prefill attention of the shapes for which `wanted` returns `true`, along the prompt length,
/// each batch separately. The predecessors support a single prompt only.
pub fn prefill(set: &TableSet, method: Method, wanted: impl Fn(&AttentionShape) -> bool) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.prefill() else {
        return result;
    };
    for (Entry { shape, points, .. }, owned) in table.entries().zip(table.all_points()) {
        if !wanted(&shape) {
            continue;
        }
        let supported = |cell: &Cell| cell.batch == 1 || method == Method::Efficiency;
        for cell in cells(&points).filter(supported) {
            let is_measured = |column| points.latency_us(cell.row, column).is_some();
            let is_inside = cell.column > 0 && is_measured(cell.column - 1);
            if !is_inside || !is_measured(cell.column + 1) {
                continue;
            }
            let rest = subset::of_grid(&owned, |b| b == cell.row, |c| c != cell.column);
            let rest = table.with_points([rest]);
            let answer = || {
                if method == Method::Efficiency {
                    let attention = PrefillAttention::resolve(&rest, shape).ok()?;
                    return Some(attention.at(cell.batch, cell.length).time);
                }
                let prompts = Prompts::equal(f64::from(cell.batch), f64::from(cell.length));
                let work = shape.on_rank().prefill_work(&prompts);
                let table = rest.prefill()?;
                let curve = MfuCurve::prefill(&table.find(&shape)?, rest.gpu())?;
                method.on_curve(&curve, work, cell.length).ok()
            };
            result.add(4, answer(), cell.latency_us);
        }
    }
    result
}

/// Returns the errors for decode attention of the shapes for which `wanted` returns `true`, over batch and KV length:
/// row and column of each point are left out.
pub fn decode(set: &TableSet, method: Method, wanted: impl Fn(&AttentionShape) -> bool) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.decode() else {
        return result;
    };
    for (Entry { shape, points, .. }, owned) in table.entries().zip(table.all_points()) {
        if !wanted(&shape) {
            continue;
        }
        let inside = |axis: Axis<'_>| 1..axis.values().len().saturating_sub(1);
        let (rows, columns) = (inside(points.batch()), inside(points.length()));
        let is_inside = |cell: &Cell| rows.contains(&cell.row) && columns.contains(&cell.column);
        for cell in cells(&points).filter(is_inside) {
            let corners = [cell.row - 1, cell.row + 1]
                .into_iter()
                .flat_map(|row| [(row, cell.column - 1), (row, cell.column + 1)])
                .filter(|&(row, column)| points.latency_us(row, column).is_some())
                .count();
            if corners == 0 {
                continue;
            }
            let rest = subset::of_grid(&owned, |b| b != cell.row, |c| c != cell.column);
            let rest = table.with_points([rest]);
            let kv_tokens = u64::from(cell.batch) * u64::from(cell.length);
            let answer = || {
                if method == Method::Efficiency {
                    let attention = DecodeAttention::resolve(&rest, shape).ok()?;
                    return Some(attention.at(cell.batch, kv_tokens).time);
                }
                let kernel = shape.on_rank();
                let work = kernel.decode_work(f64::from(cell.batch), kv_tokens as f64);
                let table = rest.decode()?;
                let grid = MfuGrid::decode(&table.find(&shape)?, rest.gpu())?;
                method.on_grid(&grid, work, cell.batch, cell.length).ok()
            };
            result.add(corners, answer(), cell.latency_us);
        }
    }
    result
}

/// Returns the errors of rooflut and of plain interpolation of the latency, both linear in logarithms, for the same
/// points of an operation with two axes: row and column of each are left out, of prompts the length alone.
pub fn grids(set: &TableSet, operation: OperationKind) -> [LeftOut; 2] {
    let mut result = [LeftOut::default(), LeftOut::default()];
    let Some(table) = set.table(operation) else {
        return result;
    };
    let batch_stays = residuals::batch_stays(operation);
    let [own, plain] = &mut result;
    let entries = table.typed::<Codes, Grid<'_>>().entries();
    for (Entry { shape, points, .. }, owned) in entries.zip(table.all_points()) {
        for cell in cells(&points) {
            let rows = match (batch_stays, cell.row.checked_sub(1)) {
                (true, _) => [cell.row, cell.row],
                (false, Some(before)) => [before, cell.row + 1],
                (false, None) => continue,
            };
            let Some(before) = cell.column.checked_sub(1) else {
                continue;
            };
            let mut corners = rows.iter().flat_map(|row| [(*row, before), (*row, cell.column + 1)]);
            if corners.any(|(row, column)| points.latency_us(row, column).is_none()) {
                continue;
            }
            let rest = subset::of_grid(&owned, |row| batch_stays || row != cell.row, |column| column != cell.column);
            let kernel = MeasuredKernel::new(operation, shape, [cell.batch, cell.length]);
            let answer = predict(&table.with_points([rest]), &kernel).ok();
            own.add(4, answer.map(|answer| answer.time), cell.latency_us);
            let columns = [before, cell.column + 1];
            if let Some(predicted_us) = plain_us(&points, rows, columns, &cell) {
                let error = predicted_us / f64::from(cell.latency_us) - 1.0;
                plain.full.push(error.abs());
            }
        }
    }
    result
}

/// Returns the latency of a cell, linear in logarithms between those at the corners of rows and columns.
fn plain_us(grid: &Grid<'_>, rows: [usize; 2], columns: [usize; 2], cell: &Cell) -> Option<f64> {
    let share = |axis: Axis<'_>, [low, high]: [usize; 2], value: u32| {
        let at = |place: usize| axis.values().get(place).map(|value| ln(f64::from(*value)));
        let (low, high) = (at(low)?, at(high)?);
        let apart = high - low;
        Some(if apart > 0.0 { (ln(f64::from(value)) - low) / apart } else { 0.0 })
    };
    let [down, across] = [share(grid.batch(), rows, cell.batch)?, share(grid.length(), columns, cell.length)?];
    let ln_us = |row, column| grid.latency_us(row, column).map(|us| ln(f64::from(us)));
    let along = |row| {
        let [low, high] = columns.map(|column| ln_us(row, column));
        Some(low? + (high? - low?) * across)
    };
    let [low, high] = rows.map(along);
    Some(exp(low? + (high? - low?) * down))
}

/// Returns the errors for a collective such as the all-reduce, along the message size.
pub fn collective(set: &TableSet, operation: OperationKind) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.table(operation) else {
        return result;
    };
    // The shape of each collective is its number of ranks.
    let curves = table.typed::<AllReduceShape, Curve<'_>>();
    for (Entry { shape, .. }, owned) in curves.entries().zip(table.all_points()) {
        for_each_left_out(table, &owned, |rest, bytes, measured_us| {
            let kernel = MeasuredKernel::new(operation, shape, [bytes, 1]);
            let answer = predict(rest, &kernel).ok();
            result.add(4, answer.map(|answer| answer.time), measured_us);
        });
    }
    result
}

/// Returns the errors for the fused MoE layers for which `wanted` returns `true`, along the tokens.
pub fn moe(set: &TableSet, wanted: impl Fn(&MoeShape) -> bool) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.moe() else {
        return result;
    };
    for (Entry { shape, .. }, owned) in table.entries().zip(table.all_points()) {
        if !wanted(&shape) {
            continue;
        }
        for_each_left_out(*table, &owned, |rest, tokens, measured_us| {
            let answer = Moe::resolve(rest, shape).ok().map(|moe| moe.at(tokens).time);
            result.add(4, answer, measured_us);
        });
    }
    result
}

/// Calls `ask` for each interior point with a set whose curve lacks the point, the point's coordinate and its
/// latency.
fn for_each_left_out(table: Table<'_>, curve: &OwnedPoints, mut ask: impl FnMut(&TableSet, u32, f32)) {
    let [values, _] = &curve.axes;
    for place in 1..values.len().saturating_sub(1) {
        let rest = subset::of_curve(curve, |other| other != place);
        let rest = table.with_points([rest]);
        if let (Some(&x), Some(&measured)) = (values.get(place), curve.latency_us.get(place)) {
            ask(&rest, x, measured);
        }
    }
}

/// A measured point of a grid.
struct Cell {
    row: usize,
    column: usize,
    batch: u32,
    length: u32,
    latency_us: f32,
}

/// Returns the measured points of a grid, row by row.
fn cells(grid: &Grid<'_>) -> impl Iterator<Item = Cell> {
    let rows = grid.batch().values().iter().enumerate();
    rows.flat_map(move |(row, &batch)| {
        let columns = grid.length().values().iter().enumerate();
        columns.filter_map(move |(column, &length)| {
            Some(Cell { row, column, batch, length, latency_us: grid.latency_us(row, column)? })
        })
    })
}
