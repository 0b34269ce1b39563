//! BLIS's lookups: MFU interpolated linearly.
//!
//! Source: BLIS, the Go port of InferSim's method; each rule is documented at its function.

use super::corners::{Corners, place_of};
use super::error::{self, nothing_positive};
use super::gemm_entries::{covering, gemm_entries, no_table};
use super::nearest_shape::{heads, nearer};
use super::reading::positive;
use super::{Matched, MfuCell, MfuCurve, MfuGrid, MfuPoint, MfuReading};
use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::table::{Class, Entry, Grid, Provenance, TableSet};
use rooflut::units::Mfu;
use rooflut_error::Error;

/// A decode MFU interpolated to less than this is replaced by the nearest row above 0.000.
const MIN_MFU: f64 = 0.0001;

/// The warm-up cell of [`WARM_UP_SHAPES`] at tp 1. BLIS keeps the 18 warm-up rows that our tables omit; only these
/// three are not 0.000 (a missing corner) once rounded.
const WARM_UP_CELL: MfuCell = MfuCell { batch: 1, kv_len: 1024, mfu: 0.001 };

/// The shapes (q heads, KV heads, head dim) whose warm-up row rounds to 0.001.
const WARM_UP_SHAPES: [(u32, u32, u32); 3] = [(40, 40, 128), (56, 8, 128), (64, 8, 128)];

/// Returns the MFU at `x`: linear between rows, held beyond the ends.
///
/// # Errors
/// The MFU is 0.000 there, or the curve has no row.
pub fn linear_mfu(curve: &MfuCurve, x: f64) -> Result<MfuReading, Error> {
    let below = |point: &MfuPoint| f64::from(point.at) <= x;
    let lower = curve.points().take_while(below).last();
    let upper = curve.points().find(|point| f64::from(point.at) >= x);
    let (Some(lo), Some(hi)) = (lower.or(upper), upper.or(lower)) else {
        return Err(nothing_positive(curve.table()));
    };
    if lo.at == hi.at {
        let place = place_of(f64::from(lo.at), x);
        return MfuReading::of_row(lo.mfu, curve.row(lo), curve.provenance(place));
    }
    let (x0, x1) = (f64::from(lo.at), f64::from(hi.at));
    let mfu = lo.mfu + (hi.mfu - lo.mfu) * (x - x0) / (x1 - x0);
    positive(mfu, curve.row(lo))?;
    Ok(MfuReading {
        mfu: Mfu(mfu),
        matched: Matched::Between(curve.table()),
        provenance: curve.provenance(Class::Interpolated.inside()),
    })
}

/// Returns the MFU at (batch, kv): bilinear, clamped to the axes of the whole grid, with 0 for a missing corner. An
/// MFU below 0.0001 is replaced by the nearest row above 0.000 (Euclidean distance from the query; ties go to the
/// smallest batch, then the smallest kv).
///
/// # Errors
/// Every MFU of the grid is 0.000.
pub fn bilinear_mfu(grid: &MfuGrid, batch: f64, kv_len: f64) -> Result<MfuReading, Error> {
    let (Some(rows), Some(columns)) = (Corners::around(grid.batches(), batch), Corners::around(grid.kv_lens(), kv_len))
    else {
        return nearest_positive(grid, batch, kv_len);
    };
    let at = |row, column| grid.cell(row, column).map_or(0.0, |cell| cell.mfu);
    let mfu = rows.blend(|row| columns.blend(|column| at(row, column)));
    if mfu < MIN_MFU {
        return nearest_positive(grid, batch, kv_len);
    }
    Ok(MfuReading {
        mfu: Mfu(mfu),
        matched: Matched::Between(grid.table()),
        provenance: grid.provenance(rows.place.worst(columns.place)),
    })
}

/// Returns the row nearest to (batch, kv) whose MFU is above 0.000.
fn nearest_positive(grid: &MfuGrid, batch: f64, kv_len: f64) -> Result<MfuReading, Error> {
    let distance = |cell: &MfuCell| {
        let (rows, columns) = (f64::from(cell.batch) - batch, f64::from(cell.kv_len) - kv_len);
        rows * rows + columns * columns
    };
    // Cells are in ascending order, and `min_by` returns the first on a tie.
    let nearest = grid.cells().filter(|cell| cell.mfu > 0.0).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let Some(cell) = nearest else {
        return Err(nothing_positive(grid.table()));
    };
    let place = grid.provenance(Provenance::new(Class::Interpolated, grid.extent(batch, kv_len)));
    MfuReading::of_row(cell.mfu, grid.row(cell), place)
}

