//! Whole layers of multi-head latent attention (MLA), prefill and decode.

use super::{Codes, Column, ColumnKind, Contradiction, Expected, Operation, codes, debug};
use crate::{Dtype, Prompts, Reference, Work};

/// Latent attention over whole prompts, with its projections: formats, heads of one rank and dimensions over (batch,
/// seq_len).
pub const MLA_PREFILL: Operation = Operation {
    name: "mla_prefill",
    file: "mla_prefill.csv",
    description: "layer of latent attention over whole prompts",
    feature: Some("mla"),
    shape: &SHAPE,
    axes: &["batch", "seq_len"],
    optional: &[],
    check,
    dtype: |codes| MlaShape::from(*codes).dtype,
    work: |codes, [batch, seq_len]| {
        let prompts = Prompts::equal(f64::from(batch), f64::from(seq_len));
        MlaShape::from(*codes).prefill_work(&prompts)
    },
    reference_s: |codes, [batch, seq_len], reference| {
        let prompts = Prompts::equal(f64::from(batch), f64::from(seq_len));
        MlaShape::reference_s(&MlaShape::from(*codes).prefill_work(&prompts), reference)
    },
    debug: debug::<MlaShape>,
};

/// Latent attention of one new token per request over its KV cache, with its projections: formats, heads of one rank
/// and dimensions over (batch, kv_len).
pub const MLA_DECODE: Operation = Operation {
    name: "mla_decode",
    file: "mla_decode.csv",
    description: "layer of latent attention of one new token per request",
    feature: Some("mla"),
    shape: &SHAPE,
    axes: &["batch", "kv_len"],
    optional: &[],
    check,
    dtype: |codes| MlaShape::from(*codes).dtype,
    work: |codes, [batch, kv_len]| {
        let requests = f64::from(batch);
        MlaShape::from(*codes).decode_work(requests, requests * f64::from(kv_len))
    },
    reference_s: |codes, [batch, kv_len], reference| {
        let requests = f64::from(batch);
        let work = MlaShape::from(*codes).decode_work(requests, requests * f64::from(kv_len));
        MlaShape::reference_s(&work, reference)
    },
    debug: debug::<MlaShape>,
};

const SHAPE: [Column; 10] = [
    Column::dtype("dtype"),
    Column::dtype("attn_dtype"),
    Column::dtype("kv_dtype"),
    Column::count("q_heads"),
    Column::count("hidden"),
    Column::new("q_rank", ColumnKind::Whole),
    Column::count("kv_rank"),
    Column::count("nope_dim"),
    Column::count("rope_dim"),
    Column::count("v_dim"),
];

/// Bytes of a hidden value that enters or leaves the layer: 16 bits.
const HIDDEN_BYTES: f64 = 2.0;

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
    /// Rank of the compressed query; 0 where it is not compressed.
    pub q_rank: u32,
    /// Rank of the latent vector of keys and values.
    pub kv_rank: u32,
    /// Dimension of a head of queries and keys without rotary embedding.
    pub nope_dim: u32,
    /// Dimension of a head of queries and keys with rotary embedding.
    pub rope_dim: u32,
    /// Dimension of a head of values.
    pub v_dim: u32,
}

impl MlaShape {
    /// Returns FLOPs and bytes of prompt chunks on one rank.
    ///
    /// All tokens pass the projections. Keys and values of new and cached tokens are expanded to the heads, and a pair
    /// of a query and a key takes `2 q_heads (nope_dim + rope_dim + v_dim)` FLOPs. FLOPs are counted in the format of
    /// the projections: a FLOP of 16-bit attention beside fp8 projections counts as two.
    ///
    /// Source: vLLM, `vllm/model_executor/layers/attention/mla_attention.py`.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, MlaShape, Prompts};
    /// let shape = MlaShape {
    ///     dtype: Dtype::Bf16, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 128,
    ///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128,
    /// };
    /// let prompt = shape.prefill_work(&Prompts::equal(1.0, 1000.0));
    /// let weights = 7168.0 * 2112.0 + 128.0 * (1536.0 * 192.0 + 512.0 * 256.0 + 128.0 * 7168.0);
    /// assert_eq!(prompt.flops, 2000.0 * weights + 1e6 * 128.0 * 320.0);
    /// ```
    #[inline]
    pub fn prefill_work(&self, prompts: &Prompts) -> Work {
        let [q_heads, nope_dim, rope_dim, v_dim] =
            [self.q_heads, self.nope_dim, self.rope_dim, self.v_dim].map(f64::from);
        let attention = q_heads * (nope_dim + rope_dim + v_dim) * prompts.squares;
        let expanded = 2.0 * prompts.context * self.expansion();
        let mut work = self.work(prompts.new, attention, prompts.new + prompts.context);
        work.flops += expanded;
        work
    }

