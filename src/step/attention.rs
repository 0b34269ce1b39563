//! Attention inside a step.

use super::batch::BatchSums;
use super::decode::StepDecode;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::{Chunk, ModelError, Part};
use crate::hardware::AttentionShape;
#[cfg(feature = "window")]
use crate::hardware::WindowShape;
#[cfg(feature = "window")]
use crate::math::larger;
use crate::model::Span;
use crate::op::{ChunkSums, DecodeAttention, PrefillAttention};
#[cfg(feature = "window")]
use crate::op::{Estimate, WindowDecode, WindowPrefill};
use crate::table::{Class, ErrorGroup};
#[cfg(any(feature = "alloc", feature = "data-parallel"))]
use crate::units::Seconds;

/// Attention of a layer, of prompt chunks and of decoding requests.
#[derive(Debug, Clone)]
pub(super) struct StepAttention {
    kernels: AttentionKernels,
    decode: StepDecode,
    span: Span,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // No box: a model lives without allocation.
enum AttentionKernels {
    /// Rows without a window answer, with this class at best.
    Plain(PrefillAttention, Class),
    #[cfg(feature = "window")]
    Window(WindowPrefill, WindowDecode),
}

impl StepAttention {
    /// Looks up attention of this shape over these tokens.
    ///
    /// A model with windows or gated delta nets takes the rows of tables with windows; those for full attention too, if
    /// they have its heads. For heads that these tables lack, rows without a window answer as for the keys in the window. Kernels
    /// with a window take longer, so that is a bound.
    ///
    /// # Errors
    /// The set lacks the operation or format, the feature `window` is off and the layer has one, or a kernel is worse
    /// than the caller accepts.
    pub(super) fn resolve(
        find: &Finder<'_>,
        shape: AttentionShape,
        span: Span,
    ) -> Result<StepAttention, ModelError> {
        #[cfg(feature = "window")]
        if find.model.is_hybrid()
            && let Some(measured) = StepAttention::with_window(find, shape, span)?
        {
            return Ok(measured);
        }
        #[cfg(not(feature = "window"))]
        if let Span::Window(_) = span {
            return Err(ModelError::Kernel {
                part: Part::PrefillAttention,
                error: crate::error::ResolveError::NoTable {
                    set: find.set.clone(),
                    operation: crate::hardware::OperationKind::WindowPrefill.name(),
                },
            });
        }
        let at_best = match span {
            Span::Window(_) => Class::Bound,
            Span::Full | Span::Chunk(_) => Class::Measured,
        };
        let prefill = PrefillAttention::resolve(find.set, shape);
        let class = |prefill: &PrefillAttention| prefill.class().max(at_best);
        let prefill = find.accept(Part::PrefillAttention, prefill, class)?;
        let decode = DecodeAttention::resolve(find.set, shape);
        let decode = decode.map(|decode| find.decode(&decode.rows()).at_best(at_best));
        let decode = find.accept(Part::DecodeAttention, decode, StepDecode::class)?;
        Ok(StepAttention {
            kernels: AttentionKernels::Plain(prefill, at_best),
            decode,
            span,
        })
    }

    /// Looks up attention of this shape in tables with windows; `None` if they do not have its heads.
    #[cfg(feature = "window")]
    fn with_window(
        find: &Finder<'_>,
        shape: AttentionShape,
        span: Span,
    ) -> Result<Option<StepAttention>, ModelError> {
        let AttentionShape {
            dtype,
            kv_dtype,
            q_heads,
            kv_heads,
            head_dim,
            ..
        } = shape.local();
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
        let full = WindowShape {
            window: 0,
            ..limited
        };
        let is_like = |window| (window > 0) == (limited.window > 0);
        let prefill = WindowPrefill::resolve(find.set, limited).ok();
        let decode = WindowDecode::resolve(find.set, limited).ok();
        let (Some(prefill), Some(decode)) = (
            prefill.filter(|prefill| is_like(prefill.matched().window)),
            decode.filter(|decode| is_like(decode.matched().window)),
        ) else {
            return Ok(None);
        };
        let prefill = find.accept(Part::PrefillAttention, Ok(prefill), WindowPrefill::class)?;
        // Windows are too small to show the rate at which the cache is read.
        let full = WindowDecode::resolve(find.set, full).ok();
        let full = full.filter(|full| full.matched().window == 0);
        let cold = find.decode(&full.as_ref().unwrap_or(&decode).rows());
        let class = decode.class();
        let cold = find.accept(
            Part::DecodeAttention,
            Ok(cold.at_best(class)),
            StepDecode::class,
        )?;
        Ok(Some(StepAttention {
            kernels: AttentionKernels::Window(prefill, decode),
            decode: cold,
            span,
        }))
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        let prefill = match &self.kernels {
            AttentionKernels::Plain(prefill, _) => prefill.errors(),
            #[cfg(feature = "window")]
            AttentionKernels::Window(prefill, _) => prefill.errors(),
        };
        [prefill, self.decode.errors]
    }

