//! Whole layers of attention over compressed keys, as in DeepSeek-V4, prefill and decode.

use super::{Column, ColumnKind, Operation, codes, debug};
use crate::math::larger;
use crate::{Dtype, Indexer, Work};

/// Attention over compressed keys and a window, over whole prompts, with its projections: format, heads of one rank and
/// dimensions over (batch, seq_len).
pub const COMPRESSED_PREFILL: Operation = Operation {
    name: "compressed_prefill",
    file: "compressed_prefill.csv",
    description: "layer of attention over compressed keys over whole prompts",
    shape: &COLUMNS,
    axes: &["batch", "seq_len"],
    optional: &[],
    check: |_| Ok(()),
    dtype: |codes| CompressedShape::from(*codes).dtype,
    work: |codes, point| CompressedShape::from(*codes).prompts_work(point),
    reference_s: |codes, point, reference| reference.in_sequence_s(&CompressedShape::from(*codes).prompts_work(point)),
    debug: debug::<CompressedShape>,
};

/// Attention over compressed keys and a window, of one new token per request: as [`COMPRESSED_PREFILL`].
pub const COMPRESSED_DECODE: Operation = Operation {
    name: "compressed_decode",
    file: "compressed_decode.csv",
    description: "layer of attention over compressed keys of one new token per request",
    axes: &["batch", "kv_len"],
    work: |codes, point| CompressedShape::from(*codes).requests_work(point),
    reference_s: |codes, point, reference| reference.in_sequence_s(&CompressedShape::from(*codes).requests_work(point)),
    ..COMPRESSED_PREFILL
};

/// The defaults are the dimensions of DeepSeek-V4-Flash.
const COLUMNS: [Column; 12] = [
    Column::dtype("dtype", "Format of the projections"),
    Column::count("q_heads", "Query heads"),
    Column::count("hidden", "Hidden size").usually(4096),
    Column::count("q_rank", "Rank of the compressed query").usually(1024),
    Column::count("head_dim", "Dimension of a head, and of the vector that is its key and value").usually(512),
    Column::count("window", "Tokens before the compressed ones that a query attends to").usually(128),
    Column::new("ratio", ColumnKind::Whole, "Tokens of a compressed key; 0 without compressed keys").usually(4),
    Column::count("group_heads", "Heads of a group of the output projection").usually(8),
    Column::count("o_rank", "Rank of the output of a group").usually(1024),
    Column::new("index_heads", ColumnKind::Whole, "Heads of the indexer; 0 without one").usually(64),
    Column::new("index_dim", ColumnKind::Whole, "Dimension of a head of the indexer").usually(128),
    Column::new("index_top_k", ColumnKind::Whole, "Maximum number of compressed keys that the indexer selects")
        .usually(512),
];

/// Dimension of a head with rotary embedding, which the cache holds in 16 bits.
const ROPE_DIM: u32 = 64;

/// Values that share a scale in the cache: seven scales and one byte of padding for 448 values.
const SCALED: u32 = 64;

/// Bytes of a 16-bit value.
const WIDE: f64 = 2.0;

/// The static part of a layer of attention over compressed keys: format, heads of one rank, dimensions.
///
/// A layer compresses the query on each rank and expands it to the heads of the rank. All heads share one vector per
/// token as key and value. A query attends to the last `window` tokens and to compressed vectors: a compressor makes one
/// for each `ratio` tokens, and an indexer, which compresses keys of its own, selects `index_top_k` of them. The output
/// is projected in groups of heads to `o_rank`, and then back. A layer is everything between the norm and the all-reduce.
///
/// Source: vLLM 0.33, `vllm/models/deepseek_v4/attention.py` and `compressor.py`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct CompressedShape {
    /// Format of the projections. The compressors and the weights of the indexer's heads are 16-bit.
    pub dtype: Dtype,
    /// Query heads of one rank.
    pub q_heads: u32,
    /// Hidden size.
    pub hidden: u32,
    /// Rank of the compressed query.
    pub q_rank: u32,
    /// Dimension of a head, and of the vector that all heads share as key and value.
    pub head_dim: u32,
    /// Last tokens that a query attends to.
    pub window: u32,
    /// Tokens that are compressed to one key; 0 in layers that have the window alone.
    pub ratio: u32,
    /// Heads of a group of the output projection.
    pub group_heads: u32,
    /// Rank of the output of a group.
    pub o_rank: u32,
    /// Heads of the indexer; 0 where a query attends to all compressed keys.
    pub index_heads: u32,
    /// Dimension of a head of the indexer.
    pub index_dim: u32,
    /// Maximum number of compressed keys that a query attends to, with an indexer.
    pub index_top_k: u32,
}

