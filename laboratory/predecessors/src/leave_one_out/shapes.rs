//! Shapes that are left out, with all their rows.

use super::{LeftOut, cells};
use rooflut::hardware::{AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::op::{DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use rooflut::table::{Entry, Grid, KernelTable, TableSet};

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
    let all = table.all_points();
    for Entry { shape, points, .. } in same() {
        let corners = if inside(shape.k, |s| s.k) && inside(shape.n, |s| s.n) { 4 } else { 1 };
        let rest = all.iter().filter(|points| {
            let other = GemmShape::from(points.shape);
            other.dtype == dtype && other.k != shape.k && other.n != shape.n
        });
        let blended = Gemm::resolve(&table.with_points(rest.cloned()), shape).ok();
        for (&m, &measured) in points.axis().values().iter().zip(points.latency_us()) {
            let answer = blended.as_ref().map(|gemm| gemm.at(m).time);
            result.add(corners, answer, measured);
        }
    }
    result
}

/// Returns the errors for fused MoE layers that were not measured: each layer is predicted from the others.
pub fn moe_shapes(set: &TableSet) -> LeftOut {
    let mut result = LeftOut::default();
    let Some(table) = set.moe() else {
        return result;
    };
    let all = table.all_points();
    for Entry { shape, points, .. } in table.entries() {
        let rest = all.iter().filter(|points| MoeShape::from(points.shape).local() != shape.local());
        let blended = Moe::resolve(&table.with_points(rest.cloned()), shape).ok();
        for (&tokens, &measured) in points.axis().values().iter().zip(points.latency_us()) {
            let answer = blended.as_ref().map(|moe| moe.at(tokens).time);
            result.add(4, answer, measured);
        }
    }
    result
}

/// Returns the errors for prefill attention of shapes that were not measured: each is predicted from the others.
pub fn prefill_shapes(set: &TableSet) -> LeftOut {
    let resolve = |rest: &TableSet, shape| PrefillAttention::resolve(rest, shape).ok();
    set.prefill().map_or_else(LeftOut::default, |table| attention_shapes(table, resolve, PrefillAttention::at))
}

/// Returns the errors for decode attention of shapes that were not measured: each is predicted from the others.
pub fn decode_shapes(set: &TableSet) -> LeftOut {
    let resolve = |rest: &TableSet, shape| DecodeAttention::resolve(rest, shape).ok();
    let at =
        |attention: &DecodeAttention, requests, length| attention.at(requests, u64::from(requests) * u64::from(length));
    set.decode().map_or_else(LeftOut::default, |table| attention_shapes(table, resolve, at))
}

fn attention_shapes<A>(
    table: KernelTable<'_, AttentionShape, Grid<'_>>,
    resolve: impl Fn(&TableSet, AttentionShape) -> Option<A>,
    at: impl Fn(&A, u32, u32) -> Estimate,
) -> LeftOut {
    let mut result = LeftOut::default();
    let all = table.all_points();
    for Entry { shape, points, .. } in table.entries() {
        let rest = all.iter().filter(|points| AttentionShape::from(points.shape).local() != shape.local());
        let attention = resolve(&table.with_points(rest.cloned()), shape);
        for cell in cells(&points) {
            let answer = attention.as_ref().map(|attention| at(attention, cell.batch, cell.length).time);
            result.add(4, answer, cell.latency_us);
        }
    }
    result
}
