//! Shape lookup shared by prefill and decode attention.

use super::blend::{self, Weighted, squared_log};
use super::found::Found;
use crate::error::ResolveError;
use crate::hardware::{AttentionShape, OperationKind};
use crate::math::ln;
use crate::table::{Class, Entry, Grid, KernelTable, TableSet};

type AttentionEntry<'t> = Entry<AttentionShape, Grid<'t>>;
type AttentionTable<'t> = KernelTable<'t, AttentionShape, Grid<'t>>;

/// Returns the rows of the requested shape (global heads with tp), of the shape that one rank computes at tp 1, or of the
/// nearest measured shape by head dimension, then KV heads, then query heads of one rank.
pub(super) fn find(
    set: &TableSet,
    operation: OperationKind,
    shape: AttentionShape,
) -> Result<Found<AttentionShape>, ResolveError> {
    let table: AttentionTable<'_> = set.required(operation)?.typed();
    let (entry, class) = match table.find(&shape) {
        Some(entry) => (entry, Class::Measured),
        None => find_other(set, operation.name(), table, &shape)?,
    };
    Found::try_new(set, table, &entry, shape.dtype, class)
}

/// Returns the rows of the shape that one rank computes (`Measured`), or those of the nearest measured shape
/// (`Transferred`).
#[cold]
fn find_other<'t>(
    set: &TableSet,
    operation: &'static str,
    table: AttentionTable<'t>,
    shape: &AttentionShape,
) -> Result<(AttentionEntry<'t>, Class), ResolveError> {
    check(operation, shape)?;
    let local = shape.local();
    let entry = table.find(&local).or_else(|| nearest(table, local)).ok_or_else(|| ResolveError::NoAttentionDtype {
        set: set.clone(),
        operation,
        dtype: shape.dtype,
        kv_dtype: shape.kv_dtype,
    })?;
    let class = if entry.shape.local() == local { Class::Measured } else { Class::Transferred };
    Ok((entry, class))
}

/// Returns the four measured shapes of the same formats and head dimension that are nearest by KV heads and query heads
/// of one rank, with weights.
pub(super) fn nearest_four<'t>(
    table: AttentionTable<'t>,
    shape: &AttentionShape,
) -> Weighted<AttentionShape, Grid<'t>> {
    let local = shape.local();
    blend::nearest(table, |other| {
        let kind = |shape: &AttentionShape| (shape.dtype, shape.kv_dtype, shape.head_dim);
        let same = kind(other) == kind(&local);
        let other = other.local();
        let kv_heads = squared_log(other.kv_heads, local.kv_heads);
        same.then(|| kv_heads + squared_log(other.q_heads, local.q_heads))
    })
}

/// Rejects heads that are zero, or that cannot be divided among each other or the ranks.
fn check(operation: &'static str, shape: &AttentionShape) -> Result<(), ResolveError> {
    let AttentionShape { q_heads, kv_heads, head_dim, tp, .. } = *shape;
    if [q_heads, kv_heads, head_dim, tp].contains(&0) {
        return Err(ResolveError::ZeroDimension { operation });
    }
    let replicated = tp.is_multiple_of(kv_heads);
    let divides =
        q_heads.is_multiple_of(kv_heads) && q_heads.is_multiple_of(tp) && (replicated || kv_heads.is_multiple_of(tp));
    if divides {
        return Ok(());
    }
    Err(ResolveError::UnevenHeads { operation, q_heads, kv_heads, tp })
}

/// Returns the measured shape of the same formats that is nearest by head dimension, then by KV heads, then by query
/// heads of one rank, in logarithms; the first one on a tie. Where only grouped heads split their KV entries, grouped
/// shapes answer for grouped ones and others for others, if there are such of the nearest head dimension.
fn nearest(table: AttentionTable<'_>, local: AttentionShape) -> Option<AttentionEntry<'_>> {
    let apart = |a: u32, b: u32| (ln(f64::from(a)) - ln(f64::from(b))).abs();
    let is_grouped = |shape: &AttentionShape| shape.q_heads > shape.kv_heads;
    let distance = |shape: &AttentionShape| {
        let other = shape.local();
        let is_other_kernel = table.grouped_split() && is_grouped(&other) != is_grouped(&local);
        [
            apart(other.head_dim, local.head_dim),
            f64::from(u8::from(is_other_kernel)),
            apart(other.kv_heads, local.kv_heads),
            apart(other.q_heads, local.q_heads),
        ]
    };
    table.entries().filter(|e| e.shape.dtype == local.dtype && e.shape.kv_dtype == local.kv_dtype).min_by(|a, b| {
        let pairs = distance(&a.shape).into_iter().zip(distance(&b.shape));
        pairs.fold(core::cmp::Ordering::Equal, |order, (x, y)| order.then(x.total_cmp(&y)))
    })
}
