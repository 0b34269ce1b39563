//! Latent attention inside a step.

use super::batch::BatchSums;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::{Chunk, Part};
use crate::error::Error;
use crate::hardware::{Dtype, MlaShape, OperationKind};
use crate::model::Mla;
use crate::op::{ChunkSums, MlaDecode, MlaPrefill};
use crate::table::{Class, ErrorGroup};

/// Layers of latent attention with their projections, of prompt chunks and of decoding requests.
///
/// Assumes: prompt chunks and decoding requests of one step run one after the other, each with all kernels of the
/// layer. vLLM shares the projections between them.
#[derive(Debug, Clone)]
pub(super) struct StepLatent {
    prefill: MlaPrefill,
    decode: MlaDecode,
}

impl StepLatent {
    /// Looks up latent attention with these dimensions and projections in `dtype`.
    ///
    /// # Errors
    /// The set lacks the operation, the formats or the dimensions, or a layer is worse than the caller accepts.
    pub(super) fn resolve(find: &Finder<'_>, mla: Mla, dtype: Dtype, kv_dtype: Dtype) -> Result<StepLatent, Error> {
        // Prefill multiplies in 16 bits with any KV entries, decode as they are stored, unless it selects some of them.
        let shape = |attn_dtype| MlaShape {
            dtype,
            attn_dtype,
            kv_dtype,
            q_heads: mla.q_heads / find.parallelism.tp,
            hidden: find.model.hidden,
            q_rank: mla.q_rank,
            kv_rank: mla.kv_rank,
            nope_dim: mla.nope_dim,
            rope_dim: mla.rope_dim,
            v_dim: mla.v_dim,
            indexer: mla.indexer,
        };
        let decode_dtype = match mla.indexer {
            None => kv_dtype,
            Some(_) => Dtype::Bf16,
        };
        let prefill = MlaPrefill::resolve(find.set, shape(Dtype::Bf16));
        let decode = MlaDecode::resolve(find.set, shape(decode_dtype));
        Ok(StepLatent {
            prefill: find.accept(Part::PrefillAttention, prefill, MlaPrefill::class)?,
            decode: find.accept(Part::DecodeAttention, decode, MlaDecode::class)?,
        })
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        [self.prefill.errors(), self.decode.errors()]
    }

    /// Returns the layer of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        let sums = self.sums(chunks);
        let answer = self.prefill.at_chunks(&sums);
        KernelTime::of(answer, &self.prefill.work(&sums), self.prefill.reference())
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
        let shape = self.prefill.shape();
        let operation = match shape.indexer {
            None => OperationKind::MlaPrefill,
            Some(_) => OperationKind::DsaPrefill,
        };
        Launch::new(operation, shape, self.prefill.work(&self.sums(chunks)))
    }

    /// Returns the layer of decoding requests with its work.
    pub(super) fn decode_launch(&self, sums: &BatchSums) -> Launch {
        let [_, queries, kv_tokens] = sums.decode();
        let shape = self.decode.shape();
        let operation = match shape.indexer {
            None => OperationKind::MlaDecode,
            Some(_) => OperationKind::DsaDecode,
        };
        Launch::new(operation, shape, self.decode.work(queries, kv_tokens))
    }

    /// Returns the layer of decoding requests, at least one. Drafted tokens take the time of as many requests, which
    /// was not measured.
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        let [requests, queries, kv_tokens] = sums.decode();
        let mut answer = self.decode.of_sums(queries, kv_tokens * queries / requests);
        if queries > requests {
            answer = answer.at_best(Class::Transferred);
        }
        let work = self.decode.work(queries, kv_tokens);
        KernelTime::of(answer, &work, self.decode.reference())
    }
}
