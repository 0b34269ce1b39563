//! Block-sparse attention.

use super::checks::{MAX_COUNT, MAX_WIDTH, divides, within};
use crate::error::Invalid;
use crate::hardware::Dtype;
#[cfg(feature = "alloc")]
use crate::hardware::MsaShape;

/// Block-sparse attention (MSA), as in MiniMax-M3: groups of query heads share a key and a value head, and an indexer
/// with as many heads as these selects the blocks of keys that a token attends to.
///
/// The cache holds keys and values of all tokens, and beside them a 16-bit key of the indexer, which its heads share and
/// of which each rank of tensor parallelism has a copy.
///
/// ```
/// use rooflut::hardware::Dtype;
/// use rooflut::model::find;
/// let minimax_m3 = find("minimax-m3").unwrap().spec;
/// // On four GPUs: key and value of one head, and the key of the indexer.
/// let attention = minimax_m3.layers[1].attention;
/// assert_eq!(attention.kv_bytes(4, Dtype::Bf16), 2.0 * 128.0 * 2.0 + 128.0 * 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Msa {
    /// Query heads.
    pub q_heads: u32,
    /// Key and value heads, and heads of the indexer (`sparse_num_index_heads`).
    pub kv_heads: u32,
    /// Dimension of a head.
    pub head_dim: u32,
    /// Dimension of a head of the indexer (`sparse_index_dim`).
    pub index_dim: u32,
    /// Tokens of a block of keys (`sparse_block_size`).
    pub block: u32,
    /// Maximum number of blocks that a token attends to (`sparse_topk_blocks`).
    pub top_blocks: u32,
}

impl Msa {
    /// Returns the layer of one of `tp` ranks in a model of this hidden size, with the formats of projections and KV
    /// entries. Ranks beyond the KV heads have a copy of one.
    #[cfg(feature = "alloc")]
    pub(crate) fn shape(&self, hidden: u32, [dtype, kv_dtype]: [Dtype; 2], tp: u32) -> MsaShape {
        let tp = tp.max(1);
        MsaShape {
            dtype,
            kv_dtype,
            q_heads: self.q_heads / tp,
            kv_heads: (self.kv_heads / tp).max(1),
            head_dim: self.head_dim,
            hidden,
            index_dim: self.index_dim,
            block: self.block,
            top_blocks: self.top_blocks,
        }
    }

    /// Returns the bytes of the indexer's key of a token.
    pub(super) fn key_bytes(&self) -> f64 {
        f64::from(self.index_dim) * Dtype::Bf16.weight_bytes()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        within("kv_heads", self.kv_heads, MAX_COUNT)?;
        within("head_dim", self.head_dim, MAX_COUNT)?;
        within("index_dim", self.index_dim, MAX_COUNT)?;
        within("sparse_block", self.block, MAX_WIDTH)?;
        within("top_blocks", self.top_blocks, MAX_WIDTH)?;
        divides("q_heads", self.q_heads, "kv_heads", self.kv_heads)
    }
}
