//! Attention within a window of keys inside a step.

use super::batch::BatchSums;
use super::decode::StepDecode;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::{Chunk, Part};
use crate::error::Error;
use crate::hardware::{AttentionShape, OperationKind, WindowShape};
use crate::math::larger;
use crate::model::Span;
use crate::op::{Estimate, WindowChunks, WindowDecode, WindowPrefill};
use crate::table::ErrorGroup;
use crate::units::Seconds;

/// Attention of a layer of a model with windows, in tables with windows: of prompt chunks and of decoding requests.
#[derive(Debug, Clone)]
pub(super) struct StepWindow {
    prefill: WindowPrefill,
    decode: StepDecode,
    /// The benchmark of decoding requests, which finds the cache in L2.
    hot: WindowDecode,
    span: Span,
}

impl StepWindow {
    /// Looks up attention of this shape in tables with windows; `None` if they do not have its heads.
    ///
    /// # Errors
    /// A kernel is worse than the caller accepts.
    pub(super) fn resolve(find: &Finder<'_>, shape: AttentionShape, span: Span) -> Result<Option<StepWindow>, Error> {
        let AttentionShape { dtype, kv_dtype, q_heads, kv_heads, head_dim, .. } = shape.local();
        let limited = WindowShape {
            dtype,
            kv_dtype,
            q_heads,
            kv_heads,
            head_dim,
            window: match span {
                Span::Window(tokens) => tokens,
                Span::Full | Span::Chunk(_) => 0,
            },
        };
        let full = WindowShape { window: 0, ..limited };
        let is_like = |window| (window > 0) == (limited.window > 0);
        let prefill = WindowPrefill::resolve(find.set, limited).ok();
        let hot = WindowDecode::resolve(find.set, limited).ok();
        let (Some(prefill), Some(hot)) = (
            prefill.filter(|prefill| is_like(prefill.matched().window)),
            hot.filter(|hot| is_like(hot.matched().window)),
        ) else {
            return Ok(None);
        };
        let prefill = find.accept(Part::PrefillAttention, Ok(prefill), WindowPrefill::class)?;
        // Windows are too small to show the rate at which the cache is read.
        let full = WindowDecode::resolve(find.set, full).ok().filter(|full| full.matched().window == 0);
        let decode = find.decode(&full.as_ref().unwrap_or(&hot).rows());
        let decode = Ok(decode.at_best(hot.class()));
        Ok(Some(StepWindow {
            prefill,
            decode: find.accept(Part::DecodeAttention, decode, StepDecode::class)?,
            hot,
            span,
        }))
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        [self.prefill.errors(), self.decode.errors]
    }

    /// Returns attention of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        let sums = self.sums(chunks);
        let answer = self.prefill.at_chunks(&sums);
        KernelTime::of(answer, &self.prefill.work(&sums), self.prefill.reference())
    }

    fn sums(&self, chunks: &[Chunk]) -> WindowChunks {
        let mut sums = self.prefill.chunks();
        for chunk in chunks {
            sums.add(chunk.new, chunk.context());
        }
        sums
    }

    /// Returns the kernel of prompt chunks.
    pub(super) fn prefill_launch(&self, chunks: &[Chunk]) -> Launch {
        let work = self.prefill.work(&self.sums(chunks));
        Launch::new(OperationKind::WindowPrefill, self.prefill.shape(), work)
    }

    /// Returns the kernel of decoding requests.
    pub(super) fn decode_launch(&self, sums: &BatchSums) -> Launch {
        let [requests, queries, inside] = sums.within(self.span);
        let work = self.decode.work(requests, queries, inside);
        Launch::new(OperationKind::WindowDecode, self.prefill.shape(), work)
    }

    /// Returns attention of decoding requests, at least one. A kernel with a window takes longer than its reads: at
    /// least the time of its benchmark.
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        let [requests, queries, inside] = sums.within(self.span);
        let once = self.decode.at(requests, queries, inside);
        match self.span {
            Span::Full => once,
            Span::Window(tokens) | Span::Chunk(tokens) => once.at_least(self.hot(sums, inside, tokens)),
        }
    }

    /// Returns the time of [`decode`](Self::decode), which does not compute the rest.
    pub(super) fn decode_time(&self, sums: &BatchSums) -> Seconds {
        let [requests, queries, inside] = sums.within(self.span);
        let once = self.decode.time(requests, queries, inside);
        match self.span {
            Span::Full => once,
            Span::Window(tokens) | Span::Chunk(tokens) => once.max(self.hot(sums, inside, tokens).time),
        }
    }

    /// Returns the time of the benchmark with a window of so many `tokens`, of which `inside` are read.
    #[inline]
    fn hot(&self, sums: &BatchSums, inside: f64, tokens: u32) -> Estimate {
        let [requests, _, all] = sums.decode();
        let mean = (all / requests) as u32;
        if inside < all {
            // As many requests whose windows are full.
            let full = larger(inside / f64::from(tokens), 1.0) as u32;
            self.hot.beyond(full, mean)
        } else {
            self.hot.at(sums.requests as u32, mean)
        }
    }
}
