//! Whole layers of multi-head latent attention (MLA), prefill and decode, also with an indexer (DSA).

use super::{Codes, Column, ColumnKind, Contradiction, Expected, Indexer, Operation, debug};
use crate::{Dtype, Prompts, Reference, Work};

/// Latent attention over whole prompts, with its projections: formats, heads of one rank and dimensions over (batch,
/// seq_len).
pub const MLA_PREFILL: Operation = Operation {
    name: "mla_prefill",
    file: "mla_prefill.csv",
    description: "layer of latent attention over whole prompts",
    shape: COLUMNS.split_at(INDEXER_COLUMNS).0,
    ..DSA_PREFILL
};

/// Latent attention of one new token per request over its KV cache, with its projections: formats, heads of one rank
/// and dimensions over (batch, kv_len).
pub const MLA_DECODE: Operation = Operation {
    name: "mla_decode",
    file: "mla_decode.csv",
    description: "layer of latent attention of one new token per request",
    shape: DECODING.split_at(INDEXER_COLUMNS).0,
    ..DSA_DECODE
};

/// Sparse latent attention over whole prompts: as [`MLA_PREFILL`], with the dimensions of the indexer.
pub const DSA_PREFILL: Operation = Operation {
    name: "dsa_prefill",
    file: "dsa_prefill.csv",
    description: "layer of sparse latent attention over whole prompts",
    shape: &COLUMNS,
    axes: &["batch", "seq_len"],
    optional: &[],
    check,
    dtype: |codes| MlaShape::from(*codes).dtype,
    work: |codes, point| MlaShape::from(*codes).prompts_load(point).work,
    reference_s: |codes, point, reference| MlaShape::from(*codes).prompts_load(point).reference_s(reference),
    debug: debug::<MlaShape>,
};

/// Sparse latent attention of one new token per request: as [`MLA_DECODE`], with the dimensions of the indexer.
pub const DSA_DECODE: Operation = Operation {
    name: "dsa_decode",
    file: "dsa_decode.csv",
    description: "layer of sparse latent attention of one new token per request",
    axes: &["batch", "kv_len"],
    work: |codes, point| MlaShape::from(*codes).requests_load(point).work,
    reference_s: |codes, point, reference| MlaShape::from(*codes).requests_load(point).reference_s(reference),
    ..DSA_PREFILL
};

/// Columns of prompts and of sparse attention. Both are multiplied in bf16 whatever the format of the KV entries.
const COLUMNS: [Column; 13] = columns(Column::dtype("attn_dtype", MULTIPLIED));

/// Columns of decoding without an indexer: keys and values are multiplied as they are stored.
const DECODING: [Column; 13] = columns(Column::dtype("attn_dtype", MULTIPLIED).usually_as("kv_dtype"));

const MULTIPLIED: &str = "Format in which queries, keys and values are multiplied";

/// Returns the columns of a shape. The defaults are the dimensions of DeepSeek-V3.
const fn columns(attn_dtype: Column) -> [Column; 13] {
    let [nope, rope] = [
        "Dimension of a head of queries and keys without rotary embedding",
        "Dimension of a head of queries and keys with rotary embedding",
    ];
    let q_rank = "Rank of the compressed query; 0 if the query is not compressed";
    let index_heads = "Heads of the indexer; 0 where an earlier layer selects the keys";
    let selected = "Maximum number of keys that the indexer selects for a query";
    [
        Column::dtype("dtype", "Format of the projections"),
        attn_dtype,
        Column::dtype("kv_dtype", "Format of the KV cache"),
        Column::count("q_heads", "Query heads"),
        Column::count("hidden", "Hidden size").usually(7168),
        Column::new("q_rank", ColumnKind::Whole, q_rank).usually(1536),
        Column::count("kv_rank", "Rank of the latent vector").usually(512),
        Column::count("nope_dim", nope).usually(128),
        Column::count("rope_dim", rope).usually(64),
        Column::count("v_dim", "Dimension of a head of values").usually(128),
        Column::new("index_heads", ColumnKind::Whole, index_heads).usually(64),
        Column::new("index_dim", ColumnKind::Whole, "Dimension of a head of the indexer; 0 without heads").usually(128),
        Column::count("index_top_k", selected).usually(2048),
    ]
}

/// Index of the first column of the indexer.
const INDEXER_COLUMNS: usize = 10;

/// Bytes of a hidden value that enters or leaves the layer: 16 bits.
const HIDDEN_BYTES: f64 = 2.0;

