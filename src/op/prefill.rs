//! Prefill attention: new tokens of one or more prompts over themselves and their context.

use rooflut_roofline::PrefillPace;

use super::attention::{self, nearest_four};
use super::blend::{MAX_NEIGHBOURS, Neighbour};
use super::estimate::Estimate;
use super::found::{Found, found_answers};
use crate::constants::{COLD_READ_SHARE, SHORT_PROMPT_EXPONENT};
use crate::error::ResolveError;
use crate::hardware::{AttentionShape, Indexer, OperationKind, Prompts, RankAttention, Reference, Work};
use crate::math::{exp_short, ln_of_normal, sqrt};
use crate::table::{Class, ErrorGroup, Grid, Held, KernelTable, Position, Reading, Table, TableSet};

/// Resolved prefill attention.
///
/// ```
/// use rooflut::hardware::{AttentionShape, Dtype};
/// use rooflut::op::{ChunkSums, PrefillAttention};
/// use rooflut::table::{Class, sets};
///
/// let shape = AttentionShape {
///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 1,
/// };
/// let attention = PrefillAttention::resolve(&sets::H100, shape)?;
/// assert_eq!(attention.at(1, 2048).provenance, Class::Measured.inside());
/// // The second half of a prompt, in the same kernel as a short one: no measurement has this mixture.
/// let mut chunks = ChunkSums::default();
/// chunks.add(1024, 1024);
/// chunks.add(100, 0);
/// assert_eq!(attention.at_chunks(&chunks).provenance, Class::Transferred.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrefillAttention {
    found: Found<AttentionShape>,
    kernel: RankAttention,
    pace: PrefillPace,
    /// Whether the grid was measured on the shape that one rank computes, at any tp.
    exact: bool,
    /// The measured shapes that answer for one that was not measured.
    blended: [Option<(Neighbour<AttentionShape>, Held)>; MAX_NEIGHBOURS],
}

found_answers!(PrefillAttention);

/// Prompt chunks that run in one kernel, as sums. The result does not depend on their order, to the last bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkSums {
    new: u64,
    context: u64,
    /// Sum of n (n + 2 c): the square of the length of a whole prompt with the same FLOPs.
    squares: u128,
    /// Sum of the cubes of these lengths, in units of `1 / CUBE_UNIT`, because they are not whole numbers.
    cubes: u128,
    /// Largest n (n + 2 c).
    largest_square: u128,
    /// Smallest n, 0 before the first chunk.
    shortest: u64,
    /// The indexer that selects the keys of queries, if there is one.
    indexer: Option<Indexer>,
    /// Sum of [`Indexer::squares`] of the new tokens.
    selected: u128,
}

/// Resolution of the cubes. A sum of integers does not depend on their order, a sum of `f64` does.
const CUBE_UNIT: u128 = 1 << 20;

/// Relative error of [`ChunkSums::batch`] that results from this resolution.
const BATCH_ROUNDING: f64 = 1e-6;

impl ChunkSums {
    /// Returns sums without chunks, which also count the keys that an indexer selects.
    #[cfg(feature = "alloc")]
    pub(super) fn selecting(indexer: Option<Indexer>) -> ChunkSums {
        ChunkSums { indexer, ..ChunkSums::default() }
    }

    /// Adds a chunk of `new` tokens after `context` cached ones; an empty chunk has no effect.
    pub fn add(&mut self, new: u32, context: u32) {
        if new == 0 {
            return;
        }
        let (n, c) = (u64::from(new), u64::from(context));
        let square = u128::from(n) * u128::from(n + 2 * c);
        let length = square as f64;
        let cube = if c == 0 {
            square * u128::from(n) * CUBE_UNIT
        } else {
            (length * sqrt(length) * CUBE_UNIT as f64) as u128
        };
        self.new = self.new.saturating_add(n);
        self.context = self.context.saturating_add(c);
        self.squares = self.squares.saturating_add(square);
        self.cubes = self.cubes.saturating_add(cube);
        self.largest_square = self.largest_square.max(square);
        if let Some(indexer) = &self.indexer {
            let selected = indexer.squares(c + n) - indexer.squares(c);
            self.selected = self.selected.saturating_add(selected);
        }
        self.shortest = match self.shortest {
            0 => n,
            shortest => shortest.min(n),
        };
    }

