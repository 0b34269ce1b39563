//! Decode attention: one new token per request over its KV cache.

use super::attention;
use super::estimate::Estimate;
use super::found::{Found, found_answers};
use crate::error::ResolveError;
use crate::hardware::{AttentionShape, OperationKind, RankAttention, Reference};
use crate::math::{exp_short, larger, sqrt};
use crate::table::{Class, ErrorGroup, Grid, KernelTable, Position, Table, TableSet};

/// Resolved decode attention.
///
/// ```
/// use rooflut::hardware::{AttentionShape, Dtype};
/// use rooflut::op::DecodeAttention;
/// use rooflut::table::{Class, sets};
///
/// // Llama-3.1-70B on four GPUs: 64 query and 8 KV heads, 16 and 2 on each.
/// let shape = AttentionShape {
///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 64, kv_heads: 8, head_dim: 128, tp: 4,
/// };
/// let attention = DecodeAttention::resolve(&sets::H100, shape)?;
/// // 16 requests with 1,000 tokens each.
/// let answer = attention.at(16, 16_000);
/// assert_eq!(answer.provenance, Class::Interpolated.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DecodeAttention {
    found: Found<AttentionShape>,
    kernel: RankAttention,
    /// KV heads of one rank over those of the rows.
    kv_heads_ratio: f64,
}

found_answers!(DecodeAttention);

/// Measured rows of decode attention that answer for a shape.
#[derive(Debug)]
pub(crate) struct DecodeRows<'t> {
    pub(crate) grid: Grid<'t>,
    /// The kernel of one rank.
    pub(crate) kernel: RankAttention,
    /// The kernel of the rows.
    pub(crate) measured: RankAttention,
    /// The window of the rows; 0 without one.
    pub(crate) window: u32,
    pub(crate) reference: &'t Reference,
    /// Time of the smallest call, seconds.
    pub(crate) floor_s: f64,
    /// Best class that an answer can have.
    pub(crate) class: Class,
    pub(crate) errors: ErrorGroup,
}

impl TableSet {
    /// Returns decode attention by shape over (requests, KV length), or `None` if the set has none.
    pub fn decode(&self) -> Option<KernelTable<'_, AttentionShape, Grid<'_>>> {
        self.table(OperationKind::Decode).map(Table::typed)
    }
}

impl DecodeAttention {
    /// Looks up the requested shape (global heads with tp) in `set`, or the shape that one rank computes, or else the
    /// nearest measured shape by head dimension, then KV heads, then query heads (`Transferred`). Kernels of GPUs that
    /// split KV entries only where query heads share a KV head answer for such shapes or for others.
    ///
    /// # Errors
    /// The set has no decode table or none with these formats, or a dimension is zero.
    pub fn resolve(set: &TableSet, shape: AttentionShape) -> Result<DecodeAttention, ResolveError> {
        let found = attention::find(set, OperationKind::Decode, shape)?;
        let kv_heads = |shape: AttentionShape| f64::from(shape.local().kv_heads);
        Ok(DecodeAttention {
            kv_heads_ratio: kv_heads(shape) / kv_heads(found.matched),
            found,
            kernel: shape.on_rank(),
        })
    }

    /// Returns the time of one token for each of `requests`, whose KV lengths, new tokens included, add up to
    /// `kv_tokens`. This is the time of the benchmark, with KV entries in the L2 cache if they fit. 0 requests are
    /// treated as 1, and fewer KV tokens than requests as one each.
    ///
    /// The cost depends on the sum of the lengths, so the mean length represents all requests. Rows of other KV heads
    /// answer by the total number of KV heads of all requests, because each head is separate work. Above the measured
    /// grid the efficiency is held; below the shortest length, the answer is the geometric mean of the time with held
    /// efficiency and `floor + (edge - floor) x bytes / bytes at the edge`, where the floor is the smallest call plus
    /// the waves.
    #[inline] // 31 ns instead of 46 in benches/lookup.rs.
    pub fn at(&self, requests: u32, kv_tokens: u64) -> Estimate {
        let requests = f64::from(requests.max(1));
        let kv_tokens = larger(kv_tokens as f64, requests);
        let Found { points, reference, .. } = &self.found;
        let kernel = &self.kernel;
        let grid = points.grid();
        let length = grid.length().locate_from_1(kv_tokens / requests);
        let batch = larger(requests * self.kv_heads_ratio, 1.0);
        let reading = grid.read(grid.batch().locate_from_1(batch), length);
        let slowdown = exp_short(reading.ln_slowdown);
        let held = |kv_tokens| kernel.decode_reference_s(requests, kv_tokens, reference) * slowdown;
        let mut seconds = held(kv_tokens);
        if length.position == Position::Below {
            seconds = self.below(requests, kv_tokens, held);
        }
        let work = kernel.decode_work(requests, kv_tokens);
        let at_peak = work.flops * reference.rates.s_per_flop;
        self.found.answer(reading, seconds, at_peak)
    }

    /// Returns the time at lengths shorter than any measured, where `held` gives the time with the efficiency held as
    /// a function of the KV tokens.
    ///
    /// Source: holding the efficiency, scaling by bytes above the floor, and the geometric mean of both were compared
    /// on the sets of `bench_data/` with the first lengths left out. The mean is never the worst of the three.
    #[cold]
    fn below(&self, requests: f64, kv_tokens: f64, held: impl Fn(f64) -> f64) -> f64 {
        let (shortest, _) = self.grid().length().range().unwrap_or((1, 1));
        let edge_tokens = requests * f64::from(shortest);
        let edge = held(edge_tokens);
        let waves = self.kernel.decode_waves_s(requests, &self.found.reference);
        let floor = (self.found.floor_s + waves).min(edge);
        let bytes = |kv_tokens| self.kernel.decode_work(requests, kv_tokens).bytes;
        let share = bytes(kv_tokens) / bytes(edge_tokens);
        sqrt(held(kv_tokens) * (floor + (edge - floor) * share)).min(edge)
    }

    /// Returns the rows that answer.
    pub(crate) fn rows(&self) -> DecodeRows<'_> {
        DecodeRows {
            grid: self.grid(),
            kernel: self.kernel,
            measured: self.found.matched.on_rank(),
            window: 0,
            reference: &self.found.reference,
            floor_s: self.found.floor_s,
            class: self.found.class,
            errors: self.found.errors,
        }
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> AttentionShape {
        self.found.matched
    }

    /// Returns the matched measured points.
    pub fn grid(&self) -> Grid<'_> {
        self.found.points.grid()
    }
}
