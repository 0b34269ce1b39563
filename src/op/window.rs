//! Attention within a window of keys.

use super::decode::DecodeRows;
use super::estimate::Estimate;
use super::found::{Found, found_answers};
use crate::constants::COLD_READ_SHARE;
use crate::error::ResolveError;
use crate::hardware::{AttentionShape, OperationKind, Prompts, RankAttention, Reference, WindowShape, Work};
use crate::math::{exp_short, ln, sqrt};
use crate::table::{Class, ErrorGroup, Grid, KernelTable, Table, TableSet};

/// Resolved prefill attention within a window.
///
/// ```
/// use rooflut::hardware::{Dtype, WindowShape};
/// use rooflut::op::WindowPrefill;
/// use rooflut::table::{Class, sets};
///
/// let shape = WindowShape {
///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 2, kv_heads: 1, head_dim: 256, window: 1024,
/// };
/// let attention = WindowPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(attention.at(1, 128).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct WindowPrefill {
    shape: WindowShape,
    found: Found<WindowShape>,
}

/// Resolved decode attention within a window.
///
/// ```
/// use rooflut::hardware::{Dtype, WindowShape};
/// use rooflut::op::WindowDecode;
/// use rooflut::table::{Class, sets};
///
/// let shape = WindowShape {
///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 2, kv_heads: 1, head_dim: 256, window: 1024,
/// };
/// let attention = WindowDecode::resolve(&sets::H100, shape)?;
/// assert_eq!(attention.at(1, 4096).provenance, Class::Measured.inside());
/// // No table has this window, so the nearest one with the same heads answers.
/// let wider = WindowDecode::resolve(&sets::H100, WindowShape { window: 2000, ..shape })?;
/// assert_eq!(wider.class(), Class::Transferred);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct WindowDecode {
    shape: WindowShape,
    found: Found<WindowShape>,
    /// The first measured length beyond the window; 0 if there is none.
    first_beyond: u32,
}

found_answers!(WindowPrefill, WindowDecode);

impl TableSet {
    /// Returns prefill attention within a window by shape over (prompts, prompt length), or `None` if the set has
    /// none.
    ///
    /// ```
    /// use rooflut::table::sets;
    /// let shapes = sets::H100.window_prefill().map_or(0, |table| table.len());
    /// assert!(shapes > 0);
    /// ```
    pub fn window_prefill(&self) -> Option<KernelTable<'_, WindowShape, Grid<'_>>> {
        self.table(OperationKind::WindowPrefill).map(Table::typed)
    }

    /// Returns decode attention within a window by shape over (requests, KV length), or `None` if the set has none.
    pub fn window_decode(&self) -> Option<KernelTable<'_, WindowShape, Grid<'_>>> {
        self.table(OperationKind::WindowDecode).map(Table::typed)
    }
}