codes! {
    CompressedShape [dtype]
    [q_heads hidden q_rank head_dim window ratio group_heads o_rank index_heads index_dim index_top_k]
}

/// Counts of a chunk, whole so that their sums do not depend on their order: new tokens, pairs of a query and a vector,
/// pairs that the indexer scores, vectors, and keys of the indexer.
pub type Attended = [u128; 5];

impl CompressedShape {
    /// Returns what `new` tokens after `context` cached ones attend to.
    ///
    /// ```
    /// use rooflut_roofline::{CompressedShape, Dtype};
    /// let shape = CompressedShape {
    ///     dtype: Dtype::Fp8Block, q_heads: 64, hidden: 4096, q_rank: 1024, head_dim: 512, window: 128, ratio: 4,
    ///     group_heads: 8, o_rank: 1024, index_heads: 64, index_dim: 128, index_top_k: 512,
    /// };
    /// // Tokens 4,096 and more attend to 128 tokens and 512 of 1,024 compressed keys.
    /// assert_eq!(shape.attended(1, 4095), [1, 128 + 512, 1024, 128 + 512, 1024]);
    /// assert_eq!(shape.attended(4, 0), [4, 1 + 2 + 3 + 4 + 1, 1, 4 + 1, 1]);
    /// ```
    #[inline]
    pub fn attended(&self, new: u32, context: u32) -> Attended {
        let [new, before, window, ratio] = [new, context, self.window, self.ratio].map(u128::from);
        let all = before + new;
        let between = |count: &dyn Fn(u128) -> u128| count(all) - count(before);
        let in_window = between(&|tokens| up_to(tokens, window, 1));
        let reach = before.min(window.saturating_sub(1));
        if ratio == 0 {
            return [new, in_window, 0, new + reach, 0];
        }
        let (scored, most) = match self.index_heads {
            0 => (0, u128::MAX),
            _ => (between(&|tokens| up_to(tokens, u128::MAX, ratio)), self.index_top_k.into()),
        };
        let selected = between(&|tokens| up_to(tokens, most, ratio));
        let keys = all / ratio;
        [new, in_window + selected, scored, new + reach + selected.min(keys), if scored > 0 { keys } else { 0 }]
    }

    /// Returns the work of chunks of prompts on one rank, given the sum of what they [attend](Self::attended) to: all
    /// tokens pass the projections and the compressors, a pair of a query and a vector takes `4 q_heads head_dim` FLOPs
    /// in 16 bits, and a pair of the indexer `2 index_heads index_dim` in fp8.
    ///
    /// FLOPs are counted in the format of the projections: with fp8 projections, one in 16 bits counts as two.
    #[inline]
    pub fn prefill_work(&self, attended: &Attended) -> Work {
        self.work(attended.map(|count| count as f64))
    }

    /// Returns the work, on one rank, of `tokens` new tokens that follow `kv_tokens` in total, themselves included. All
    /// requests are as long as their mean.
    ///
    /// ```
    /// # use rooflut_roofline::{CompressedShape, Dtype};
    /// let shape = CompressedShape {
    ///     dtype: Dtype::Fp8Block, q_heads: 16, hidden: 4096, q_rank: 1024, head_dim: 512, window: 128, ratio: 128,
    ///     group_heads: 8, o_rank: 1024, index_heads: 0, index_dim: 0, index_top_k: 0,
    /// };
    /// let [short, long] = [1e5, 2e5].map(|kv_tokens| shape.decode_work(1.0, kv_tokens));
    /// let vectors = 1e5 / 128.0;
    /// assert!((long.bytes - short.bytes - 584.0 * vectors).abs() < 1e-6);
    /// assert!((long.flops - short.flops - 2.0 * 4.0 * 16.0 * 512.0 * vectors).abs() < 1e-3);
    /// ```
    #[inline]
    pub fn decode_work(&self, tokens: f64, kv_tokens: f64) -> Work {
        let length = kv_tokens / tokens;
        let [window, ratio, top_k] = [self.window, self.ratio, self.index_top_k].map(f64::from);
        let in_window = if length < window { length } else { window };
        // At least this many whole groups of tokens.
        let keys = if ratio > 0.0 { larger((length + 1.0) / ratio - 1.0, 0.0) } else { 0.0 };
        let has_indexer = self.index_heads > 0;
        let selected = if has_indexer && keys > top_k { top_k } else { keys };
        let scored = if has_indexer { keys } else { 0.0 };
        let vectors = in_window + selected;
        self.work([1.0, vectors, scored, vectors, scored].map(|each| tokens * each))
    }

