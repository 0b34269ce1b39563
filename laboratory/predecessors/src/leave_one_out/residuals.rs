//! Residuals of all operations of a set, by the way in which a row was left out.

use std::cmp::Ordering;

use rooflut::ResolveError;
use rooflut::hardware::{AttentionShape, GemmShape, MoeShape, OperationKind};
use rooflut::op::{Estimate, Kernel};
use rooflut::table::{Extent, OwnedPoints, Table, TableSet};
use rooflut_roofline::math::ln;
use rooflut_roofline::operation::{Codes, MeasuredKernel};

use super::subset::keep;

/// A measured row beside the prediction of the other rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// The row.
    pub kernel: MeasuredKernel,
    /// Whether all rows of its shape were left out, not only those at its own coordinates.
    pub transferred: bool,
    /// Whether the remaining rows lie on all sides of the row.
    pub extent: Extent,
    /// ln(measured / predicted).
    pub ln_ratio: f64,
}

/// Returns the residuals of the rows of `set`. Each row is left out with the other rows at its coordinates, and with
/// its whole shape; a row at an end of its line also with its shape and the end of all other shapes.
///
/// The shape of a GEMM is left out together with all shapes of the same k and of the same n. Any other shape is left
/// out together with all shapes that one rank computes alike.
pub fn residuals(set: &TableSet) -> Vec<Residual> {
    set.tables().flat_map(of_table).collect()
}

fn of_table(table: Table<'_>) -> Vec<Residual> {
    let operation = table.operation();
    let all = table.all_points();
    let mut found = Vec::new();
    for own in &all {
        let residual = |cell: &Cell, transferred, rest: &TableSet| {
            let kernel = MeasuredKernel::new(operation, own.shape, cell.point);
            // Without the shape, a format may have no rows left.
            let estimate = predict(rest, &kernel).ok()?;
            Some(Residual {
                kernel,
                transferred,
                extent: estimate.provenance.extent,
                ln_ratio: ln(f64::from(cell.latency_us) * 1e-6 / estimate.time.0),
            })
        };
        for cell in cells(own) {
            let batch_stays = batch_stays(operation);
            let rest = kept(own, |axis, value| (axis == 0 && batch_stays) || value != along(cell.point, axis));
            found.extend(residual(&cell, false, &table.with_points([rest])));
        }
        let is_other = |points: &&OwnedPoints| is_other(operation, &own.shape, &points.shape);
        let others: Vec<OwnedPoints> = all.iter().filter(is_other).cloned().collect();
        let rest = table.with_points(others.iter().cloned());
        for cell in cells(own) {
            found.extend(residual(&cell, true, &rest));
            let Some(beyond) = cell.end else {
                continue;
            };
            let last = usize::from(!is_curve(own));
            let end = along(cell.point, last);
            let shorter =
                others.iter().map(|other| kept(other, |axis, value| axis != last || end.cmp(&value) == beyond));
            let shorter = shorter.filter(|points| !points.latency_us.is_empty());
            found.extend(residual(&cell, true, &table.with_points(shorter)));
        }
    }
    found
}

/// Returns whether points are left out along the lengths of a batch alone, as prefill is interpolated.
pub(super) fn batch_stays(operation: OperationKind) -> bool {
    matches!(operation, OperationKind::Prefill | OperationKind::MlaPrefill | OperationKind::DsaPrefill)
}

/// A measured point.
struct Cell {
    point: [u32; 2],
    /// `Less` for the first of its line along the last axis, `Greater` for the last.
    end: Option<Ordering>,
    latency_us: f32,
}

fn is_curve(points: &OwnedPoints) -> bool {
    let [_, columns] = &points.axes;
    columns.is_empty()
}

/// Returns the coordinates of all points, measured or not, row by row; the second is 1 on a curve.
fn coordinates(points: &OwnedPoints) -> impl Iterator<Item = [u32; 2]> {
    let [rows, columns] = &points.axes;
    let columns = if is_curve(points) { &[1][..] } else { columns };
    rows.iter().flat_map(move |row| columns.iter().map(move |column| [*row, *column]))
}

fn along([first, second]: [u32; 2], axis: usize) -> u32 {
    if axis == 0 { first } else { second }
}

/// Returns the measured points of a shape, line by line along the last axis.
fn cells(points: &OwnedPoints) -> Vec<Cell> {
    let line = |[row, _]: [u32; 2]| if is_curve(points) { 0 } else { row };
    let all = coordinates(points).zip(&points.latency_us);
    let measured: Vec<([u32; 2], f32)> =
        all.filter(|(_, latency_us)| !latency_us.is_nan()).map(|(point, latency_us)| (point, *latency_us)).collect();
    let cell = |(place, &(point, latency_us)): (usize, &([u32; 2], f32))| {
        let in_line = |other: Option<usize>| {
            let other = other.and_then(|other| measured.get(other));
            other.is_some_and(|(other, _)| line(*other) == line(point))
        };
        let end = match (in_line(place.checked_sub(1)), in_line(Some(place + 1))) {
            (false, _) => Some(Ordering::Less),
            (true, false) => Some(Ordering::Greater),
            (true, true) => None,
        };
        Cell { point, end, latency_us }
    };
    measured.iter().enumerate().map(cell).collect()
}

/// Returns the points of a shape at the wanted coordinates of each axis.
fn kept(points: &OwnedPoints, wanted: impl Fn(usize, u32) -> bool) -> OwnedPoints {
    let [rows, columns] = &points.axes;
    let is_kept: Vec<bool> =
        coordinates(points).map(|[row, column]| wanted(0, row) && (is_curve(points) || wanted(1, column))).collect();
    let is_kept = |place: usize| is_kept.get(place) == Some(&true);
    let axis = |axis, values: &[u32]| {
        let values = values.iter().copied();
        values.filter(|value| wanted(axis, *value)).collect()
    };
    OwnedPoints {
        shape: points.shape,
        axes: [axis(0, rows), axis(1, columns)],
        latency_us: keep(&points.latency_us, is_kept),
        ln_slowdown: keep(&points.ln_slowdown, is_kept),
    }
}

/// Returns whether rows of `other` may answer for `own` if it was not measured.
fn is_other(operation: OperationKind, own: &Codes, other: &Codes) -> bool {
    match operation {
        OperationKind::Gemm => {
            let [own, other] = [own, other].map(|codes| GemmShape::from(*codes));
            own.k != other.k && own.n != other.n
        }
        OperationKind::Prefill | OperationKind::Decode => {
            let [own, other] = [own, other].map(|codes| AttentionShape::from(*codes).local());
            own != other
        }
        OperationKind::Moe => {
            let [own, other] = [own, other].map(|codes| MoeShape::from(*codes));
            own.local().unwrap_or(own) != other.local().unwrap_or(other)
        }
        _ => own != other,
    }
}

/// Returns the answer of the tables for a kernel, as a benchmark would measure it.
pub fn predict(set: &TableSet, measured: &MeasuredKernel) -> Result<Estimate, ResolveError> {
    let kernel = Kernel::resolve(set, measured.operation(), measured.shape::<Codes>())?;
    Ok(kernel.at_point(measured.point().map(u64::from)))
}