    /// Returns FLOPs and bytes, on one rank, of `tokens` new tokens that attend to `kv_tokens` KV entries in total. The
    /// query is multiplied with the latent vectors, which takes `2 q_heads (2 kv_rank + rope_dim)` FLOPs an entry; each
    /// entry is read once.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, MlaShape};
    /// let shape = MlaShape {
    ///     dtype: Dtype::Fp8Block, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16,
    ///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128,
    /// };
    /// let [short, long] = [1e3, 2e3].map(|kv_tokens| shape.decode_work(1.0, kv_tokens));
    /// // 16-bit FLOPs count as two in fp8.
    /// assert_eq!(long.flops - short.flops, 2.0 * 1e3 * 2.0 * 16.0 * 1088.0);
    /// assert_eq!(long.bytes - short.bytes, 1e3 * 1152.0);
    /// ```
    #[inline]
    pub fn decode_work(&self, tokens: f64, kv_tokens: f64) -> Work {
        let [q_heads, kv_rank, rope_dim] =
            [self.q_heads, self.kv_rank, self.rope_dim].map(f64::from);
        let attention = 2.0 * q_heads * (2.0 * kv_rank + rope_dim) * kv_tokens;
        self.work(tokens, attention, kv_tokens)
    }

    /// Returns the reference time, seconds: launch time, FLOPs at the peak and traffic, which hardly overlap in a
    /// sequence of small kernels.
    ///
    /// Source: the form with the smallest leave-one-out errors among those with the launch time as the only constant.
    #[inline]
    pub fn reference_s(work: &Work, reference: &Reference) -> f64 {
        let rates = &reference.rates;
        reference.t0_s + work.flops * rates.s_per_flop + work.bytes * rates.s_per_byte
    }

    fn work(&self, tokens: f64, attention_flops: f64, kv_tokens: f64) -> Work {
        let [hidden, q_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim] = [
            self.hidden,
            self.q_heads,
            self.q_rank,
            self.kv_rank,
            self.nope_dim,
            self.rope_dim,
            self.v_dim,
        ]
        .map(f64::from);
        let latent = kv_rank + rope_dim;
        let from = if self.q_rank == 0 { hidden } else { q_rank };
        let each = hidden * (q_rank + latent);
        let head = from * (nope_dim + rope_dim) + v_dim * hidden;
        let weights = each + q_heads * head + self.expansion();
        let peaks = self.dtype.relative_peak() / self.attn_dtype.relative_peak();
        Work {
            flops: 2.0 * tokens * weights + attention_flops * peaks,
            bytes: weights * self.dtype.weight_bytes()
                + 2.0 * tokens * hidden * HIDDEN_BYTES
                + kv_tokens * latent * self.kv_dtype.weight_bytes(),
            link_bytes: 0.0,
        }
    }

    /// Returns the number of weights that expand the latent vector to keys and values of the heads.
    fn expansion(&self) -> f64 {
        let [q_heads, kv_rank, nope_dim, v_dim] =
            [self.q_heads, self.kv_rank, self.nope_dim, self.v_dim].map(f64::from);
        q_heads * kv_rank * (nope_dim + v_dim)
    }
}

codes!(MlaShape [dtype attn_dtype kv_dtype]
    [q_heads hidden q_rank kv_rank nope_dim rope_dim v_dim] []);

/// Rejects a rank that does not compress.
fn check(codes: &Codes) -> Result<(), Contradiction> {
    let MlaShape { hidden, q_rank, .. } = MlaShape::from(*codes);
    if q_rank <= hidden {
        return Ok(());
    }
    let expected = Expected::new("at most the ", hidden, " of the hidden size");
    let hint = "the query is compressed to q_rank values, 0 where it is not: check both";
    Err(Contradiction::new("q_rank", expected, hint))
}
