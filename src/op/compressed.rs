//! Whole layers of attention over compressed keys, as in DeepSeek-V4.

use super::blend::Neighbour;
use super::estimate::Estimate;
use super::layer::{FoundLayer, LayerShape, layer_answers};
use crate::error::ResolveError;
use crate::hardware::operation::Attended;
use crate::hardware::{CompressedShape, Dtype, OperationKind, Reference, Work};
use crate::math::larger;
use crate::table::{Class, ErrorGroup, Grid, KernelTable, Reading, Table, TableSet};

/// Resolved layer of attention over compressed keys, over prompts.
///
/// ```
/// use rooflut::hardware::{CompressedShape, Dtype};
/// use rooflut::op::CompressedPrefill;
/// use rooflut::table::{Class, sets};
///
/// // DeepSeek-V4-Flash on four GPUs.
/// let shape = CompressedShape {
///     dtype: Dtype::Fp8Block, q_heads: 16, hidden: 4096, q_rank: 1024, head_dim: 512, window: 128, ratio: 4,
///     group_heads: 8, o_rank: 1024, index_heads: 64, index_dim: 128, index_top_k: 512,
/// };
/// let layer = CompressedPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(layer.at(1, 1024).provenance, Class::Measured.inside());
/// // The second half of the prompt; no row has cached tokens.
/// assert_eq!(layer.at_chunks([[512, 512]]).provenance, Class::Transferred.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompressedPrefill {
    found: FoundLayer<CompressedShape>,
}

/// Resolved layer of attention over compressed keys, of decoding requests.
///
/// ```
/// use rooflut::hardware::{CompressedShape, Dtype};
/// use rooflut::op::CompressedDecode;
/// use rooflut::table::{Class, sets};
///
/// let shape = CompressedShape {
///     dtype: Dtype::Fp8Block, q_heads: 32, hidden: 4096, q_rank: 1024, head_dim: 512, window: 128, ratio: 128,
///     group_heads: 8, o_rank: 1024, index_heads: 0, index_dim: 0, index_top_k: 0,
/// };
/// // 32 heads are between 16 and 64.
/// let layer = CompressedDecode::resolve(&sets::H100, shape)?;
/// assert_eq!(layer.at(64, 64 * 4_097).provenance, Class::Interpolated.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompressedDecode {
    found: FoundLayer<CompressedShape>,
}

layer_answers!(CompressedShape: CompressedPrefill, CompressedDecode);

impl TableSet {
    /// Returns layers of attention over compressed keys by shape over (prompts, prompt length), or `None` if the set has
    /// none.
    pub fn compressed_prefill(&self) -> Option<KernelTable<'_, CompressedShape, Grid<'_>>> {
        self.table(OperationKind::CompressedPrefill).map(Table::typed)
    }

    /// Returns layers of attention over compressed keys by shape over (requests, KV length), or `None` if the set has
    /// none.
    pub fn compressed_decode(&self) -> Option<KernelTable<'_, CompressedShape, Grid<'_>>> {
        self.table(OperationKind::CompressedDecode).map(Table::typed)
    }
}

