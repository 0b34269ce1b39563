//! Whole layers of block-sparse attention (MSA), as in MiniMax-M3, prefill and decode.

use super::{Codes, Column, Contradiction, Expected, Operation, Prompts, codes, debug};
use crate::{Dtype, Indexer, Work};

/// Block-sparse attention over whole prompts, with its projections: formats, heads of one rank and dimensions over
/// (batch, seq_len).
pub const MSA_PREFILL: Operation = Operation {
    name: "msa_prefill",
    file: "msa_prefill.csv",
    description: "layer of block-sparse attention over whole prompts",
    shape: &COLUMNS,
    axes: &["batch", "seq_len"],
    optional: &[],
    check,
    dtype: |codes| MsaShape::from(*codes).dtype,
    work: |codes, point| MsaShape::from(*codes).prompts_work(point),
    reference_s: |codes, point, reference| reference.in_sequence_s(&MsaShape::from(*codes).prompts_work(point)),
    debug: debug::<MsaShape>,
};

/// Block-sparse attention of one new token per request: as [`MSA_PREFILL`].
pub const MSA_DECODE: Operation = Operation {
    name: "msa_decode",
    file: "msa_decode.csv",
    description: "layer of block-sparse attention of one new token per request",
    axes: &["batch", "kv_len"],
    work: |codes, point| MsaShape::from(*codes).requests_work(point),
    reference_s: |codes, point, reference| reference.in_sequence_s(&MsaShape::from(*codes).requests_work(point)),
    ..MSA_PREFILL
};

/// The defaults are the dimensions of MiniMax-M3.
const COLUMNS: [Column; 9] = [
    Column::dtype("dtype", "Format of the projections"),
    Column::dtype("kv_dtype", "Format of the KV cache"),
    Column::count("q_heads", "Query heads"),
    Column::count("kv_heads", "Key and value heads, and heads of the indexer"),
    Column::count("head_dim", "Dimension of a head").usually(128),
    Column::count("hidden", "Hidden size").usually(6144),
    Column::count("index_dim", "Dimension of a head of the indexer").usually(128),
    Column::count("block", "Tokens of a block of keys").usually(128),
    Column::count("top_blocks", "Maximum number of blocks that the indexer selects for a query").usually(16),
];

/// Bytes of a 16-bit value.
const WIDE: f64 = 2.0;

/// The static part of a layer of block-sparse attention (MSA): formats, heads of one rank, dimensions.
///
/// Groups of query heads share a key and a value head, as usual. An indexer, with as many heads as there are KV heads and
/// one key that they share, scores all keys of a query in 16 bits, and the query attends to the `top_blocks` blocks with
/// the highest scores. A layer is everything between the norm and the all-reduce.
///
/// Source: vLLM 0.33, `vllm/models/minimax_m3/nvidia/model.py` and `common/indexer.py`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct MsaShape {
    /// Format of the projections.
    pub dtype: Dtype,
    /// Format of the stored KV entries. The keys of the indexer are 16-bit.
    pub kv_dtype: Dtype,
    /// Query heads of one rank.
    pub q_heads: u32,
    /// Key and value heads of one rank, and heads of its indexer.
    pub kv_heads: u32,
    /// Dimension of a head.
    pub head_dim: u32,
    /// Hidden size.
    pub hidden: u32,
    /// Dimension of a head of the indexer, and of its key.
    pub index_dim: u32,
    /// Tokens of a block of keys.
    pub block: u32,
    /// Maximum number of blocks that a query attends to.
    pub top_blocks: u32,
}

codes! {
    MsaShape [dtype kv_dtype]
    [q_heads kv_heads head_dim hidden index_dim block top_blocks]
}

impl MsaShape {
    /// Returns the indexer, with the tokens of all blocks that it selects.
    ///
    /// Assumes: a query attends to whole blocks, its own included.
    #[inline]
    pub const fn indexer(&self) -> Indexer {
        let top_k = self.block.saturating_mul(self.top_blocks);
        Indexer { heads: self.kv_heads, head_dim: self.index_dim, top_k }
    }