    /// Adds `times` equal chunks.
    pub(crate) fn add_times(&mut self, times: u32, new: u32, context: u32) {
        if times == 0 || new == 0 {
            return;
        }
        let mut one = ChunkSums { indexer: self.indexer, ..ChunkSums::default() };
        one.add(new, context);
        let (few, many) = (u64::from(times), u128::from(times));
        self.new = self.new.saturating_add(few * one.new);
        self.context = self.context.saturating_add(few * one.context);
        self.squares = self.squares.saturating_add(many * one.squares);
        self.cubes = self.cubes.saturating_add(one.cubes.saturating_mul(many));
        self.largest_square = self.largest_square.max(one.largest_square);
        self.selected = self.selected.saturating_add(one.selected.saturating_mul(many));
        self.shortest = match self.shortest {
            0 => one.shortest,
            shortest => shortest.min(one.shortest),
        };
    }

    /// Returns whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.shortest == 0
    }

    /// Returns the length of the equivalent whole prompts: the mean weighted by FLOPs.
    pub(super) fn length(&self) -> f64 {
        self.cubes as f64 / CUBE_UNIT as f64 / self.squares as f64
    }

    /// Returns the number of prompts of that length with the same FLOPs.
    fn batch(&self) -> f64 {
        let length = self.length();
        (self.squares as f64 / (length * length)).max(1.0)
    }

    /// Returns [`batch`](Self::batch) without rounding errors.
    pub(super) fn row(&self) -> f64 {
        let batch = self.batch();
        let nearest = (batch + 0.5) as u64 as f64;
        let rounds = (batch - nearest).abs() <= BATCH_ROUNDING * nearest;
        if rounds { nearest } else { batch }
    }

    /// Returns whether all chunks are whole prompts of one length, as in benchmarks.
    pub(super) fn is_uniform(&self) -> bool {
        // Context makes the largest square exceed the square of the new tokens.
        self.largest_square == u128::from(self.shortest).pow(2)
    }

    /// Returns twice the pairs of queries and keys that `indexer` selects. Sums that were made for another layer have at
    /// most all pairs, and `top_k` for each token.
    #[cfg(feature = "alloc")]
    pub(super) fn selected_squares(&self, indexer: Option<Indexer>) -> f64 {
        match indexer {
            Some(indexer) if self.indexer != Some(indexer) => {
                let most = 2.0 * self.new as f64 * f64::from(indexer.top_k);
                most.min(self.squares as f64)
            }
            _ => self.selected as f64,
        }
    }

    pub(super) fn prompts(&self) -> Prompts {
        Prompts { new: self.new as f64, context: self.context as f64, squares: self.squares as f64 }
    }
}

impl TableSet {
    /// Returns prefill attention by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn prefill(&self) -> Option<KernelTable<'_, AttentionShape, Grid<'_>>> {
        self.table(OperationKind::Prefill).map(Table::typed)
    }
}

impl PrefillAttention {
    /// Looks up the requested shape (global heads with tp) in `set`, or the shape that one rank computes, or else takes
    /// the mean efficiency of the four nearest measured ones, weighted by the inverse of the squared distance in
    /// logarithms of KV heads and query heads (`Transferred`).
    ///
    /// If a set has no rows of the KV format, rows with KV entries in the format of the math answer (`Transferred`): K
    /// and V of new tokens have the format of the math in any case, and only the context is read as stored.
    ///
    /// # Errors
    /// The set has no prefill table or none in the format of the math, a dimension is zero, or heads are not
    /// divisible.
    pub fn resolve(set: &TableSet, shape: AttentionShape) -> Result<PrefillAttention, ResolveError> {
        let find = |shape| attention::find(set, OperationKind::Prefill, shape);
        let found = find(shape).or_else(|error| match error {
            ResolveError::NoAttentionDtype { .. } => {
                let kv_dtype = shape.dtype;
                let found = find(AttentionShape { kv_dtype, ..shape })?;
                let class = found.class.max(Class::Transferred);
                Ok(Found { class, ..found })
            }
            other => Err(other),
        })?;
        let kernel = shape.on_rank();
        let mut like = AttentionShape { kv_dtype: found.matched.kv_dtype, ..shape };
        let exact = found.matched.local() == like.local();
        let mut blended = [const { None }; MAX_NEIGHBOURS];
        if let Some(table) = set.prefill().filter(|_| !exact) {
            like.head_dim = found.matched.head_dim;
            let nearest = nearest_four(table, &like);
            blended = nearest.map(|slot| {
                slot.map(|(entry, share)| {
                    let shape = entry.shape;
                    (Neighbour { shape, share }, table.hold(&entry))
                })
            });
        }
        Ok(PrefillAttention { pace: kernel.prefill_pace(&found.reference), found, kernel, exact, blended })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1.
    ///
    /// Between measured points the efficiency is interpolated in logarithms, and above them it is held. Below the
    /// shortest prompt, the time above the floor scales with the length to the power of 1.3.
    #[inline] // 30 instructions of 354.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        let (batch, length) = (f64::from(batch.max(1)), f64::from(seq_len.max(1)));
        self.whole(batch, batch, length)
    }