/// Heads to which kernels of sparse latent attention pad those of a rank.
///
/// Source: `FlashMLASparseImpl` in vLLM pads to 64 on Hopper; with 64 the efficiency of the measured rows is the same
/// for 8 to 128 heads within a third, and that of SGLang's prompts after a context follows.
const PADDED_HEADS: u32 = 64;

/// The static part of a layer of latent attention: formats, heads of one rank, dimensions.
///
/// A layer compresses the query (unless `q_rank` is 0) and the keys and values on each rank, expands them to its heads,
/// attends, and projects the values back: everything between the norm of the layer and the all-reduce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct MlaShape {
    /// Format of the projections.
    pub dtype: Dtype,
    /// Format in which queries, keys and values are multiplied.
    pub attn_dtype: Dtype,
    /// Format of the stored KV entries.
    pub kv_dtype: Dtype,
    /// Query heads of one rank.
    pub q_heads: u32,
    /// Hidden size.
    pub hidden: u32,
    /// Rank of the compressed query; 0 if the query is not compressed.
    pub q_rank: u32,
    /// Rank of the latent vector of keys and values.
    pub kv_rank: u32,
    /// Dimension of a head of queries and keys without rotary embedding.
    pub nope_dim: u32,
    /// Dimension of a head of queries and keys with rotary embedding.
    pub rope_dim: u32,
    /// Dimension of a head of values.
    pub v_dim: u32,
    /// The indexer of sparse attention; `None` where each query attends to all keys.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub indexer: Option<Indexer>,
}

/// Work of a layer of latent attention on one rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaLoad {
    /// Compulsory work. FLOPs are counted in the format of the projections: with fp8 projections, a FLOP of 16-bit
    /// attention counts as two.
    pub work: Work,
    /// FLOPs, including padding.
    pub executed_flops: f64,
}

impl MlaLoad {
    /// Returns the reference time, seconds: launch time, executed FLOPs at the peak and traffic, which hardly overlap in a
    /// sequence of small kernels.
    ///
    /// Source: the form with the smallest leave-one-out errors among those with the launch time as the only constant.
    #[inline]
    pub fn reference_s(&self, reference: &Reference) -> f64 {
        let rates = &reference.rates;
        reference.t0_s + self.executed_flops * rates.s_per_flop + self.work.bytes * rates.s_per_byte
    }
}

impl From<Work> for MlaLoad {
    /// Returns work without padding.
    #[inline]
    fn from(work: Work) -> MlaLoad {
        MlaLoad { work, executed_flops: work.flops }
    }
}

impl MlaShape {
    /// Returns the work of prompt chunks on one rank.
    ///
    /// All tokens pass the projections. Keys and values of new and cached tokens are expanded to the heads, and a pair
    /// of a query and a key takes `2 q_heads (nope_dim + rope_dim + v_dim)` FLOPs.
    ///
    /// With an indexer, nothing is expanded: the indexer scores all pairs, and `selected_squares`, which counts as
    /// [`Indexer::squares`], are attended to as in [`decode_load`](Self::decode_load). Without one, `selected_squares`
    /// has no effect.
    ///
    /// Source: vLLM, `mla_attention.py` and `sparse_attn_indexer.py` in `vllm/model_executor/layers/`.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, Indexer, MlaShape, Prompts};
    /// let shape = MlaShape {
    ///     dtype: Dtype::Bf16, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 128,
    ///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None,
    /// };
    /// let prompts = Prompts::equal(1.0, 1000.0);
    /// let weights = 7168.0 * 2112.0 + 128.0 * (1536.0 * 192.0 + 512.0 * 256.0 + 128.0 * 7168.0);
    /// let expected = 2000.0 * weights + 1e6 * 128.0 * 320.0;
    /// assert_eq!(shape.prefill_load(&prompts, 0.0).work.flops, expected);
    ///
    /// let indexer = Indexer { heads: 64, head_dim: 128, top_k: 2048 };
    /// let sparse = MlaShape { indexer: Some(indexer), ..shape };
    /// let weights = weights + 1536.0 * 64.0 * 128.0 + 7168.0 * (128.0 + 64.0);
    /// // The indexer multiplies in fp8.
    /// let expected = 2000.0 * weights + 1e6 * (128.0 * 1088.0 + 64.0 * 128.0 / 2.0);
    /// assert_eq!(sparse.prefill_load(&prompts, 1e6).work.flops, expected);
    /// ```
    #[inline]
    pub fn prefill_load(&self, prompts: &Prompts, selected_squares: f64) -> MlaLoad {
        let entries = prompts.new + prompts.context;
        if let Some(indexer) = &self.indexer {
            let pairs = [prompts.squares, selected_squares].map(|squares| squares / 2.0);
            return self.sparse(indexer, prompts.new, pairs, entries);
        }
        let [q_heads, nope_dim, rope_dim, v_dim] =
            [self.q_heads, self.nope_dim, self.rope_dim, self.v_dim].map(f64::from);
        let pair = q_heads * (nope_dim + rope_dim + v_dim) * self.attention_peaks();
        let attention = pair * prompts.squares;
        let expanded = 2.0 * prompts.context * self.expansion();
        let mut work = self.work(prompts.new, attention, entries);
        work.flops += expanded;
        work.into()
    }

