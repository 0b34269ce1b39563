//! Whole layers of multi-head latent attention (MLA), with an indexer (DSA) or without one.

use super::blend::Neighbour;
use super::estimate::Estimate;
use super::layer::{FoundLayer, LayerShape, layer_answers};
use super::prefill::ChunkSums;
use crate::error::ResolveError;
use crate::hardware::{Dtype, MlaLoad, MlaShape, OperationKind, Reference, Work};
use crate::math::larger;
use crate::table::{Class, ErrorGroup, Grid, KernelTable, Reading, Table, TableSet};

/// Resolved layer of latent attention over prompts.
///
/// ```
/// use rooflut::hardware::{Dtype, MlaShape};
/// use rooflut::op::MlaPrefill;
/// use rooflut::table::{Class, sets};
///
/// // DeepSeek-V3 on eight GPUs.
/// let shape = MlaShape {
///     dtype: Dtype::Bf16, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16,
///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None,
/// };
/// let layer = MlaPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(layer.at(1, 1024).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MlaPrefill {
    found: FoundLayer<MlaShape>,
}

/// Resolved layer of latent attention of decoding requests.
///
/// ```
/// use rooflut::hardware::{Dtype, MlaShape};
/// use rooflut::op::MlaDecode;
/// use rooflut::table::{Class, sets};
///
/// // These rows use one format for KV entries and attention.
/// let shape = MlaShape {
///     dtype: Dtype::Bf16, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16,
///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None,
/// };
/// let layer = MlaDecode::resolve(&sets::H100, shape)?;
/// // 64 requests with 1,500 tokens each.
/// assert_eq!(layer.at(64, 64 * 1500).provenance, Class::Interpolated.inside());
/// // 24 heads are between 16 and 32.
/// let more = MlaDecode::resolve(&sets::H100, MlaShape { q_heads: 24, ..shape })?;
/// assert!(more.class() == Class::Interpolated && more.at(64, 96_000).time > layer.at(64, 96_000).time);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MlaDecode {
    found: FoundLayer<MlaShape>,
}

layer_answers!(MlaShape: MlaPrefill, MlaDecode);

impl TableSet {
    /// Returns layers of latent attention by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn mla_prefill(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::MlaPrefill).map(Table::typed)
    }

    /// Returns layers of latent attention by shape over (requests, KV length), or `None` if the set has none.
    pub fn mla_decode(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::MlaDecode).map(Table::typed)
    }

    /// Returns layers of sparse latent attention by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn dsa_prefill(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::DsaPrefill).map(Table::typed)
    }

    /// Returns layers of sparse latent attention by shape over (requests, KV length), or `None` if the set has none.
    pub fn dsa_decode(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::DsaDecode).map(Table::typed)
    }
}