    fn work(&self, [tokens, pairs, scored, vectors, keys]: [f64; 5]) -> Work {
        let [narrow, wide] = self.weights();
        let peaks = |multiplied: Dtype| self.dtype.relative_peak() / multiplied.relative_peak();
        let [q_heads, head_dim] = [self.q_heads, self.head_dim].map(f64::from);
        let indexer = self.indexer();
        let wide_flops = 2.0 * tokens * wide + 4.0 * q_heads * head_dim * pairs;
        Work {
            flops: 2.0 * tokens * narrow + wide_flops * peaks(Dtype::Bf16) + indexer.flops(scored) * peaks(Dtype::Fp8),
            bytes: narrow * self.dtype.weight_bytes()
                + wide * WIDE
                + 2.0 * tokens * f64::from(self.hidden) * WIDE
                + vectors * f64::from(vector_bytes(self.head_dim))
                + keys * f64::from(indexer.key_bytes()),
            link_bytes: 0.0,
        }
    }

    /// Returns the number of weights of the projections, and of those in 16 bits: the compressors, which with an indexer
    /// overlap by a group of tokens, and the weights of the indexer's heads.
    #[inline]
    pub fn weights(&self) -> [f64; 2] {
        let [q_heads, hidden, q_rank, head_dim, group_heads, o_rank] =
            [self.q_heads, self.hidden, self.q_rank, self.head_dim, self.group_heads, self.o_rank].map(f64::from);
        let [index_heads, index_dim] = [self.index_heads, self.index_dim].map(f64::from);
        let head = head_dim * (q_rank + o_rank) + o_rank / larger(group_heads, 1.0) * hidden;
        let compressors = match (self.ratio, self.index_heads) {
            (0, _) => 0.0,
            (_, 0) => 2.0 * head_dim,
            _ => 4.0 * (head_dim + index_dim),
        };
        let narrow = hidden * (q_rank + head_dim) + q_heads * head + q_rank * index_heads * index_dim;
        [narrow, hidden * (compressors + index_heads)]
    }

    fn indexer(&self) -> Indexer {
        Indexer { heads: self.index_heads, head_dim: self.index_dim, top_k: self.index_top_k }
    }

    /// Returns the work of whole prompts of one length.
    fn prompts_work(&self, [batch, seq_len]: [u32; 2]) -> Work {
        let times = u128::from(batch);
        self.prefill_work(&self.attended(seq_len, 0).map(|count| count.saturating_mul(times)))
    }

    /// Returns the work of requests of one length.
    fn requests_work(&self, [batch, kv_len]: [u32; 2]) -> Work {
        let requests = f64::from(batch);
        self.decode_work(requests, requests * f64::from(kv_len))
    }
}

/// Returns the bytes of a vector in the cache: fp8 with a scale per 64 values, and the part with rotary embedding in 16
/// bits (`fp8_ds_mla`).
///
/// ```
/// use rooflut_roofline::operation::vector_bytes;
/// assert_eq!(vector_bytes(512), 448 + 8 + 2 * 64);
/// ```
pub const fn vector_bytes(head_dim: u32) -> u32 {
    head_dim.saturating_add(head_dim.div_ceil(SCALED)).saturating_add(ROPE_DIM)
}

/// Returns the sum, over so many tokens, of the whole groups of `ratio` tokens up to each, at most `most` for each.
fn up_to(tokens: u128, most: u128, ratio: u128) -> u128 {
    let growing = tokens.min(most.saturating_mul(ratio));
    let groups = growing / ratio;
    let before = ratio * (groups * groups.saturating_sub(1) / 2);
    before + groups * (growing + 1 - groups * ratio) + (tokens - growing).saturating_mul(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_sums_are_those_of_single_tokens() {
        for (most, ratio) in [(128, 1), (5, 4), (u128::MAX, 4), (u128::MAX, 128), (512, 4)] {
            let mut sum = 0;
            for tokens in 1..3_000 {
                sum += most.min(tokens / ratio);
                assert_eq!(up_to(tokens, most, ratio), sum, "{most} {ratio} {tokens}");
            }
        }
    }
}
