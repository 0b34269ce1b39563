//! Model FLOPs utilisation by name: a lookup's latency seen from the peak.

use super::{DecodeAttention, Gemm, PrefillAttention};
use crate::error::ResolveError;
use crate::hardware::{AttentionShape, GemmShape};
use crate::table::TableSet;
use crate::units::Mfu;

/// MFU of a GEMM at `m` rows: 2 m k n over latency and the peak of its dtype, at most 1.
///
/// ```
/// use rooflut::hardware::{Dtype, GemmShape};
/// use rooflut::{op, table::sets};
/// let shape = GemmShape { dtype: Dtype::Bf16, k: 8192, n: 8192 };
/// assert!(op::mfu_gemm(&sets::H100, shape, 4096)?.0 > 0.6);
/// assert!(op::mfu_gemm(&sets::H100, shape, 1)?.0 < 0.01);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
///
/// # Errors
/// As [`Gemm::resolve`].
pub fn mfu_gemm(set: &TableSet, shape: GemmShape, m: u32) -> Result<Mfu, ResolveError> {
    Ok(Gemm::resolve(set, shape)?.at(m).mfu())
}

/// MFU of causal prefill attention of `batch` prompts of `seq_len` tokens: 2 heads head_dim S^2 each
/// over latency and the peak, at most 1.
///
/// # Errors
/// As [`PrefillAttention::resolve`].
pub fn mfu_prefill(
    set: &TableSet,
    shape: AttentionShape,
    batch: u32,
    seq_len: u32,
) -> Result<Mfu, ResolveError> {
    Ok(PrefillAttention::resolve(set, shape)?
        .at(batch, seq_len)
        .mfu())
}

/// MFU of decode attention of `batch` requests of `kv_len` tokens: 4 heads head_dim kv_len each over
/// latency and the peak, at most 1.
///
/// # Errors
/// As [`DecodeAttention::resolve`].
pub fn mfu_decode(
    set: &TableSet,
    shape: AttentionShape,
    batch: u32,
    kv_len: u32,
) -> Result<Mfu, ResolveError> {
    let kv_tokens = u64::from(batch) * u64::from(kv_len);
    Ok(DecodeAttention::resolve(set, shape)?
        .at(batch, kv_tokens)
        .mfu())
}