impl MlaPrefill {
    /// Looks up the shape in `set`, or else takes the efficiency of the same layer with fewer and with more heads
    /// (`Interpolated`). Beyond the measured heads, the rows with the nearest number of heads answer. For a hidden size
    /// or query rank without measurements, the rows of another model with the same heads of queries, keys and values
    /// answer (`Transferred`). Rows of fp8 in blocks answer for 16-bit projections without rows of their own.
    ///
    /// A shape with an indexer has tables of its own.
    ///
    /// # Errors
    /// The set has no such table or none with these formats and dimensions of heads, or the GPU has no peak for the
    /// dtype.
    pub fn resolve(set: &TableSet, shape: MlaShape) -> Result<MlaPrefill, ResolveError> {
        let operation = match shape.indexer {
            None => OperationKind::MlaPrefill,
            Some(_) => OperationKind::DsaPrefill,
        };
        let found = FoundLayer::resolve(set, operation, shape)?;
        Ok(MlaPrefill { found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured grid
    /// the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        let (batch, seq_len) = (batch.max(1), seq_len.max(1));
        let mut chunks = self.chunks();
        chunks.add_times(batch, seq_len, 0);
        self.answer(&self.found.read(batch.into(), seq_len.into()), &chunks)
    }

    /// Returns empty sums, for counting what the layer depends on.
    pub fn chunks(&self) -> ChunkSums {
        ChunkSums::selecting(self.found.shape.indexer)
    }

    /// Returns the time of chunks that run together, given sums of this layer's [`chunks`](Self::chunks).
    ///
    /// Their FLOPs and bytes take the efficiency of whole prompts with the same pairs of queries and keys. The FLOPs
    /// and bytes include the context that each chunk expands or scores again. Neither context nor mixtures were
    /// measured, so both are `Transferred`.
    pub fn at_chunks(&self, chunks: &ChunkSums) -> Estimate {
        if chunks.is_empty() {
            return self.at(1, 1);
        }
        let mut reading = self.found.read(chunks.row(), chunks.length());
        if !chunks.is_uniform() {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(Class::Transferred);
        }
        self.answer(&reading, chunks)
    }

    fn answer(&self, reading: &Reading, chunks: &ChunkSums) -> Estimate {
        answer(&self.found, reading, &self.load(chunks))
    }

    /// Returns the work of one rank for chunks that run together.
    pub(crate) fn work(&self, chunks: &ChunkSums) -> Work {
        self.load(chunks).work
    }

    fn load(&self, chunks: &ChunkSums) -> MlaLoad {
        let shape = &self.found.shape;
        let selected = chunks.selected_squares(shape.indexer);
        shape.prefill_load(&chunks.prompts(), selected)
    }
}

impl MlaDecode {
    /// Looks up the shape in `set`, as [`MlaPrefill::resolve`].
    ///
    /// # Errors
    /// As [`MlaPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: MlaShape) -> Result<MlaDecode, ResolveError> {
        let operation = match shape.indexer {
            None => OperationKind::MlaDecode,
            Some(_) => OperationKind::DsaDecode,
        };
        let found = FoundLayer::resolve(set, operation, shape)?;
        Ok(MlaDecode { found })
    }

    /// Returns the time of one token for each of `requests`, whose KV lengths, new tokens included, add up to
    /// `kv_tokens`. 0 requests are treated as 1, and fewer KV tokens than requests as one each. The cost depends on the
    /// sum of the lengths, so the mean length represents all requests. Beyond the measured grid the efficiency is held.
    ///
    /// Assumes: with an indexer, requests shorter than its `top_k` keys, next to longer requests, attend to as many
    /// keys as requests of the mean length.
    pub fn at(&self, requests: u32, kv_tokens: u64) -> Estimate {
        self.of_sums(f64::from(requests.max(1)), kv_tokens as f64)
    }

    /// Returns the time of [`at`](Self::at) for sums, at least one request.
    #[inline]
    pub(crate) fn of_sums(&self, requests: f64, kv_tokens: f64) -> Estimate {
        let kv_tokens = larger(kv_tokens, requests);
        let load = self.found.shape.decode_load(requests, kv_tokens);
        let reading = self.found.read(requests, kv_tokens / requests);
        answer(&self.found, &reading, &load)
    }

    /// Returns the work of one rank.
    #[inline]
    pub(crate) fn work(&self, requests: f64, kv_tokens: f64) -> Work {
        self.found.shape.decode_load(requests, kv_tokens).work
    }
}

/// Returns the time of `load` with this efficiency.
#[inline]
fn answer(found: &FoundLayer<MlaShape>, reading: &Reading, load: &MlaLoad) -> Estimate {
    found.answer(reading, load.reference_s(&found.reference), &load.work)
}

impl LayerShape for MlaShape {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn q_heads(&self) -> u32 {
        self.q_heads
    }

    fn like(&self, measured: &MlaShape, dtype: Dtype) -> MlaShape {
        let MlaShape { q_heads, hidden, q_rank, .. } = *measured;
        MlaShape { dtype, q_heads, hidden, q_rank, ..*self }
    }

    fn is_same(&self, measured: &MlaShape) -> bool {
        let of = |shape: &MlaShape| (shape.dtype, shape.hidden, shape.q_rank);
        of(measured) == of(self)
    }

    fn missing(&self, set: &TableSet, operation: OperationKind) -> ResolveError {
        ResolveError::NoLatentAttention {
            set: set.clone(),
            operation: operation.name(),
            dtype: self.dtype,
            kv_dtype: self.kv_dtype,
            kv_rank: self.kv_rank,
            head_dims: [self.nope_dim, self.rope_dim, self.v_dim],
            indexer: self.indexer,
        }
    }
}
