//! Accuracy of lookups on rows that are left out.
//!
//! Each interior point of a table (one with a neighbour on both sides of each axis) is predicted with its own row and
//! column left out, by the same code that answers queries, and compared with the measurement.

mod subset;

use alloc::vec::Vec;

use super::compat::{Method, MfuCurve, MfuGrid};
use super::{AllReduce, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use crate::hardware::operation::Codes;
use crate::hardware::{AttentionShape, Dtype, GemmShape, MoeShape, Prompts};
use crate::table::{Curve, Entry, Grid, KernelTable, Table, TableSet};

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
    fn add(&mut self, corners: usize, predicted: Option<f64>, measured_us: f32) {
        let Some(seconds) = predicted else {
            self.unanswered += 1;
            return;
        };
        let error = (seconds / (f64::from(measured_us) * 1e-6) - 1.0).abs();
        let full = corners >= 4;
        if full {
            &mut self.full
        } else {
            &mut self.ragged
        }
        .push(error);
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

type AttentionTable<'t> = KernelTable<'t, AttentionShape, Grid<'t>>;
type AttentionEntry<'t> = Entry<AttentionShape, Grid<'t>>;

/// Returns the errors for GEMMs of `dtype`, along m.
pub fn gemm(set: &TableSet, dtype: Dtype, method: Method) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.gemm() else {
        return result;
    };
    let entries = table.entries();
    for Entry { shape, points, .. } in entries.filter(|entry| entry.shape.dtype == dtype) {
        for_each_left_out(*table, shape, &points, |rest, m, measured| {
            let time = match method {
                Method::Efficiency => Gemm::resolve(rest, shape).ok().map(|gemm| gemm.at(m)),
                _ => gemm_by(method, rest, shape, m),
            };
            result.add(4, time.map(|t| t.time.0), measured);
        });
    }
    result
}

/// Returns a predecessor's answer from the curve of `shape`.
fn gemm_by(method: Method, set: &TableSet, shape: GemmShape, m: u32) -> Option<Estimate> {
    let table = set.gemm()?;
    let curve = MfuCurve::gemm(table, &table.find(&shape)?, set.gpu())?;
    method.on_curve(&curve, shape.work(f64::from(m)), m).ok()
}

/// Returns the errors for GEMMs of `dtype` with a (k, n) that was not measured: all rows of its k and of its n are
/// left out. `full` holds the pairs between measured ones, `ragged` the pairs outside. Only rooflut's own method is
/// evaluated.
pub fn gemm_shapes(set: &TableSet, dtype: Dtype) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.gemm() else {
        return result;
    };
    let same = || {
        let entries = table.entries();
        entries.filter(|entry| entry.shape.dtype == dtype)
    };
    let inside = |value: u32, pick: fn(&GemmShape) -> u32| {
        let least = same().map(|entry| pick(&entry.shape)).min();
        let most = same().map(|entry| pick(&entry.shape)).max();
        least < Some(value) && Some(value) < most
    };
    for Entry { shape, points, .. } in same() {
        let corners = if inside(shape.k, |s| s.k) && inside(shape.n, |s| s.n) {
            4
        } else {
            1
        };
        let others = same().filter(|entry| entry.shape.k != shape.k && entry.shape.n != shape.n);
        let rest = others.map(|entry| subset::of_curve(entry.shape, &entry.points, |_| true));
        let blended = Gemm::resolve(&table.with_points(rest), shape).ok();
        for (&m, &measured) in points.axis().values().iter().zip(points.latency_us()) {
            let time = blended.as_ref().map(|gemm| gemm.at(m).time.0);
            result.add(corners, time, measured);
        }
    }
    result
}

/// Returns the errors for prefill attention, along the prompt length, each batch separately. The predecessors support
/// a single prompt only.
pub fn prefill(set: &TableSet, method: Method) -> LeftOut {
    prefill_of(set, method, |_| true)
}

/// Returns [`prefill`] of the shapes for which `wanted` returns `true`.
pub fn prefill_of(
    set: &TableSet,
    method: Method,
    wanted: impl Fn(&AttentionShape) -> bool,
) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.prefill() else {
        return result;
    };
    for entry in table.entries().filter(|entry| wanted(&entry.shape)) {
        let points = entry.points;
        for (row, &batch) in points.batch().values().iter().enumerate() {
            if batch > 1 && method != Method::Efficiency {
                continue;
            }
            let columns = points.length().values().len();
            for column in 1..columns.saturating_sub(1) {
                let latency = |column| points.latency_us(row, column);
                let neighbours = latency(column - 1).and(latency(column + 1));
                if let (Some(measured), Some(_)) = (latency(column), neighbours) {
                    let time = prefill_without(table, &entry, (row, column), method);
                    result.add(4, time, measured);
                }
            }
        }
    }
    result
}

