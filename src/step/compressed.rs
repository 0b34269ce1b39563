//! Attention over compressed keys inside a step.

use super::batch::BatchSums;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::{Chunk, Part};
use crate::error::Error;
use crate::hardware::{Dtype, OperationKind};
use crate::model::Compressed;
use crate::op::{CompressedDecode, CompressedPrefill};
use crate::table::{Class, ErrorGroup};

/// Layers of attention over compressed keys with their projections, of prompt chunks and of decoding requests.
///
/// Assumes: prompt chunks and decoding requests of one step run one after the other, each with all kernels of the
/// layer. vLLM shares the projections between them.
#[derive(Debug, Clone)]
pub(super) struct StepCompressed {
    prefill: CompressedPrefill,
    decode: CompressedDecode,
}

impl StepCompressed {
    /// Looks up attention with these dimensions and projections in `dtype`. KV entries have one format, whatever that of
    /// other models.
    ///
    /// # Errors
    /// The set lacks the operation, the format or the dimensions, or a layer is worse than the caller accepts.
    pub(super) fn resolve(find: &Finder<'_>, compressed: Compressed, dtype: Dtype) -> Result<StepCompressed, Error> {
        let shape = compressed.shape(find.model.hidden, dtype, find.parallelism.tp);
        let prefill = CompressedPrefill::resolve(find.set, shape);
        let decode = CompressedDecode::resolve(find.set, shape);
        Ok(StepCompressed {
            prefill: find.accept(Part::PrefillAttention, prefill, CompressedPrefill::class)?,
            decode: find.accept(Part::DecodeAttention, decode, CompressedDecode::class)?,
        })
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        [self.prefill.errors(), self.decode.errors()]
    }

    /// Returns the layer of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        let (answer, work) = self.prefill.of_chunks(pairs(chunks));
        KernelTime::of(answer, &work, self.prefill.reference())
    }

    /// Returns the layer of prompt chunks with its work.
    pub(super) fn prefill_launch(&self, chunks: &[Chunk]) -> Launch {
        let (_, work) = self.prefill.of_chunks(pairs(chunks));
        Launch::new(OperationKind::CompressedPrefill, self.prefill.shape(), work)
    }

    /// Returns the layer of decoding requests with its work.
    pub(super) fn decode_launch(&self, sums: &BatchSums) -> Launch {
        let [requests, queries, kv_tokens] = sums.decode();
        let (_, work) = self.decode.of_sums(queries, kv_tokens * queries / requests);
        Launch::new(OperationKind::CompressedDecode, self.decode.shape(), work)
    }

    /// Returns the layer of decoding requests, at least one. Drafted tokens take the time of as many requests, which
    /// was not measured.
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        let [requests, queries, kv_tokens] = sums.decode();
        let (answer, work) = self.decode.of_sums(queries, kv_tokens * queries / requests);
        let best = if queries > requests { Class::Transferred } else { Class::Measured };
        KernelTime::of(answer.at_best(best), &work, self.decode.reference())
    }
}

/// Returns the new tokens and the cached ones of each chunk.
fn pairs(chunks: &[Chunk]) -> impl Iterator<Item = [u32; 2]> {
    chunks.iter().map(|chunk| [chunk.new, chunk.context()])
}
