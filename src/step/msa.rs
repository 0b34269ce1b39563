//! Block-sparse attention inside a step.

use super::batch::BatchSums;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::{Chunk, Part};
use crate::error::Error;
use crate::hardware::{Dtype, OperationKind};
use crate::model::Msa;
use crate::op::{ChunkSums, MsaDecode, MsaPrefill};
use crate::table::{Class, ErrorGroup};

/// Layers of block-sparse attention with their projections, of prompt chunks and of decoding requests.
///
/// Assumes: prompt chunks and decoding requests of one step run one after the other, each with all kernels of the
/// layer. vLLM shares the projections between them.
#[derive(Debug, Clone)]
pub(super) struct StepMsa {
    prefill: MsaPrefill,
    decode: MsaDecode,
}

impl StepMsa {
    /// Looks up attention with these dimensions and projections in `dtype`.
    ///
    /// # Errors
    /// The set lacks the operation, the formats or the dimensions, or a layer is worse than the caller accepts.
    pub(super) fn resolve(find: &Finder<'_>, msa: Msa, dtype: Dtype, kv_dtype: Dtype) -> Result<StepMsa, Error> {
        let shape = msa.shape(find.model.hidden, [dtype, kv_dtype], find.parallelism.tp);
        let prefill = MsaPrefill::resolve(find.set, shape);
        let decode = MsaDecode::resolve(find.set, shape);
        Ok(StepMsa {
            prefill: find.accept(Part::PrefillAttention, prefill, MsaPrefill::class)?,
            decode: find.accept(Part::DecodeAttention, decode, MsaDecode::class)?,
        })
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        [self.prefill.errors(), self.decode.errors()]
    }

    /// Returns the layer of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        let sums = self.sums(chunks);
        KernelTime::of(self.prefill.at_chunks(&sums), &self.prefill.work(&sums), self.prefill.reference())
    }

    fn sums(&self, chunks: &[Chunk]) -> ChunkSums {
        let mut sums = self.prefill.chunks();
        for chunk in chunks {
            sums.add(chunk.new, chunk.context());
        }
        sums
    }

    /// Returns the layer of prompt chunks with its work.
    pub(super) fn prefill_launch(&self, chunks: &[Chunk]) -> Launch {
        Launch::new(OperationKind::MsaPrefill, self.prefill.shape(), self.prefill.work(&self.sums(chunks)))
    }

    /// Returns the layer of decoding requests with its work.
    pub(super) fn decode_launch(&self, sums: &BatchSums) -> Launch {
        let [requests, queries, kv_tokens] = sums.decode();
        let (_, work) = self.decode.of_sums(queries, kv_tokens * queries / requests);
        Launch::new(OperationKind::MsaDecode, self.decode.shape(), work)
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