/// Returns the nearest measured (k', n') that covers (k, n), at any distance, or else the last of the table.
///
/// # Errors
/// The set has no GEMM table.
pub fn gemm_curve(set: &TableSet, k: u32, n: u32) -> Result<MfuCurve, Error> {
    let entries = gemm_entries(set)?;
    let entry = covering(entries.clone(), k, n, u64::MAX).or_else(|| entries.last()).ok_or_else(|| no_table(set))?;
    let curve = MfuCurve::gemm(&entry, set.gpu()).ok_or_else(|| no_table(set))?;
    let transferred = (entry.shape.k, entry.shape.n) != (k, n);
    Ok(curve.transferred(transferred))
}

/// Returns prefill attention of the measured shape nearest to the global heads of `shape`, ignoring its tp.
///
/// # Errors
/// The set has no bf16 prefill attention table with a batch of 1.
pub fn prefill_curve(set: &TableSet, shape: &AttentionShape) -> Result<MfuCurve, Error> {
    nearest_prefill(set, shape).map(|(_, curve)| curve)
}

/// Returns decode attention of the shape that [`prefill_curve`] chooses: its rows with the tp of `shape` if present,
/// or else its rows with tp 1.
///
/// BLIS does not specify a shape with prefill but without such decode rows; here, the nearest shape that has them is
/// used, by the same rule.
///
/// # Errors
/// The set has no bf16 prefill or decode attention table.
pub fn decode_grid(set: &TableSet, shape: &AttentionShape) -> Result<MfuGrid, Error> {
    let (chosen, _) = nearest_prefill(set, shape)?;
    let no_table = || error::no_table(set, "decode attention (bf16)");
    let table = set.decode().ok_or_else(no_table)?;
    table
        .entries()
        .filter(|entry| is_bf16(entry) && (entry.shape.tp == shape.tp || entry.shape.tp == 1))
        .min_by(|a, b| {
            let other_tp = |entry: &AttentionEntry<'_>| entry.shape.tp != shape.tp;
            nearer(&a.shape, &b.shape, &chosen).then(other_tp(a).cmp(&other_tp(b)))
        })
        .and_then(|entry| MfuGrid::decode(&entry, set.gpu()))
        .map(|grid| {
            let (found, asked) = (grid.shape(), *shape);
            let transferred = heads(&found) != heads(&asked) || found.tp != asked.tp;
            with_warm_up_cell(grid).transferred(transferred)
        })
        .ok_or_else(no_table)
}

/// Returns the prefill table of the shape nearest to `shape`.
fn nearest_prefill(set: &TableSet, shape: &AttentionShape) -> Result<(AttentionShape, MfuCurve), Error> {
    let no_table = || error::no_table(set, "prefill attention (bf16, batch 1)");
    let table = set.prefill().ok_or_else(no_table)?;
    table
        .entries()
        .filter(is_bf16)
        .filter_map(|entry| {
            let curve = MfuCurve::prefill(&entry, set.gpu())?;
            Some((entry.shape, curve))
        })
        .min_by(|(a, _), (b, _)| nearer(a, b, shape))
        .map(|(found, curve)| (found, curve.transferred(heads(&found) != heads(shape))))
        .ok_or_else(no_table)
}

type AttentionEntry<'t> = Entry<AttentionShape, Grid<'t>>;

/// Returns whether both formats are bf16; the predecessors support no other.
fn is_bf16(entry: &AttentionEntry<'_>) -> bool {
    entry.shape.dtype == Dtype::Bf16 && entry.shape.kv_dtype == Dtype::Bf16
}

/// Restores the cell of 0.001 in the three published tables that contain it.
fn with_warm_up_cell(grid: MfuGrid) -> MfuGrid {
    let [q_heads, kv_heads, head_dim] = heads(&grid.shape());
    let published = WARM_UP_SHAPES.contains(&(q_heads, kv_heads, head_dim))
        && grid.shape().tp == 1
        && grid.cell(WARM_UP_CELL.batch, WARM_UP_CELL.kv_len).is_none();
    if published { grid.with_warm_up(WARM_UP_CELL) } else { grid }
}