    /// Returns the work, on one rank, of `tokens` new tokens that attend to `kv_tokens` KV entries in total.
    /// Multiplying the query with the latent vectors takes `2 q_heads (2 kv_rank + rope_dim)` FLOPs per entry; each
    /// entry is read once. With an indexer, a token attends to at most `top_k` entries, and the keys of the indexer are
    /// read for all.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, Indexer, MlaShape};
    /// let shape = MlaShape {
    ///     dtype: Dtype::Fp8Block, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16,
    ///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None,
    /// };
    /// let [short, long] = [1e3, 2e3].map(|kv_tokens| shape.decode_load(1.0, kv_tokens).work);
    /// // 16-bit FLOPs count as two in fp8.
    /// assert_eq!(long.flops - short.flops, 2.0 * 1e3 * 2.0 * 16.0 * 1088.0);
    /// assert_eq!(long.bytes - short.bytes, 1e3 * 1152.0);
    ///
    /// let indexer = Indexer { heads: 64, head_dim: 128, top_k: 2048 };
    /// let sparse = MlaShape { indexer: Some(indexer), ..shape };
    /// let [short, long] = [3e3, 4e3].map(|kv_tokens| sparse.decode_load(1.0, kv_tokens).work);
    /// assert_eq!(long.flops - short.flops, 1e3 * 2.0 * 64.0 * 128.0);
    /// assert_eq!(long.bytes - short.bytes, 1e3 * 132.0);
    /// ```
    #[inline]
    pub fn decode_load(&self, tokens: f64, kv_tokens: f64) -> MlaLoad {
        if let Some(indexer) = &self.indexer {
            let selected = kv_tokens.min(tokens * f64::from(indexer.top_k));
            return self.sparse(indexer, tokens, [kv_tokens, selected], kv_tokens);
        }
        let attention = self.absorbed(self.q_heads, kv_tokens);
        self.work(tokens, attention, kv_tokens).into()
    }

    /// Returns the work of queries whose indexer scores `pairs` of them and `entries` keys, of which they attend to
    /// `selected`.
    ///
    /// Kernels compute padded heads, and part of the slots of a query that has fewer than `top_k` keys: with half of them
    /// the efficiency changes least with the length of prompts.
    fn sparse(&self, indexer: &Indexer, queries: f64, [pairs, selected]: [f64; 2], entries: f64) -> MlaLoad {
        let attention = self.absorbed(self.q_heads, selected);
        let mut work = self.work(queries, attention, selected.min(entries));
        let weights = indexer.weights(self.query_width(), f64::from(self.hidden));
        let peaks = self.dtype.relative_peak() / Dtype::Fp8.relative_peak();
        work.flops += 2.0 * queries * weights + indexer.flops(pairs) * peaks;
        work.bytes += weights * self.dtype.weight_bytes() + entries * f64::from(indexer.key_bytes());
        let slots = (queries * f64::from(indexer.top_k) + selected) / 2.0;
        let padded = self.absorbed(self.q_heads.max(PADDED_HEADS), slots);
        MlaLoad { work, executed_flops: work.flops + padded - attention }
    }

    /// Returns the FLOPs of `heads` whose queries are multiplied with latent vectors.
    fn absorbed(&self, heads: u32, pairs: f64) -> f64 {
        let [heads, kv_rank, rope_dim] = [heads, self.kv_rank, self.rope_dim].map(f64::from);
        2.0 * heads * (2.0 * kv_rank + rope_dim) * pairs * self.attention_peaks()
    }

    /// Returns the FLOPs in the format of the projections that take as long as one of attention.
    fn attention_peaks(&self) -> f64 {
        self.dtype.relative_peak() / self.attn_dtype.relative_peak()
    }
    fn work(&self, tokens: f64, attention_flops: f64, entries: f64) -> Work {
        let [hidden, q_heads, q_rank, nope_dim, rope_dim, v_dim] =
            [self.hidden, self.q_heads, self.q_rank, self.nope_dim, self.rope_dim, self.v_dim].map(f64::from);
        let each = hidden * (q_rank + f64::from(self.kv_rank) + rope_dim);
        let head = self.query_width() * (nope_dim + rope_dim) + v_dim * hidden;
        let weights = each + q_heads * head + self.expansion();
        Work {
            flops: 2.0 * tokens * weights + attention_flops,
            bytes: weights * self.dtype.weight_bytes()
                + 2.0 * tokens * hidden * HIDDEN_BYTES
                + entries * self.latent_bytes(),
            link_bytes: 0.0,
        }
    }

