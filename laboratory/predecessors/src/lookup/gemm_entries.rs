//! The measured (k, n) pairs of a set, and the choice among them that both predecessors share.

use rooflut::hardware::{Dtype, GemmShape};
use rooflut::table::{Curve, Entry, TableSet};
use rooflut_error::Error;

use super::error;

/// The formats of GEMM tables, by priority. The predecessors have one GEMM table per GPU, without a dtype; here it is
/// the first of these that a set has.
const DTYPES: [Dtype; 3] = [Dtype::Bf16, Dtype::Fp8Block, Dtype::Fp8];

pub(super) type GemmEntry<'t> = Entry<GemmShape, Curve<'t>>;

/// Returns the GEMMs of a set in ascending order of (k, n), the order of the published files.
pub(super) fn gemm_entries(set: &TableSet) -> Result<impl Iterator<Item = GemmEntry<'_>> + Clone, Error> {
    let table = set.gemm().ok_or_else(|| no_table(set))?;
    let dtype = DTYPES
        .into_iter()
        .find(|&dtype| table.entries().any(|entry| entry.shape.dtype == dtype))
        .ok_or_else(|| no_table(set))?;
    Ok(table.entries().filter(move |entry| entry.shape.dtype == dtype))
}

/// Returns the error for a set without a GEMM table.
pub(super) fn no_table(set: &TableSet) -> Error {
    error::no_table(set, "GEMM (bf16, fp8_block or fp8)")
}

/// Returns the pair with k' >= k and n' >= n that is nearest by squared distance, below `limit`; the first one on a
/// tie.
pub(super) fn covering<'t>(
    entries: impl Iterator<Item = GemmEntry<'t>>,
    k: u32,
    n: u32,
    limit: u64,
) -> Option<GemmEntry<'t>> {
    entries
        .filter(|entry| entry.shape.k >= k && entry.shape.n >= n)
        .map(|entry| {
            let distance = square(entry.shape.k.abs_diff(k)).saturating_add(square(entry.shape.n.abs_diff(n)));
            (distance, entry)
        })
        .filter(|&(distance, _)| distance < limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, entry)| entry)
}

/// Returns the square of a distance.
pub(super) fn square(distance: u32) -> u64 {
    u64::from(distance).saturating_mul(u64::from(distance))
}
