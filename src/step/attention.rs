//! Attention inside a step.

use super::batch::BatchSums;
use super::decode::StepDecode;
use super::finder::Finder;
use super::kernel_time::KernelTime;
#[cfg(feature = "alloc")]
use super::launch::Launch;
use super::{Chunk, Part};
use crate::error::Error;
use crate::hardware::AttentionShape;
#[cfg(feature = "alloc")]
use crate::hardware::OperationKind;
use crate::model::Span;
use crate::op::{ChunkSums, DecodeAttention, PrefillAttention};
use crate::table::{Class, ErrorGroup};
#[cfg(feature = "alloc")]
use crate::units::Seconds;

/// Attention of a layer in tables without windows, of prompt chunks and of decoding requests.
#[derive(Debug, Clone)]
pub(super) struct StepAttention {
    prefill: PrefillAttention,
    decode: StepDecode,
    span: Span,
    /// Best class of an answer.
    at_best: Class,
    #[cfg(feature = "alloc")]
    shape: AttentionShape,
}

impl StepAttention {
    /// Looks up attention of this shape over these tokens.
    ///
    /// Within a window, rows without one answer as for the keys in the window. Kernels with a window take longer, so
    /// that is a bound.
    ///
    /// # Errors
    /// The set lacks the operation or format, or a kernel is worse than the caller accepts.
    pub(super) fn resolve(find: &Finder<'_>, shape: AttentionShape, span: Span) -> Result<StepAttention, Error> {
        let at_best = match span {
            Span::Window(_) => Class::Bound,
            Span::Full | Span::Chunk(_) => Class::Measured,
        };
        let prefill = PrefillAttention::resolve(find.set, shape);
        let class = |prefill: &PrefillAttention| prefill.class().max(at_best);
        let prefill = find.accept(Part::PrefillAttention, prefill, class)?;
        let decode =
            DecodeAttention::resolve(find.set, shape).map(|decode| find.decode(&decode.rows()).at_best(at_best));
        let decode = find.accept(Part::DecodeAttention, decode, StepDecode::class)?;
        Ok(StepAttention {
            prefill,
            decode,
            span,
            at_best,
            #[cfg(feature = "alloc")]
            shape: shape.local(),
        })
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        [self.prefill.errors(), self.decode.errors]
    }

    /// Returns attention of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        let sums = self.sums(chunks);
        let answer = self.prefill.at_chunks(&sums).at_best(self.at_best);
        KernelTime::of(answer, &self.prefill.work(&sums), self.prefill.reference())
    }

    #[inline]
    fn sums(&self, chunks: &[Chunk]) -> ChunkSums {
        let mut sums = ChunkSums::default();
        for chunk in chunks {
            match self.span {
                Span::Full => sums.add(chunk.new, chunk.context()),
                limited => add(&mut sums, chunk, limited),
            }
        }
        sums
    }

    /// Returns the kernel of prompt chunks.
    #[cfg(feature = "alloc")]
    pub(super) fn prefill_launch(&self, chunks: &[Chunk]) -> Launch {
        Launch::new(OperationKind::Prefill, self.shape, self.prefill.work(&self.sums(chunks)))
    }

    /// Returns the kernel of decoding requests.
    #[cfg(feature = "alloc")]
    pub(super) fn decode_launch(&self, sums: &BatchSums) -> Launch {
        let [requests, queries, kv_tokens] = sums.within(self.span);
        Launch::new(OperationKind::Decode, self.shape, self.decode.work(requests, queries, kv_tokens))
    }

    /// Returns attention of decoding requests, at least one.
    #[inline]
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        let [requests, queries, kv_tokens] = sums.within(self.span);
        self.decode.at(requests, queries, kv_tokens)
    }

    /// Returns the time of [`decode`](Self::decode), which does not compute the rest.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) fn decode_time(&self, sums: &BatchSums) -> Seconds {
        let [requests, queries, kv_tokens] = sums.within(self.span);
        self.decode.time(requests, queries, kv_tokens)
    }
}

/// Adds a chunk of a prompt as chunks with the same FLOPs that attend to all tokens of their context.
///
/// A token beyond the window attends to as many keys as the middle one of a piece that is as long as the window and has
/// half of one as its context. Chunks of fixed length are prompts of their own, as in vLLM.
fn add(sums: &mut ChunkSums, chunk: &Chunk, span: Span) {
    let (new, context) = (chunk.new, chunk.context());
    match span {
        Span::Full => sums.add(new, context),
        Span::Window(window) => {
            let window = window.max(1);
            let growing = new.min(window.saturating_sub(context));
            sums.add(growing, context);
            let rest = new - growing;
            sums.add_times(rest / window, window, window / 2);
            let last = rest % window;
            sums.add(last, window - last.div_ceil(2));
        }
        Span::Chunk(length) => {
            let length = length.max(1);
            let context = context % length;
            let first = new.min(length - context);
            sums.add(first, context);
            let rest = new - first;
            sums.add_times(rest / length, length, 0);
            sums.add(rest % length, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_beyond_its_window_is_cut_into_pieces_of_the_same_length() {
        let chunk = Chunk::last(25, 29).expect("a chunk");
        for (span, pieces) in [
            (Span::Full, &[(25, 4)][..]),
            // 6 tokens fill the window; of those after them, each attends to 10 keys.
            (Span::Window(10), &[(6, 4), (10, 5), (9, 5)]),
            (Span::Chunk(10), &[(6, 4), (10, 0), (9, 0)]),
        ] {
            let (mut found, mut expected) = (ChunkSums::default(), ChunkSums::default());
            add(&mut found, &chunk, span);
            for &(new, context) in pieces {
                expected.add(new, context);
            }
            assert_eq!(found, expected, "{span:?}");
        }
    }
}