    /// Returns the size of the vector from which queries are expanded.
    fn query_width(&self) -> f64 {
        f64::from(match self.q_rank {
            0 => self.hidden,
            q_rank => q_rank,
        })
    }

    /// Returns the bytes of a cached latent vector with its rotary key.
    fn latent_bytes(&self) -> f64 {
        match &self.indexer {
            Some(indexer) => indexer.latent_bytes(self.kv_rank, self.rope_dim, self.kv_dtype),
            None => (f64::from(self.kv_rank) + f64::from(self.rope_dim)) * self.kv_dtype.weight_bytes(),
        }
    }

    /// Returns the work of whole prompts of one length.
    fn prompts_load(&self, [batch, seq_len]: [u32; 2]) -> MlaLoad {
        let selected = match &self.indexer {
            Some(indexer) => f64::from(batch) * indexer.squares(seq_len.into()) as f64,
            None => 0.0,
        };
        let prompts = Prompts::equal(f64::from(batch), f64::from(seq_len));
        self.prefill_load(&prompts, selected)
    }

    /// Returns the work of requests of one length.
    fn requests_load(&self, [batch, kv_len]: [u32; 2]) -> MlaLoad {
        let requests = f64::from(batch);
        self.decode_load(requests, requests * f64::from(kv_len))
    }

    /// Returns the number of weights that expand the latent vector to keys and values of the heads.
    fn expansion(&self) -> f64 {
        let [q_heads, kv_rank, nope_dim, v_dim] =
            [self.q_heads, self.kv_rank, self.nope_dim, self.v_dim].map(f64::from);
        q_heads * kv_rank * (nope_dim + v_dim)
    }
}

impl From<Codes> for MlaShape {
    #[inline]
    fn from(codes: Codes) -> MlaShape {
        let [
            dtype,
            attn_dtype,
            kv_dtype,
            q_heads,
            hidden,
            q_rank,
            kv_rank,
            nope_dim,
            rope_dim,
            v_dim,
            index_heads,
            index_dim,
            top_k,
        ] = codes;
        let indexer = Indexer { heads: index_heads, head_dim: index_dim, top_k };
        MlaShape {
            dtype: Dtype::from_code(dtype),
            attn_dtype: Dtype::from_code(attn_dtype),
            kv_dtype: Dtype::from_code(kv_dtype),
            q_heads,
            hidden,
            q_rank,
            kv_rank,
            nope_dim,
            rope_dim,
            v_dim,
            indexer: (top_k > 0).then_some(indexer),
        }
    }
}

impl From<MlaShape> for Codes {
    #[inline]
    fn from(shape: MlaShape) -> Codes {
        let [index_heads, index_dim, top_k] = match shape.indexer {
            Some(indexer) => [indexer.heads, indexer.head_dim, indexer.top_k],
            None => [0; 3],
        };
        [
            shape.dtype.code(),
            shape.attn_dtype.code(),
            shape.kv_dtype.code(),
            shape.q_heads,
            shape.hidden,
            shape.q_rank,
            shape.kv_rank,
            shape.nope_dim,
            shape.rope_dim,
            shape.v_dim,
            index_heads,
            index_dim,
            top_k,
        ]
    }
}

/// Rejects a rank that does not compress, and an indexer with heads of no dimension.
fn check(codes: &Codes) -> Result<(), Contradiction> {
    let MlaShape { hidden, q_rank, indexer, .. } = MlaShape::from(*codes);
    if q_rank > hidden {
        let expected = Expected::new("at most the ", hidden, " of the hidden size");
        let hint = "the query is compressed to q_rank values, 0 if it is not compressed: check both";
        return Err(Contradiction::new("q_rank", expected, hint));
    }
    match indexer {
        Some(Indexer { heads, head_dim, .. }) if (heads == 0) != (head_dim == 0) => {
            let expected = Expected::new("0 if and only if index_heads is 0, with ", heads, " heads");
            let hint = "without heads an earlier layer selects the keys: give both, or 0 for both";
            Err(Contradiction::new("index_dim", expected, hint))
        }
        _ => Ok(()),
    }
}