    /// Returns attention of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        match &self.kernels {
            AttentionKernels::Plain(prefill, at_best) => {
                let mut sums = ChunkSums::default();
                for chunk in chunks {
                    match self.span {
                        Span::Full => sums.add(chunk.new, chunk.context()),
                        limited => add(&mut sums, chunk, limited),
                    }
                }
                let answer = prefill.at_chunks(&sums).at_best(*at_best);
                KernelTime::of(answer, &prefill.work(&sums), prefill.reference())
            }
            #[cfg(feature = "window")]
            AttentionKernels::Window(prefill, _) => prefill_with_window(prefill, chunks),
        }
    }

    /// Returns attention of decoding requests, at least one.
    #[inline]
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        match self.span {
            Span::Full => {
                let [requests, queries, kv_tokens] = sums.decode();
                self.decode.at(requests, queries, kv_tokens)
            }
            Span::Window(tokens) | Span::Chunk(tokens) => self.decode_inside(sums, tokens),
        }
    }

    /// Returns the time of [`decode`](Self::decode), which does not compute the rest.
    #[cfg(any(feature = "alloc", feature = "data-parallel"))]
    #[inline]
    pub(super) fn decode_time(&self, sums: &BatchSums) -> Seconds {
        match self.span {
            Span::Full => {
                let [requests, queries, kv_tokens] = sums.decode();
                self.decode.time(requests, queries, kv_tokens)
            }
            Span::Window(tokens) | Span::Chunk(tokens) => self.time_inside(sums, tokens),
        }
    }

    /// Returns attention of decoding requests over their tokens inside a window or chunk of so many `tokens`. A kernel
    /// with a window takes longer than its reads: at least the time of its benchmark, which finds the cache in L2.
    #[inline(never)] // Most models attend to all tokens.
    fn decode_inside(&self, sums: &BatchSums, tokens: u32) -> KernelTime {
        let [requests, queries, inside] = sums.inside(tokens);
        let once = self.decode.at(requests, queries, inside);
        #[cfg(feature = "window")]
        if let Some(hot) = self.hot(sums, inside, tokens) {
            return once.at_least(hot);
        }
        once
    }

    /// Returns the time of [`decode_inside`](Self::decode_inside), which does not compute the rest.
    #[cfg(any(feature = "alloc", feature = "data-parallel"))]
    #[inline(never)] // Most models attend to all tokens.
    fn time_inside(&self, sums: &BatchSums, tokens: u32) -> Seconds {
        let [requests, queries, inside] = sums.inside(tokens);
        let once = self.decode.time(requests, queries, inside);
        #[cfg(feature = "window")]
        if let Some(hot) = self.hot(sums, inside, tokens) {
            return once.max(hot.time);
        }
        once
    }

    /// Returns the time of the benchmark with a window of so many `tokens`, of which `inside` are read.
    #[cfg(feature = "window")]
    #[inline]
    fn hot(&self, sums: &BatchSums, inside: f64, tokens: u32) -> Option<Estimate> {
        let AttentionKernels::Window(_, table) = &self.kernels else {
            return None;
        };
        let [requests, _, all] = sums.decode();
        let mean = (all / requests) as u32;
        Some(if inside < all {
            // As many requests whose windows are full.
            table.beyond(larger(inside / f64::from(tokens), 1.0) as u32, mean)
        } else {
            table.at(sums.requests as u32, mean)
        })
    }
}

#[cfg(feature = "window")]
#[inline(never)] // Most models attend to all tokens.
fn prefill_with_window(prefill: &WindowPrefill, chunks: &[Chunk]) -> KernelTime {
    let mut sums = prefill.chunks();
    for chunk in chunks {
        sums.add(chunk.new, chunk.context());
    }
    let answer = prefill.at_chunks(&sums);
    KernelTime::of(answer, &prefill.work(&sums), prefill.reference())
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