/// Returns the prediction of one prefill point from the other lengths of its batch.
fn prefill_without(
    table: AttentionTable<'_>,
    entry: &AttentionEntry<'_>,
    (row, column): (usize, usize),
    method: Method,
) -> Option<f64> {
    let Entry { shape, points, .. } = *entry;
    let batch = *points.batch().values().get(row)?;
    let length = *points.length().values().get(column)?;
    let rest = subset::of_grid(shape, &points, |b| b == row, |c| c != column);
    let rest = table.with_points([rest]);
    let estimate = if method == Method::Efficiency {
        PrefillAttention::resolve(&rest, shape)
            .ok()?
            .at(batch, length)
    } else {
        let prompts = Prompts::equal(f64::from(batch), f64::from(length));
        let work = shape.on_rank().prefill_work(&prompts);
        let table = rest.prefill()?;
        let curve = MfuCurve::prefill(table, &table.find(&shape)?, rest.gpu())?;
        method.on_curve(&curve, work, length).ok()?
    };
    Some(estimate.time.0)
}

/// Returns the errors for decode attention, over batch and KV length.
pub fn decode(set: &TableSet, method: Method) -> LeftOut {
    decode_of(set, method, |_| true)
}

/// Returns [`decode`] of the shapes for which `wanted` returns `true`.
pub fn decode_of(
    set: &TableSet,
    method: Method,
    wanted: impl Fn(&AttentionShape) -> bool,
) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.decode() else {
        return result;
    };
    for entry in table.entries().filter(|entry| wanted(&entry.shape)) {
        let points = entry.points;
        let (rows, columns) = (
            points.batch().values().len(),
            points.length().values().len(),
        );
        for row in 1..rows.saturating_sub(1) {
            for column in 1..columns.saturating_sub(1) {
                let Some(measured) = points.latency_us(row, column) else {
                    continue;
                };
                let corners = [row - 1, row + 1]
                    .into_iter()
                    .flat_map(|r| [(r, column - 1), (r, column + 1)])
                    .filter(|&(r, c)| points.latency_us(r, c).is_some())
                    .count();
                if corners > 0 {
                    let time = decode_without(table, &entry, (row, column), method);
                    result.add(corners, time, measured);
                }
            }
        }
    }
    result
}

/// Returns the prediction of one decode point without its row and column.
fn decode_without(
    table: AttentionTable<'_>,
    entry: &AttentionEntry<'_>,
    (row, column): (usize, usize),
    method: Method,
) -> Option<f64> {
    let Entry { shape, points, .. } = *entry;
    let batch = *points.batch().values().get(row)?;
    let kv_len = *points.length().values().get(column)?;
    let rest = subset::of_grid(shape, &points, |b| b != row, |c| c != column);
    let rest = table.with_points([rest]);
    let kv_tokens = u64::from(batch) * u64::from(kv_len);
    let estimate = if method == Method::Efficiency {
        DecodeAttention::resolve(&rest, shape)
            .ok()?
            .at(batch, kv_tokens)
    } else {
        let work = shape
            .on_rank()
            .decode_work(f64::from(batch), kv_tokens as f64);
        let table = rest.decode()?;
        let grid = MfuGrid::decode(table, &table.find(&shape)?, rest.gpu())?;
        method.on_grid(&grid, work, batch, kv_len).ok()?
    };
    Some(estimate.time.0)
}

/// Returns the errors for all-reduces, along the message size.
pub fn allreduce(set: &TableSet) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.all_reduce() else {
        return result;
    };
    for Entry { shape, points, .. } in table.entries() {
        for_each_left_out(*table, shape, &points, |rest, bytes, measured| {
            let time = AllReduce::resolve(rest, shape).ok();
            let time = time.map(|all_reduce| all_reduce.at(u64::from(bytes)).time.0);
            result.add(4, time, measured);
        });
    }
    result
}

/// Returns the errors for fused MoE layers, along the tokens.
pub fn moe(set: &TableSet) -> LeftOut {
    moe_of(set, |_| true)
}

/// Returns [`moe`] of the layers for which `wanted` returns `true`.
pub fn moe_of(set: &TableSet, wanted: impl Fn(&MoeShape) -> bool) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.moe() else {
        return result;
    };
    let entries = table.entries();
    for Entry { shape, points, .. } in entries.filter(|entry| wanted(&entry.shape)) {
        for_each_left_out(*table, shape, &points, |rest, tokens, measured| {
            let time = Moe::resolve(rest, shape)
                .ok()
                .map(|moe| moe.at(tokens).time.0);
            result.add(4, time, measured);
        });
    }
    result
}

/// Calls `ask` for each interior point with a set whose curve lacks the point, the point's coordinate and its
/// latency.
fn for_each_left_out(
    table: Table<'_>,
    shape: impl Into<Codes> + Copy,
    curve: &Curve<'_>,
    mut ask: impl FnMut(&TableSet, u32, f32),
) {
    let values = curve.axis().values();
    for place in 1..values.len().saturating_sub(1) {
        let rest = subset::of_curve(shape, curve, |other| other != place);
        let rest = table.with_points([rest]);
        if let (Some(&x), Some(&measured)) = (values.get(place), curve.latency_us().get(place)) {
            ask(&rest, x, measured);
        }
    }
}
