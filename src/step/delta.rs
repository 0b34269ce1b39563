//! A gated delta net inside a step.

use super::batch::BatchSums;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::{Chunk, Part};
use crate::constants::COLD_READ_SHARE;
use crate::error::Error;
use crate::hardware::{DeltaKernel, DeltaShape, OperationKind, Reference, Work};
use crate::model::DeltaNet;
use crate::op::{DeltaDecode, DeltaPrefill, Estimate};
use crate::table::{Class, ErrorGroup};

/// The convolution and the delta rule of a layer, of prompt chunks and of decoding requests.
#[derive(Debug, Clone)]
pub(super) struct StepDelta {
    /// Kernels of prefill and decode, the convolution first.
    kernels: [(DeltaPrefill, DeltaDecode); 2],
}

impl StepDelta {
    /// Looks up the kernels of a layer whose heads the ranks divide.
    ///
    /// # Errors
    /// The set lacks the tables or the head dimension, or a kernel is worse than the caller accepts.
    pub(super) fn resolve(find: &Finder<'_>, net: DeltaNet) -> Result<StepDelta, Error> {
        let net = net.local(find.parallelism.tp);
        let kernels = |kernel| {
            let shape = DeltaShape { kernel, k_heads: net.k_heads, v_heads: net.v_heads, head_dim: net.head_dim };
            let prefill = DeltaPrefill::resolve(find.set, shape);
            let decode = DeltaDecode::resolve(find.set, shape);
            Ok::<_, Error>((
                find.accept(Part::PrefillAttention, prefill, DeltaPrefill::class)?,
                find.accept(Part::DecodeAttention, decode, DeltaDecode::class)?,
            ))
        };
        Ok(StepDelta { kernels: [kernels(DeltaKernel::Conv)?, kernels(DeltaKernel::Rule)?] })
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests, of the delta rule.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        let [_, (prefill, decode)] = &self.kernels;
        [prefill.errors(), decode.errors()]
    }

    /// Returns the time of prompt chunks, at least one, that run in one kernel.
    ///
    /// A chunk is like a whole prompt of its new tokens, as the state stands for its context. Chunks that differ are
    /// like equal prompts of their mean length, weighted by tokens (`Transferred`).
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        let [conv, rule] = self.prefill_kernels(chunks);
        conv.plus(rule)
    }

    /// Returns the time of each kernel of prompt chunks.
    #[inline]
    pub(super) fn prefill_kernels(&self, chunks: &[Chunk]) -> [KernelTime; 2] {
        let (mut tokens, mut squares, mut longest) = (0_u64, 0_u128, 0);
        for chunk in chunks {
            let new = u64::from(chunk.new);
            tokens = tokens.saturating_add(new);
            squares = squares.saturating_add(u128::from(new).saturating_pow(2));
            longest = chunk.new.max(longest);
        }
        let whole = chunks.iter().all(|chunk| chunk.new == longest && chunk.context() == 0);
        let (count, tokens) = (chunks.len() as f64, tokens as f64);
        let length = squares as f64 / tokens;
        self.kernels.each_ref().map(|(kernel, _)| {
            let answer = kernel.at_mean(tokens / length, length);
            let class = if whole { Class::Measured } else { Class::Transferred };
            let work = kernel.work(count, tokens / count);
            KernelTime::of(answer.at_best(class), &work, kernel.reference())
        })
    }

    /// Returns the kernels of prompt chunks.
    pub(super) fn prefill_launches(&self, chunks: &[Chunk]) -> [Launch; 2] {
        let tokens: f64 = chunks.iter().map(|chunk| f64::from(chunk.new)).sum();
        let count = chunks.len() as f64;
        self.kernels.each_ref().map(|(kernel, _)| {
            Launch::new(OperationKind::DeltaPrefill, kernel.shape(), kernel.work(count, tokens / count))
        })
    }

    /// Returns the time of decoding requests, at least one, whose KV lengths have no effect.
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        let [conv, rule] = self.decode_kernels(sums);
        conv.plus(rule)
    }

    /// Returns the time of each kernel of decoding requests.
    #[inline]
    pub(super) fn decode_kernels(&self, sums: &BatchSums) -> [KernelTime; 2] {
        // Each drafted token updates a state of its own, as a request would; no such kernel was measured.
        let [requests, queries, _] = sums.decode();
        let best = if queries > requests { Class::Transferred } else { Class::Measured };
        self.kernels
            .each_ref()
            .map(|(_, kernel)| cold(kernel.at_mean(queries).at_best(best), &kernel.work(queries), kernel.reference()))
    }

    /// Returns the kernels of decoding requests.
    pub(super) fn decode_launches(&self, sums: &BatchSums) -> [Launch; 2] {
        let [_, queries, _] = sums.decode();
        self.kernels
            .each_ref()
            .map(|(_, kernel)| Launch::new(OperationKind::DeltaDecode, kernel.shape(), kernel.work(queries)))
    }
}

/// Returns a kernel whose states come from memory, because all other layers run between two of a layer: its row, or its
/// bytes at the rate of cold reads if they take longer (`Transferred`). Benchmarks find small states in L2.
fn cold(answer: Estimate, work: &Work, reference: &Reference) -> KernelTime {
    let reads_s = work.bytes * reference.rates.s_per_byte / COLD_READ_SHARE;
    let more_s = reads_s - answer.time.0;
    let answer = if more_s > 0.0 { answer.longer_by(more_s).at_best(Class::Transferred) } else { answer };
    KernelTime::of(answer, work, reference)
}