    /// Returns the work of chunks of prompts on one rank: all tokens pass the projections, the indexer scores all pairs of
    /// a query and a key, and `selected_squares`, which counts as [`Indexer::squares`], are attended to. FLOPs are counted
    /// in the format of the projections: with fp8 projections, one in 16 bits counts as two.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, MsaShape, Prompts};
    /// let shape = MsaShape {
    ///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16, kv_heads: 1, head_dim: 128, hidden: 6144,
    ///     index_dim: 128, block: 128, top_blocks: 16,
    /// };
    /// let weights = 6144.0 * (2.0 * 16.0 + 2.0 + 1.0 + 1.0) * 128.0;
    /// let prompts = Prompts::equal(1.0, 1000.0);
    /// let expected = 2000.0 * weights + 1e6 * (2.0 * 16.0 + 1.0) * 128.0;
    /// assert_eq!(shape.prefill_work(&prompts, 1e6).flops, expected);
    /// ```
    #[inline]
    pub fn prefill_work(&self, prompts: &Prompts, selected_squares: f64) -> Work {
        let pairs = [prompts.squares, selected_squares].map(|squares| squares / 2.0);
        let entries = prompts.new + prompts.context;
        self.work(prompts.new, pairs, [entries; 2])
    }

    /// Returns the work, on one rank, of `tokens` new tokens that follow `kv_tokens` in total, themselves included. The
    /// keys of the indexer are read for all, keys and values for the selected blocks.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, MsaShape};
    /// let shape = MsaShape {
    ///     dtype: Dtype::Fp8Block, kv_dtype: Dtype::Fp8, q_heads: 8, kv_heads: 1, head_dim: 128, hidden: 6144,
    ///     index_dim: 128, block: 128, top_blocks: 16,
    /// };
    /// let [short, longer, long] = [1e3, 2e3, 3e3].map(|kv_tokens| shape.decode_work(1.0, kv_tokens).bytes);
    /// assert_eq!(longer - short, 1e3 * (2.0 * 128.0 + 2.0 * 128.0));
    /// assert_eq!(long - longer, 1e3 * 2.0 * 128.0 + 48.0 * 2.0 * 128.0);
    /// ```
    #[inline]
    pub fn decode_work(&self, tokens: f64, kv_tokens: f64) -> Work {
        let selected = kv_tokens.min(tokens * f64::from(self.indexer().top_k));
        self.work(tokens, [kv_tokens, selected], [kv_tokens, selected])
    }

    /// Returns the work of `tokens` with these pairs that are scored and attended to, and these tokens whose index keys,
    /// and whose keys and values, are read.
    fn work(&self, tokens: f64, [scored, attended]: [f64; 2], [keys, entries]: [f64; 2]) -> Work {
        let [q_heads, kv_heads, head_dim, hidden, index_dim] =
            [self.q_heads, self.kv_heads, self.head_dim, self.hidden, self.index_dim].map(f64::from);
        let weights = self.weights();
        let attention = 4.0 * q_heads * head_dim * attended + 2.0 * kv_heads * index_dim * scored;
        let wide = self.dtype.relative_peak() / Dtype::Bf16.relative_peak();
        Work {
            flops: 2.0 * tokens * weights + attention * wide,
            bytes: weights * self.dtype.weight_bytes()
                + 2.0 * tokens * hidden * WIDE
                + entries * 2.0 * kv_heads * head_dim * self.kv_dtype.weight_bytes()
                + keys * index_dim * WIDE,
            link_bytes: 0.0,
        }
    }

    /// Returns the number of weights: queries, keys, values, queries of the indexer and its key, and the output.
    #[inline]
    pub fn weights(&self) -> f64 {
        let [q_heads, kv_heads, head_dim, hidden, index_dim] =
            [self.q_heads, self.kv_heads, self.head_dim, self.hidden, self.index_dim].map(f64::from);
        hidden * (2.0 * (q_heads + kv_heads) * head_dim + (kv_heads + 1.0) * index_dim)
    }

    /// Returns the work of whole prompts of one length.
    fn prompts_work(&self, [batch, seq_len]: [u32; 2]) -> Work {
        let prompts = Prompts::equal(f64::from(batch), f64::from(seq_len));
        let selected = self.indexer().squares(seq_len.into()) as f64;
        self.prefill_work(&prompts, f64::from(batch) * selected)
    }

    /// Returns the work of requests of one length.
    fn requests_work(&self, [batch, kv_len]: [u32; 2]) -> Work {
        let requests = f64::from(batch);
        self.decode_work(requests, requests * f64::from(kv_len))
    }
}

/// Rejects query heads that the KV heads do not divide.
fn check(codes: &Codes) -> Result<(), Contradiction> {
    let MsaShape { q_heads, kv_heads, .. } = MsaShape::from(*codes);
    if kv_heads > 0 && q_heads.is_multiple_of(kv_heads) {
        return Ok(());
    }
    let expected = Expected::new("a multiple of the ", kv_heads, " kv_heads");
    Err(Contradiction::new("q_heads", expected, "each KV head has as many query heads: check both"))
}
