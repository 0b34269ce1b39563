//! InferSim's lookups: the row at or below, the nearest cell.
//!
//! Source: InferSim's published code; each rule is documented at its function.

use super::corners::extent;
use super::error;
use super::gemm_entries::{covering, gemm_entries, no_table};
use super::{MfuCell, MfuCurve, MfuGrid, MfuReading};
use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::table::{Class, Provenance, TableSet};
use rooflut::units::Mfu;
use rooflut_error::Error;

/// Upper limit on the squared distance of a (k', n').
const MAX_SQUARED_DISTANCE: u64 = 1_000_000_000;

/// The warm-up cell of [`ZERO_SHAPES`], MFU 0.000. Although our tables omit it, it still captures the queries nearest
/// to it: the original fails for every batch <= 8 with kv <= 768, not only near kv 512.
const ZERO_CELL: MfuCell = MfuCell { batch: 1, kv_len: 256, mfu: 0.0 };

/// The shapes (q heads, KV heads, head dim) whose next cell, batch 1 and kv 512, is 0.000 as well.
const ZERO_SHAPES: [(u32, u32, u32); 2] = [(28, 4, 128), (32, 32, 128)];

/// Returns the MFU of the last row at or below `x`, or `default` below the first.
///
/// # Errors
/// The row's MFU is 0.000.
pub fn floor_mfu(curve: &MfuCurve, x: f64, default: Mfu) -> Result<MfuReading, Error> {
    let below = curve.points().take_while(|point| f64::from(point.at) <= x);
    let Some(point) = below.last() else {
        return Ok(MfuReading::assumed(default));
    };
    let place = if f64::from(point.at) < x {
        let points = curve.points().map(|point| point.at);
        Provenance::new(Class::Interpolated, extent(points, x))
    } else {
        Class::Measured.inside()
    };
    MfuReading::of_row(point.mfu, curve.row(point), curve.provenance(place))
}

/// Returns the MFU of the cell with the smallest |batch' - batch| + |kv' - kv|. Ties go to the smallest batch, then
/// the smallest kv.
///
/// # Errors
/// The cell's MFU is 0.000, or the grid has no cell.
pub fn nearest_mfu(grid: &MfuGrid, batch: f64, kv_len: f64) -> Result<MfuReading, Error> {
    let distance = |cell: &MfuCell| (f64::from(cell.batch) - batch).abs() + (f64::from(cell.kv_len) - kv_len).abs();
    // Cells are in ascending order, and `min_by` returns the first on a tie.
    let nearest = grid.cells().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let Some(cell) = nearest else {
        return Err(error::nothing_positive(grid.table()));
    };
    let place = if distance(&cell) > 0.0 {
        Provenance::new(Class::Interpolated, grid.extent(batch, kv_len))
    } else {
        Class::Measured.inside()
    };
    MfuReading::of_row(cell.mfu, grid.row(cell), grid.provenance(place))
}

/// Returns the nearest measured (k', n') that covers (k, n), or `None` if there is none within 31,622.
///
/// # Errors
/// The set has no GEMM table.
pub fn gemm_curve(set: &TableSet, k: u32, n: u32) -> Result<Option<MfuCurve>, Error> {
    let entries = gemm_entries(set)?;
    let Some(entry) = covering(entries, k, n, MAX_SQUARED_DISTANCE) else {
        return Ok(None);
    };
    let curve = MfuCurve::gemm(&entry, set.gpu()).ok_or_else(|| no_table(set))?;
    let transferred = (entry.shape.k, entry.shape.n) != (k, n);
    Ok(Some(curve.transferred(transferred)))
}

/// Returns prefill attention of exactly the heads of one rank of `shape`, or `None` if not measured.
///
/// # Errors
/// The set has no prefill attention table.
pub fn prefill_curve(set: &TableSet, shape: &AttentionShape) -> Result<Option<MfuCurve>, Error> {
    let no_table = || error::no_table(set, "prefill attention (bf16)");
    let table = set.prefill().ok_or_else(no_table)?;
    let entry = table.find(&per_rank(shape));
    Ok(entry.and_then(|entry| MfuCurve::prefill(&entry, set.gpu())))
}

/// Returns decode attention of exactly the heads of one rank of `shape`, among the rows with tp 1, or `None` if not
/// measured.
///
/// # Errors
/// The set has no decode attention table.
pub fn decode_grid(set: &TableSet, shape: &AttentionShape) -> Result<Option<MfuGrid>, Error> {
    let no_table = || error::no_table(set, "decode attention (bf16)");
    let table = set.decode().ok_or_else(no_table)?;
    let entry = table.find(&per_rank(shape));
    let grid = entry.and_then(|entry| MfuGrid::decode(&entry, set.gpu()));
    Ok(grid.map(with_zero_cell))
}

/// Returns the bf16 shape of one rank; the predecessors support no other format.
fn per_rank(shape: &AttentionShape) -> AttentionShape {
    AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, ..shape.local() }
}

/// Restores the cell of 0.000 in the two published tables that contain it.
fn with_zero_cell(grid: MfuGrid) -> MfuGrid {
    let AttentionShape { q_heads, kv_heads, head_dim, .. } = grid.shape();
    let published = ZERO_SHAPES.contains(&(q_heads, kv_heads, head_dim))
        && grid.cell(ZERO_CELL.batch, ZERO_CELL.kv_len).is_none()
        && grid.cell(1, 512).is_some_and(|cell| cell.mfu <= 0.0);
    if published { grid.with_warm_up(ZERO_CELL) } else { grid }
}
