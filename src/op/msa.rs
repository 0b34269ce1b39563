//! Whole layers of block-sparse attention (MSA), as in MiniMax-M3.

use super::blend::Neighbour;
use super::estimate::Estimate;
use super::layer::{FoundLayer, LayerShape, layer_answers};
use super::prefill::ChunkSums;
use crate::error::ResolveError;
use crate::hardware::{Dtype, MsaShape, OperationKind, Reference, Work};
use crate::math::larger;
use crate::table::{Class, ErrorGroup, Grid, KernelTable, Reading, Table, TableSet};

/// Resolved layer of block-sparse attention over prompts.
///
/// ```
/// use rooflut::hardware::{Dtype, MsaShape};
/// use rooflut::op::MsaPrefill;
/// use rooflut::table::{Class, sets};
///
/// // MiniMax-M3 on four GPUs.
/// let shape = MsaShape {
///     dtype: Dtype::Fp8Block, kv_dtype: Dtype::Bf16, q_heads: 16, kv_heads: 1, head_dim: 128, hidden: 6144,
///     index_dim: 128, block: 128, top_blocks: 16,
/// };
/// let layer = MsaPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(layer.at(1, 1024).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MsaPrefill {
    found: FoundLayer<MsaShape>,
}

/// Resolved layer of block-sparse attention of decoding requests.
///
/// ```
/// use rooflut::hardware::{Dtype, MsaShape};
/// use rooflut::op::MsaDecode;
/// use rooflut::table::{Class, sets};
///
/// // MiniMax-M3 on two GPUs: between the measured heads of one and of four.
/// let shape = MsaShape {
///     dtype: Dtype::Fp8Block, kv_dtype: Dtype::Fp8, q_heads: 32, kv_heads: 2, head_dim: 128, hidden: 6144,
///     index_dim: 128, block: 128, top_blocks: 16,
/// };
/// let layer = MsaDecode::resolve(&sets::B200, shape)?;
/// assert_eq!(layer.at(64, 64 * 4096).provenance, Class::Interpolated.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MsaDecode {
    found: FoundLayer<MsaShape>,
}

layer_answers!(MsaShape: MsaPrefill, MsaDecode);

impl TableSet {
    /// Returns layers of block-sparse attention by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn msa_prefill(&self) -> Option<KernelTable<'_, MsaShape, Grid<'_>>> {
        self.table(OperationKind::MsaPrefill).map(Table::typed)
    }

    /// Returns layers of block-sparse attention by shape over (requests, KV length), or `None` if the set has none.
    pub fn msa_decode(&self) -> Option<KernelTable<'_, MsaShape, Grid<'_>>> {
        self.table(OperationKind::MsaDecode).map(Table::typed)
    }
}

impl MsaPrefill {
    /// Looks up the shape in `set`, or else takes the efficiency of the same layer with fewer and with more heads
    /// (`Interpolated`); beyond the measured heads, and for other groups of them, another hidden size or other blocks, the nearest layer answers
    /// (`Transferred`). Rows of fp8 in blocks answer for 16-bit projections without rows of their own.
    ///
    /// # Errors
    /// The set has no such table or none with these formats and this dimension of heads, or the GPU has no peak for the
    /// dtype.
    pub fn resolve(set: &TableSet, shape: MsaShape) -> Result<MsaPrefill, ResolveError> {
        let found = FoundLayer::resolve(set, OperationKind::MsaPrefill, shape)?;
        Ok(MsaPrefill { found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured grid
    /// the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        let mut chunks = self.chunks();
        chunks.add_times(batch.max(1), seq_len.max(1), 0);
        self.at_chunks(&chunks)
    }

    /// Returns empty sums, for counting what the layer depends on.
    pub fn chunks(&self) -> ChunkSums {
        ChunkSums::selecting(Some(self.found.shape.indexer()))
    }

    /// Returns the time of chunks that run together, given sums of this layer's [`chunks`](Self::chunks). They take the
    /// efficiency of whole prompts with the same pairs of queries and keys. Neither context nor mixtures were measured, so
    /// both are `Transferred`.
    pub fn at_chunks(&self, chunks: &ChunkSums) -> Estimate {
        if chunks.is_empty() {
            return self.at(1, 1);
        }
        let mut reading = self.found.read(chunks.row(), chunks.length());
        if !chunks.is_uniform() {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(Class::Transferred);
        }
        answer(&self.found, &reading, &self.work(chunks))
    }

    /// Returns the work of one rank for chunks that run together.
    pub(crate) fn work(&self, chunks: &ChunkSums) -> Work {
        let shape = &self.found.shape;
        shape.prefill_work(&chunks.prompts(), chunks.selected_squares(Some(shape.indexer())))
    }
}

impl MsaDecode {
    /// Looks up the shape in `set`, as [`MsaPrefill::resolve`].
    ///
    /// # Errors
    /// As [`MsaPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: MsaShape) -> Result<MsaDecode, ResolveError> {
        let found = FoundLayer::resolve(set, OperationKind::MsaDecode, shape)?;
        Ok(MsaDecode { found })
    }

    /// Returns the time of one token for each of `requests`, whose KV lengths, new tokens included, add up to
    /// `kv_tokens`. 0 requests are treated as 1, and fewer KV tokens than requests as one each. Beyond the measured grid
    /// the efficiency is held.
    ///
    /// Assumes: all requests are as long as their mean.
    pub fn at(&self, requests: u32, kv_tokens: u64) -> Estimate {
        self.of_sums(f64::from(requests.max(1)), kv_tokens as f64).0
    }

    /// Returns the time of [`at`](Self::at) for sums, at least one request, and the work on one rank.
    #[inline]
    pub(crate) fn of_sums(&self, requests: f64, kv_tokens: f64) -> (Estimate, Work) {
        let kv_tokens = larger(kv_tokens, requests);
        let work = self.found.shape.decode_work(requests, kv_tokens);
        let reading = self.found.read(requests, kv_tokens / requests);
        (answer(&self.found, &reading, &work), work)
    }
}

/// Returns the time of `work` with this efficiency.
#[inline]
fn answer(found: &FoundLayer<MsaShape>, reading: &Reading, work: &Work) -> Estimate {
    found.answer(reading, found.reference.in_sequence_s(work), work)
}

/// Query heads of a KV head, in the measured layers; ranks beyond the KV heads have fewer.
const GROUP: u32 = 16;

impl LayerShape for MsaShape {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn q_heads(&self) -> u32 {
        self.q_heads
    }

    fn like(&self, measured: &MsaShape, dtype: Dtype) -> MsaShape {
        MsaShape { dtype, kv_dtype: self.kv_dtype, head_dim: self.head_dim, ..*measured }
    }

    fn is_same(&self, measured: &MsaShape) -> bool {
        let MsaShape { q_heads, kv_heads, .. } = *measured;
        let is_rank = |shape: &MsaShape| shape.kv_heads == (shape.q_heads / GROUP).max(1);
        *measured == MsaShape { q_heads, kv_heads, ..*self } && is_rank(self) && is_rank(measured)
    }

    fn missing(&self, set: &TableSet, operation: OperationKind) -> ResolveError {
        ResolveError::NoBlockSparseAttention { set: set.clone(), operation: operation.name(), shape: *self }
    }
}