    /// Returns the time of chunks that run in one kernel.
    ///
    /// A chunk of n tokens after c cached ones is equivalent to a whole prompt of `sqrt(n (n + 2 c))` tokens, which has
    /// the same FLOPs; several chunks are equivalent to equal prompts of their FLOP-weighted mean length. Bytes that
    /// the chunks move beyond the bytes of the equivalent prompts (mainly context) are added. Launch time counts once.
    /// Neither context nor mixtures were measured, so both are `Transferred`.
    pub fn at_chunks(&self, chunks: &ChunkSums) -> Estimate {
        if chunks.is_empty() {
            return self.at(1, 1);
        }
        let (batch, length) = (chunks.batch(), chunks.length());
        let whole = self.whole(batch, chunks.row(), length);
        if chunks.is_uniform() {
            return whole;
        }
        let bytes = |prompts| self.kernel.prefill_work(prompts).bytes;
        let more = bytes(&chunks.prompts()) - bytes(&Prompts::equal(batch, length));
        let reads = more.max(0.0) * self.reference().rates.s_per_byte / COLD_READ_SHARE;
        whole.longer_by(reads).at_best(Class::Transferred)
    }

    /// Returns the work of one rank for chunks that run in one kernel.
    pub(crate) fn work(&self, chunks: &ChunkSums) -> Work {
        self.kernel.prefill_work(&chunks.prompts())
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the time of `batch` whole prompts with the efficiency of `row` prompts, which is `batch` without
    /// rounding errors.
    #[inline]
    fn whole(&self, batch: f64, row: f64, length: f64) -> Estimate {
        let grid = self.grid();
        let column = grid.length().locate_from_1(length);
        let reading =
            if self.exact { grid.read(grid.batch().locate_from_1(row), column) } else { self.blend(row, length) };
        let slowdown = exp_short(reading.ln_slowdown);
        let held = |length| self.pace.reference_s(batch, length) * slowdown;
        let seconds = if column.position == Position::Below { self.below(length, held) } else { held(length) };
        let at_peak = self.pace.at_peak_s(batch, length);
        self.found.answer(reading, seconds, at_peak)
    }

    /// Returns the weighted mean of the slowdowns of the measured shapes.
    #[inline(never)] // Keeps the code that reads one grid short.
    fn blend(&self, batch: f64, length: f64) -> Reading {
        let mut mean = Reading { latency_us: None, ln_slowdown: 0.0, provenance: Class::Transferred.inside() };
        for (neighbour, held) in self.blended.iter().flatten() {
            let grid = held.grid();
            let row = grid.batch().locate_from_1(batch);
            let reading = grid.read(row, grid.length().locate_from_1(length));
            mean.ln_slowdown += neighbour.share * reading.ln_slowdown;
            mean.provenance = mean.provenance.worst(reading.provenance);
        }
        mean
    }

    /// Returns the time of prompts shorter than any measured, where `held` gives the time with the efficiency held as
    /// a function of the length.
    #[cold]
    fn below(&self, length: f64, held: impl Fn(f64) -> f64) -> f64 {
        let (shortest, _) = self.grid().length().range().unwrap_or((1, 1));
        let shortest = f64::from(shortest);
        let edge = held(shortest);
        let floor = self.found.floor_s.min(edge);
        let shrinks = exp_short(SHORT_PROMPT_EXPONENT * ln_of_normal(length / shortest));
        floor + (edge - floor) * shrinks
    }

    /// Returns the matched measured shapes with their shares.
    pub fn matched(&self) -> impl Iterator<Item = Neighbour<AttentionShape>> + '_ {
        let exact = self.exact.then_some(Neighbour { shape: self.found.matched, share: 1.0 });
        let blended = self.blended.iter().flatten();
        exact.into_iter().chain(blended.map(|(neighbour, _)| *neighbour))
    }

    /// Returns the points of the nearest measured shape.
    #[inline]
    pub fn grid(&self) -> Grid<'_> {
        self.found.points.grid()
    }
}