impl CompressedPrefill {
    /// Looks up the shape in `set`, or else takes the efficiency of the same layer with fewer and with more heads
    /// (`Interpolated`). Beyond the measured heads, the rows with the nearest number of heads answer, for another hidden
    /// size or query rank, the rows of another model, and for layers without compressed keys those of layers without an
    /// indexer (`Transferred`). Rows of fp8 in blocks answer for 16-bit projections without rows of their own.
    ///
    /// # Errors
    /// The set has no such table or none with this format and these dimensions, or the GPU has no peak for the dtype.
    pub fn resolve(set: &TableSet, shape: CompressedShape) -> Result<CompressedPrefill, ResolveError> {
        let found = FoundLayer::resolve(set, OperationKind::CompressedPrefill, plain(shape))?;
        Ok(CompressedPrefill { found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured grid
    /// the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        let (batch, seq_len) = (batch.max(1), seq_len.max(1));
        let attended = self.found.shape.attended(seq_len, 0).map(|count| count.saturating_mul(batch.into()));
        let reading = self.found.read(batch.into(), seq_len.into());
        answer(&self.found, &reading, &self.found.shape.prefill_work(&attended))
    }

    /// Returns the time of chunks that run together, each with its number of new tokens and of cached ones; chunks
    /// without new tokens have no effect.
    ///
    /// Their work takes the efficiency of equal whole prompts of the mean length of the chunks, weighted by their tokens:
    /// with an indexer, whose kernels depend on the keys that they choose from, of all their tokens, and otherwise of the
    /// new ones. Neither context nor mixtures were measured, so both are `Transferred`.
    pub fn at_chunks(&self, chunks: impl IntoIterator<Item = [u32; 2]>) -> Estimate {
        self.of_chunks(chunks).0
    }

    /// Returns the time of [`at_chunks`](Self::at_chunks), and the work on one rank.
    pub(crate) fn of_chunks(&self, chunks: impl IntoIterator<Item = [u32; 2]>) -> (Estimate, Work) {
        let shape = &self.found.shape;
        let mut sums = Attended::default();
        // Tokens times new tokens, and times all tokens of their chunk.
        let (mut squares, mut reached) = (0_u128, 0_u128);
        let (mut longest, mut whole) = (0, true);
        for [new, context] in chunks {
            if new == 0 {
                continue;
            }
            let own = shape.attended(new, context);
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.saturating_add(own));
            let [new_tokens, all] = [u64::from(new), u64::from(new) + u64::from(context)].map(u128::from);
            squares = squares.saturating_add(new_tokens * new_tokens);
            reached = reached.saturating_add(new_tokens * all);
            whole &= context == 0 && (longest == 0 || longest == new);
            longest = new.max(longest);
        }
        let [tokens, ..] = sums;
        let work = shape.prefill_work(&sums);
        if tokens == 0 {
            return (self.at(1, 1), work);
        }
        let of = |sum: u128| sum as f64 / tokens as f64;
        let batch = tokens as f64 / of(squares);
        let length = if shape.index_heads > 0 { of(reached) } else { of(squares) };
        let mut reading = self.found.read(batch, length);
        if !whole {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(Class::Transferred);
        }
        (answer(&self.found, &reading, &work), work)
    }
}

impl CompressedDecode {
    /// Looks up the shape in `set`, as [`CompressedPrefill::resolve`].
    ///
    /// # Errors
    /// As [`CompressedPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: CompressedShape) -> Result<CompressedDecode, ResolveError> {
        let found = FoundLayer::resolve(set, OperationKind::CompressedDecode, plain(shape))?;
        Ok(CompressedDecode { found })
    }

    /// Returns the time of one token for each of `requests`, whose KV lengths, new tokens included, add up to
    /// `kv_tokens`. 0 requests are treated as 1, and fewer KV tokens than requests as one each. Beyond the measured grid
    /// the efficiency is held.
    ///
    /// Assumes: requests of different lengths take as long as those of their mean length.
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

/// Returns the shape without what an indexer with no heads has.
fn plain(shape: CompressedShape) -> CompressedShape {
    match shape.index_heads {
        0 => CompressedShape { index_dim: 0, index_top_k: 0, ..shape },
        _ => shape,
    }
}

/// Returns the time of `work` with this efficiency.
#[inline]
fn answer(found: &FoundLayer<CompressedShape>, reading: &Reading, work: &Work) -> Estimate {
    found.answer(reading, found.reference.in_sequence_s(work), work)
}

impl LayerShape for CompressedShape {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn q_heads(&self) -> u32 {
        self.q_heads
    }

    fn like(&self, measured: &CompressedShape, dtype: Dtype) -> CompressedShape {
        let CompressedShape { q_heads, hidden, q_rank, index_top_k, .. } = *measured;
        let ratio = if self.ratio == 0 { measured.ratio } else { self.ratio };
        CompressedShape { dtype, q_heads, hidden, q_rank, index_top_k, ratio, ..*self }
    }

    fn is_same(&self, measured: &CompressedShape) -> bool {
        *measured == CompressedShape { q_heads: measured.q_heads, ..*self }
    }

    fn missing(&self, set: &TableSet, operation: OperationKind) -> ResolveError {
        ResolveError::NoCompressedKeys { set: set.clone(), operation: operation.name(), shape: *self }
    }
}