impl WindowPrefill {
    /// Looks up the shape in `set`, or else the nearest window, in logarithms, with the same formats and heads
    /// (`Transferred`). No window counts as the widest. If a set has no rows of the KV format, rows with KV entries in
    /// the format of the math answer (`Transferred`).
    ///
    /// # Errors
    /// The set has no such table or none with these formats and heads, or the GPU has no peak for the dtype.
    pub fn resolve(set: &TableSet, shape: WindowShape) -> Result<WindowPrefill, ResolveError> {
        let found = find(set, OperationKind::WindowPrefill, shape)?;
        Ok(WindowPrefill { shape, found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured
    /// grid the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        self.whole(f64::from(batch.max(1)), f64::from(seq_len.max(1)))
    }

    /// Returns the time of chunks that run in one kernel.
    ///
    /// A chunk is equivalent to the whole prompt with as many pairs of queries and keys; several chunks are equivalent
    /// to equal prompts of their mean length, weighted by pairs. Bytes that the chunks move beyond those of the
    /// equivalent prompts are added. Neither context nor mixtures were measured, so both are `Transferred`.
    pub(crate) fn at_chunks(&self, chunks: &WindowChunks) -> Estimate {
        let (batch, length) = chunks.equivalent();
        let whole = self.whole(batch, length);
        if chunks.is_uniform() {
            return whole;
        }
        let more = self.work(chunks).bytes - self.shape.prefill_work(batch, length).bytes;
        let reads = more.max(0.0) * self.reference().rates.s_per_byte / COLD_READ_SHARE;
        whole.longer_by(reads).at_best(Class::Transferred)
    }

    /// Returns the time of `batch` whole prompts.
    fn whole(&self, batch: f64, length: f64) -> Estimate {
        let reference_s = (self.shape).prefill_reference_s(batch, length, self.reference());
        let flops = self.shape.prefill_work(batch, length).flops;
        answer(&self.found, batch, length, reference_s, flops)
    }

    /// Returns the requested shape.
    pub(crate) fn shape(&self) -> WindowShape {
        self.shape
    }

    /// Returns sums without chunks.
    pub(crate) fn chunks(&self) -> WindowChunks {
        WindowChunks::new(self.shape.window)
    }

    /// Returns the work of one rank for chunks that run in one kernel.
    pub(crate) fn work(&self, chunks: &WindowChunks) -> Work {
        kernel(&self.shape).prefill_work(&chunks.prompts())
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> WindowShape {
        self.found.matched
    }
}

/// Prompt chunks that run in one kernel within a window, as sums. The result does not depend on their order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowChunks {
    /// `u64::MAX` without a window.
    window: u64,
    count: u64,
    new: u64,
    /// Tokens of the context within the window of the first new token.
    context: u64,
    /// Pairs of a query and a key.
    pairs: u128,
    /// Sum of pairs x length of the equivalent prompt, in units of `1 / LENGTH_UNIT`.
    weighted: u128,
    /// Length of all prompts, if they are whole and equal.
    uniform: Option<u32>,
}

/// Resolution of lengths. A sum of integers does not depend on their order, a sum of `f64` does.
const LENGTH_UNIT: u128 = 1 << 20;

impl WindowChunks {
    fn new(window: u32) -> WindowChunks {
        WindowChunks {
            window: match window {
                0 => u64::MAX,
                window => window.into(),
            },
            count: 0,
            new: 0,
            context: 0,
            pairs: 0,
            weighted: 0,
            uniform: None,
        }
    }

    /// Adds a chunk of `new` tokens, at least one, after `context` cached ones.
    pub(crate) fn add(&mut self, new: u32, context: u32) {
        let (n, c) = (u64::from(new), u64::from(context));
        let pairs = self.pairs_of(c + n) - self.pairs_of(c);
        let length = match context {
            0 => u128::from(n) * LENGTH_UNIT,
            _ => (self.length_of(pairs) * LENGTH_UNIT as f64) as u128,
        };
        let whole = (context == 0).then_some(new);
        self.uniform = match self.count {
            0 => whole,
            _ => self.uniform.filter(|_| self.uniform == whole),
        };
        self.count += 1;
        self.new = self.new.saturating_add(n);
        self.context = self.context.saturating_add(c.min(self.window - 1));
        self.pairs = self.pairs.saturating_add(pairs);
        self.weighted = self.weighted.saturating_add(pairs.saturating_mul(length));
    }

    fn is_uniform(&self) -> bool {
        self.uniform.is_some()
    }

    /// Returns the pairs of a whole prompt.
    fn pairs_of(&self, length: u64) -> u128 {
        let keys = u128::from(length.min(self.window));
        keys * (keys + 1) / 2 + (u128::from(length) - keys) * keys
    }

    /// Returns the length of a whole prompt with so many pairs.
    fn length_of(&self, pairs: u128) -> f64 {
        let window = self.window as f64;
        let (pairs, triangle) = (pairs as f64, window * (window + 1.0) / 2.0);
        if pairs <= triangle { (sqrt(8.0 * pairs + 1.0) - 1.0) / 2.0 } else { window + (pairs - triangle) / window }
    }

    /// Returns the number and the length of equal whole prompts with as many pairs.
    fn equivalent(&self) -> (f64, f64) {
        if let Some(length) = self.uniform {
            return (self.count as f64, length.into());
        }
        let length = self.weighted as f64 / LENGTH_UNIT as f64 / self.pairs as f64;
        let length = length.max(1.0);
        let keys = length.min(self.window as f64);
        let each = keys * (keys + 1.0) / 2.0 + (length - keys) * keys;
        ((self.pairs as f64 / each).max(1.0), length)
    }

    fn prompts(&self) -> Prompts {
        Prompts { new: self.new as f64, context: self.context as f64, squares: 2.0 * self.pairs as f64 }
    }
}

/// Returns the kernel of one rank without the window.
fn kernel(shape: &WindowShape) -> RankAttention {
    AttentionShape {
        dtype: shape.dtype,
        kv_dtype: shape.kv_dtype,
        q_heads: shape.q_heads,
        kv_heads: shape.kv_heads,
        head_dim: shape.head_dim,
        tp: 1,
    }
    .on_rank()
}

impl WindowDecode {
    /// Looks up the shape in `set`, as [`WindowPrefill::resolve`].
    ///
    /// # Errors
    /// As [`WindowPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: WindowShape) -> Result<WindowDecode, ResolveError> {
        let found = find(set, OperationKind::WindowDecode, shape)?;
        let grid = found.points.grid();
        let mut lengths = grid.length().values().iter();
        let beyond = lengths.find(|length| **length > found.matched.window);
        Ok(WindowDecode { first_beyond: beyond.copied().unwrap_or(0), shape, found })
    }

    /// Returns the time of one token for each of `batch` requests of `kv_len` tokens, the new one included, as in the
    /// benchmark; zeros are treated as 1. Beyond the measured grid the efficiency is held.
    pub fn at(&self, batch: u32, kv_len: u32) -> Estimate {
        let (batch, length) = (f64::from(batch.max(1)), f64::from(kv_len.max(1)));
        let kernel = kernel(&self.shape);
        let kv_tokens = batch * self.shape.keys(length);
        let reference_s = kernel.decode_reference_s(batch, kv_tokens, &self.found.reference);
        let flops = kernel.decode_work(batch, kv_tokens).flops;
        answer(&self.found, batch, length, reference_s, flops)
    }

    /// Returns the time of `batch` requests whose windows are full: that of [`at`](Self::at), for lengths from the
    /// first one measured beyond the window. The time jumps at the window, where `at` interpolates.
    pub(crate) fn beyond(&self, batch: u32, kv_len: u32) -> Estimate {
        self.at(batch, kv_len.max(self.first_beyond))
    }

    /// Returns the rows that answer.
    pub(crate) fn rows(&self) -> DecodeRows<'_> {
        let found = &self.found;
        DecodeRows {
            grid: found.points.grid(),
            kernel: kernel(&self.shape),
            measured: kernel(&found.matched),
            window: found.matched.window,
            reference: &found.reference,
            floor_s: found.floor_s,
            class: found.class,
            errors: found.errors,
        }
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> WindowShape {
        self.found.matched
    }
}

fn find(set: &TableSet, operation: OperationKind, shape: WindowShape) -> Result<Found<WindowShape>, ResolveError> {
    let table = set.required(operation)?.typed::<WindowShape, Grid<'_>>();
    let nearest = |kv_dtype| {
        let apart = |other: &WindowShape| (ln_window(other) - ln_window(&shape)).abs();
        let has_same_heads = |other: &WindowShape| {
            let like = WindowShape { kv_dtype, window: other.window, ..shape };
            *other == like
        };
        let entries = table.entries().filter(|entry| has_same_heads(&entry.shape));
        entries.min_by(|a, b| apart(&a.shape).total_cmp(&apart(&b.shape)))
    };
    let entry =
        table.find(&shape).or_else(|| nearest(shape.kv_dtype)).or_else(|| nearest(shape.dtype)).ok_or_else(|| {
            ResolveError::NoHeads {
                set: set.clone(),
                operation: operation.name(),
                q_heads: shape.q_heads,
                kv_heads: shape.kv_heads,
                head_dim: shape.head_dim,
            }
        })?;
    let class = if entry.shape == shape { Class::Measured } else { Class::Transferred };
    Found::try_new(set, table, &entry, shape.dtype, class)
}

/// Returns the time of a kernel that takes `reference_s` seconds at the roofline.
fn answer(found: &Found<WindowShape>, batch: f64, length: f64, reference_s: f64, flops: f64) -> Estimate {
    let grid = found.points.grid();
    let row = grid.batch().locate_from_1(batch);
    let reading = grid.read(row, grid.length().locate_from_1(length));
    let seconds = reference_s * exp_short(reading.ln_slowdown);
    found.answer(reading, seconds, flops * found.reference.rates.s_per_flop)
}

/// Returns the logarithm of a window; no window counts as the widest.
fn ln_window(shape: &WindowShape) -> f64 {
    match shape.window {
        0 => ln(f64::from(u32::MAX)),
        window => ln(f64::from(window)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_as_long_as_its_pairs_say() {
        for window in [1, 2, 128, 0] {
            let chunks = WindowChunks::new(window);
            for length in [1, 2, 64, 127, 128, 129, 1_000, 100_000] {
                let found = chunks.length_of(chunks.pairs_of(length));
                assert!((found - length as f64).abs() < 1e-6 * length as f64, "{window}, {length}: {found}");
            }
        }
    }
}
