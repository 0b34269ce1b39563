//! Attention over compressed keys.

use super::checks::{MAX_COUNT, MAX_WIDTH, divides, within};
use crate::error::Invalid;
use crate::hardware::operation::vector_bytes;
use crate::hardware::{CompressedShape, Dtype, Indexer};

/// Attention over a window of tokens and over keys that are compressed from groups of tokens, as in DeepSeek-V4. All
/// heads share one vector as key and value, and each rank of tensor parallelism has a copy.
///
/// The cache holds a vector for each `ratio` tokens, with an indexer a key of it beside each, in the formats of vLLM
/// (`fp8_ds_mla` and fp8, whatever the format of KV entries); for the tokens of the window their vectors; and what the
/// compressors have read of the groups that are not complete.
///
/// ```
/// use rooflut::hardware::Dtype;
/// use rooflut::model::find;
/// let flash = find("deepseek-v4-flash").unwrap().spec;
/// // A vector of 584 bytes and a key of 132 for each four tokens.
/// let [_, selected, ..] = flash.layers.iter().map(|group| group.attention).collect::<Vec<_>>()[..] else { panic!() };
/// assert!((selected.kv_bytes(8, Dtype::Fp8) - (584.0 + 132.0) / 4.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Compressed {
    /// Query heads.
    pub q_heads: u32,
    /// Rank of the compressed query (`q_lora_rank`).
    pub q_rank: u32,
    /// Dimension of a head, and of the vector that is its key and value (`head_dim`).
    pub head_dim: u32,
    /// Last tokens that a token attends to (`sliding_window`).
    pub window: u32,
    /// Tokens of a compressed key (`compress_ratios`); 0 in layers that have the window alone.
    pub ratio: u32,
    /// Groups of heads that are projected to the output together (`o_groups`).
    pub o_groups: u32,
    /// Rank of the output of a group (`o_lora_rank`).
    pub o_rank: u32,
    /// The indexer that selects compressed keys; `None` if a token attends to all of them.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub indexer: Option<Indexer>,
}

impl Compressed {
    /// Dimension of a head with rotary embedding (`qk_rope_head_dim`).
    pub(super) const ROPE_DIM: u32 = 64;

    /// Returns the layer of one of `tp` ranks in a model of this hidden size.
    pub(crate) fn shape(&self, hidden: u32, dtype: Dtype, tp: u32) -> CompressedShape {
        let [index_heads, index_dim, index_top_k] =
            self.indexer.map_or([0; 3], |indexer| [indexer.heads, indexer.head_dim, indexer.top_k]);
        CompressedShape {
            dtype,
            q_heads: self.q_heads / tp.max(1),
            hidden,
            q_rank: self.q_rank,
            head_dim: self.head_dim,
            window: self.window,
            ratio: self.ratio,
            group_heads: self.q_heads / self.o_groups.max(1),
            o_rank: self.o_rank,
            index_heads,
            index_dim,
            index_top_k,
        }
    }

    /// Returns the bytes of a compressed key and of that of the indexer, for each of its tokens.
    pub(super) fn kv_bytes(&self) -> f64 {
        let key = self.indexer.map_or(0, |indexer| indexer.key_bytes());
        let bytes = f64::from(vector_bytes(self.head_dim) + key);
        if self.ratio == 0 { 0.0 } else { bytes / f64::from(self.ratio) }
    }

    /// Returns the bytes that a layer holds for each token of the window of a request: its vector, and what compressors
    /// have read of it. An indexer's groups overlap, and compressors of short groups keep fewer tokens than the window.
    pub(super) fn window_bytes(&self) -> f64 {
        let [head_dim, index_dim] = [self.head_dim, self.indexer.map_or(0, |indexer| indexer.head_dim)].map(f64::from);
        let overlap = if self.indexer.is_some() { 2.0 } else { 1.0 };
        let held = (overlap * f64::from(self.ratio) / f64::from(self.window.max(1))).min(1.0);
        // Values and their weights, 32-bit.
        let read = held * overlap * 2.0 * (head_dim + index_dim) * 4.0;
        f64::from(vector_bytes(self.head_dim)) + read
    }

    /// Returns the number of weights of a layer.
    pub(super) fn params(&self, hidden: u32) -> u64 {
        let [narrow, wide] = self.shape(hidden, Dtype::Bf16, 1).weights();
        (narrow + wide) as u64
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        within("q_rank", self.q_rank, MAX_WIDTH)?;
        within("head_dim", self.head_dim, MAX_COUNT)?;
        within("window", self.window, MAX_WIDTH)?;
        within("ratio", self.ratio.max(1), MAX_WIDTH)?;
        within("o_groups", self.o_groups, MAX_COUNT)?;
        within("o_rank", self.o_rank, MAX_WIDTH)?;
        divides("q_heads", self.q_heads, "o_groups", self.o_groups)
    }
}
