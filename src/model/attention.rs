//! The attention of a layer.

use super::checks::{MAX_COUNT, MAX_WIDTH, divides, product, within};
use super::{Compressed, Msa, Span};
use crate::error::Invalid;
use crate::hardware::{Dtype, Indexer};

/// Tokens that the convolution of a gated delta net reads.
const CONV_WIDTH: u64 = 4;

/// The attention of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Attention {
    /// Groups of query heads that share a key and a value head.
    Gqa(Gqa),
    /// Heads that share a latent vector of keys and values.
    Mla(Mla),
    /// A gated delta net: keeps a state instead of keys and values.
    DeltaNet(DeltaNet),
    /// Heads that share one vector per token as key and value, and attend to compressed ones.
    Compressed(Compressed),
    /// Groups of query heads that attend to selected blocks of keys.
    Msa(Msa),
}

/// Groups of query heads that share a key and a value head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Gqa {
    /// Query heads.
    pub q_heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Dimension of a head; not always hidden / q_heads.
    pub head_dim: u32,
    /// Whether a gate as wide as the queries multiplies the output, as in Qwen3-Next.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "core::ops::Not::not"))]
    pub output_gate: bool,
    /// Whether queries and keys have norms over all their heads, as in MiniMax-M2: ranks all-reduce two 32-bit
    /// variances per token (vLLM's `MiniMaxText01RMSNormTP.forward_qk`).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "core::ops::Not::not"))]
    pub joint_qk_norm: bool,
    /// The tokens that a token attends to.
    #[cfg_attr(feature = "serde", serde(default))]
    pub span: Span,
}

/// Multi-head latent attention, as in DeepSeek-V3: the cache holds a latent vector and a rotary key for each token. All
/// heads share these, and each rank of tensor parallelism has a copy.
///
/// ```
/// use rooflut::model::ModelSpec;
/// let deepseek_v3 = ModelSpec::builder()
///     .hidden(7168).layers(3).q_heads(128).q_rank(1536).kv_rank(512).nope_dim(128).rope_dim(64).v_dim(128)
///     .intermediate(18_432)
///     .and_layers(58).experts(256).top_k(8).intermediate(2048).shared_intermediate(2048)
///     .vocab(129_280).max_model_len(163_840)
///     .build()?;
/// assert_eq!(deepseek_v3.weight_params() / 1_000_000_000, 671);
/// // The latent vector and the rotary key are on each rank.
/// let attention = deepseek_v3.layers.first().attention;
/// assert_eq!((attention.kv_values(1), attention.kv_values(8)), (576, 576));
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Mla {
    /// Query heads.
    pub q_heads: u32,
    /// Rank of the compressed query (`q_lora_rank`); 0 where it is not compressed.
    pub q_rank: u32,
    /// Rank of the latent vector (`kv_lora_rank`).
    pub kv_rank: u32,
    /// Dimension of a head of queries and keys without rotary embedding (`qk_nope_head_dim`).
    pub nope_dim: u32,
    /// Dimension of a head of queries and keys with rotary embedding (`qk_rope_head_dim`).
    pub rope_dim: u32,
    /// Dimension of a head of values (`v_head_dim`).
    pub v_dim: u32,
    /// The indexer of sparse attention (DSA), as in DeepSeek-V3.2 and GLM-5; `None` if a token attends to all tokens
    /// before it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub indexer: Option<Indexer>,
}

/// A gated delta net, as in Qwen3-Next and Qwen3.5: a short convolution, and a state of `head_dim` x `head_dim` 32-bit
/// numbers per value head that each token updates, whatever the number of tokens before it.
///
/// Assumes: a convolution over four tokens; a 32-bit state, as the configuration of Qwen3.5 asks for. vLLM keeps the
/// states of Qwen3-Next in 16 bits, half as large, unless it runs with `--mamba-ssm-cache-dtype float32`.
///
/// ```
/// use rooflut::model::ModelSpec;
/// let qwen3_next = ModelSpec::builder()
///     .hidden(2048).layers(36).k_heads(16).v_heads(32).head_dim(128)
///     .experts(512).top_k(10).intermediate(512).shared_intermediate(512)
///     .and_layers(12).v_heads(0).q_heads(16).kv_heads(2).head_dim(256).output_gate(true)
///     .vocab(151_936).max_model_len(262_144)
///     .build()?;
/// assert_eq!(qwen3_next.weight_params() / 100_000_000, 796);
/// assert_eq!(qwen3_next.layers.first().attention.kv_values(1), 0);
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct DeltaNet {
    /// Heads of queries, and of keys (`linear_num_key_heads`).
    pub k_heads: u32,
    /// Heads of values (`linear_num_value_heads`).
    pub v_heads: u32,
    /// Dimension of a head of keys and of values (`linear_key_head_dim`).
    pub head_dim: u32,
}

impl Attention {
    /// Returns the number of query heads.
    pub const fn q_heads(&self) -> u32 {
        match self {
            Attention::Gqa(gqa) => gqa.q_heads,
            Attention::Mla(mla) => mla.q_heads,
            Attention::DeltaNet(net) => net.k_heads,
            Attention::Compressed(compressed) => compressed.q_heads,
            Attention::Msa(msa) => msa.q_heads,
        }
    }

    /// Returns the tokens that a token attends to; [`Span::Full`] for a window beside compressed keys.
    pub const fn span(&self) -> Span {
        match self {
            Attention::Gqa(gqa) => gqa.span,
            Attention::Mla(_) | Attention::DeltaNet(_) | Attention::Compressed(_) | Attention::Msa(_) => Span::Full,
        }
    }

    /// Returns the attention with another span; attention of a kind that has none stays as it is.
    #[must_use]
    pub const fn with_span(self, span: Span) -> Attention {
        match self {
            Attention::Gqa(gqa) => Attention::Gqa(Gqa { span, ..gqa }),
            other => other,
        }
    }

    /// Returns the number of values that the KV cache of one of `tp` ranks holds for a token: K and V of its heads, or
    /// the latent vector and the rotary key, with a copy on each rank. Gated delta nets hold no values, and a
    /// compressed key, which stands for several tokens, is not counted.
    pub fn kv_values(&self, tp: u32) -> u32 {
        match self {
            Attention::Gqa(gqa) => {
                let heads = (gqa.kv_heads / tp.max(1)).max(1);
                2 * heads * gqa.head_dim
            }
            Attention::Msa(msa) => 2 * (msa.kv_heads / tp.max(1)).max(1) * msa.head_dim,
            Attention::Mla(mla) => mla.latent(),
            Attention::DeltaNet(_) | Attention::Compressed(_) => 0,
        }
    }

    /// Returns the bytes that the KV cache of one of `tp` ranks holds for a token: its [`kv_values`](Self::kv_values) in
    /// `kv_dtype`, and with an indexer its key, beside latent vectors that have scales in fp8; for compressed
    /// keys, the bytes of a key divided by its tokens.
    pub fn kv_bytes(&self, tp: u32, kv_dtype: Dtype) -> f64 {
        match self {
            Attention::Mla(Mla { kv_rank, rope_dim, indexer: Some(indexer), .. }) => {
                let latent = indexer.latent_bytes(*kv_rank, *rope_dim, kv_dtype);
                latent + f64::from(indexer.key_bytes())
            }
            Attention::Compressed(compressed) => compressed.kv_bytes(),
            Attention::Msa(msa) => f64::from(self.kv_values(tp)) * kv_dtype.weight_bytes() + msa.key_bytes(),
            _ => f64::from(self.kv_values(tp)) * kv_dtype.weight_bytes(),
        }
    }

    /// Returns the number of weights of the projections from an input and to an output of these widths.
    pub(super) fn params(&self, widths: [u32; 2]) -> u64 {
        let (each, divided) = self.projections(widths, 1);
        each.saturating_add(divided)
    }

    /// Returns the number of weights that one of `tp` ranks holds.
    pub(super) fn rank_params(&self, widths: [u32; 2], tp: u32) -> f64 {
        let (each, divided) = self.projections(widths, tp);
        each as f64 + divided as f64 / f64::from(tp)
    }

    /// Returns the numbers of weights that each of `tp` ranks holds, and that they divide: query heads with
    /// their gates, and KV heads unless there are more ranks than these. MLA compresses and selects keys on each rank.
    fn projections(&self, [input, size]: [u32; 2], tp: u32) -> (u64, u64) {
        let (input, hidden) = (u64::from(input), u64::from(size));
        match *self {
            Attention::Gqa(gqa) => {
                let head = product([input, gqa.head_dim.into()]);
                let output = product([hidden, gqa.head_dim.into()]);
                let gate = if gqa.output_gate { head } else { 0 };
                let q = product([head + output + gate, gqa.q_heads.into()]);
                let kv = product([2 * head, gqa.kv_heads.into()]);
                if tp > gqa.kv_heads { (2 * head, q) } else { (0, q.saturating_add(kv)) }
            }
            Attention::Mla(mla) => {
                let query = u64::from(mla.nope_dim) + u64::from(mla.rope_dim);
                let from = if mla.q_rank == 0 { input } else { mla.q_rank.into() };
                let compressed = u64::from(mla.q_rank) + u64::from(mla.latent());
                let expanded = u64::from(mla.nope_dim) + u64::from(mla.v_dim);
                let head = product([from, query])
                    .saturating_add(product([mla.kv_rank.into(), expanded]))
                    .saturating_add(product([mla.v_dim.into(), hidden]));
                let divided = product([head, mla.q_heads.into()]);
                let indexer = mla.indexer.map_or(0, |indexer| {
                    let (heads, head_dim) = (u64::from(indexer.heads), u64::from(indexer.head_dim));
                    product([from, heads, head_dim]).saturating_add(product([hidden, head_dim + heads]))
                });
                (product([input, compressed]).saturating_add(indexer), divided)
            }
            Attention::DeltaNet(net) => {
                let (convolved, values) = (u64::from(net.convolved()), u64::from(net.values()));
                // Two gates per head of values; queries, keys, values, the gate of the output, and the output.
                let width = convolved + 2 * values + 2 * u64::from(net.v_heads);
                let conv = product([convolved, CONV_WIDTH]);
                (0, product([hidden, width]).saturating_add(conv))
            }
            Attention::Compressed(compressed) => {
                let each = Compressed { q_heads: 0, ..compressed }.params(size);
                (each, compressed.params(size).saturating_sub(each))
            }
            Attention::Msa(msa) => {
                let key = product([hidden, msa.index_dim.into()]);
                let q = product([2 * hidden, msa.head_dim.into(), msa.q_heads.into()]);
                let head = product([2 * hidden, msa.head_dim.into()]).saturating_add(key);
                let kv = product([head, msa.kv_heads.into()]);
                if tp > msa.kv_heads { (key.saturating_add(head), q) } else { (key, q.saturating_add(kv)) }
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        within(self.heads_field(), self.q_heads(), MAX_COUNT)?;
        match *self {
            Attention::Gqa(gqa) => {
                within("kv_heads", gqa.kv_heads, MAX_COUNT)?;
                within("head_dim", gqa.head_dim, MAX_COUNT)?;
                divides("q_heads", gqa.q_heads, "kv_heads", gqa.kv_heads)?;
            }
            Attention::Mla(mla) => {
                within("q_rank", mla.q_rank.max(1), MAX_WIDTH)?;
                within("kv_rank", mla.kv_rank, MAX_WIDTH)?;
                within("nope_dim", mla.nope_dim, MAX_COUNT)?;
                within("rope_dim", mla.rope_dim, MAX_COUNT)?;
                within("v_dim", mla.v_dim, MAX_COUNT)?;
                mla.indexer.map_or(Ok(()), check_indexer)?;
            }
            Attention::DeltaNet(net) => {
                within("v_heads", net.v_heads, MAX_COUNT)?;
                within("head_dim", net.head_dim, MAX_COUNT)?;
                divides("v_heads", net.v_heads, "k_heads", net.k_heads)?;
            }
            Attention::Compressed(compressed) => {
                compressed.check()?;
                if let Some(indexer) = compressed.indexer {
                    within("index_heads", indexer.heads, MAX_COUNT)?;
                    check_indexer(indexer)?;
                }
            }
            Attention::Msa(msa) => msa.check()?,
        }
        match self.span() {
            Span::Full => Ok(()),
            Span::Window(tokens) => within("window", tokens, u32::MAX),
            Span::Chunk(tokens) => within("chunk", tokens, u32::MAX),
        }
    }

    /// Checks that `tp` ranks can share the heads.
    pub(super) fn check_parallelism(&self, tp: u32) -> Result<(), Invalid> {
        divides(self.heads_field(), self.q_heads(), "tp", tp)?;
        match self {
            Attention::Gqa(Gqa { kv_heads, .. }) | Attention::Msa(Msa { kv_heads, .. }) => match tp {
                ranks if ranks > *kv_heads => divides("tp", tp, "kv_heads", *kv_heads),
                _ => divides("kv_heads", *kv_heads, "tp", tp),
            },
            Attention::Mla(_) => Ok(()),
            Attention::DeltaNet(net) => divides("v_heads", net.v_heads, "tp", tp),
            Attention::Compressed(compressed) => divides("o_groups", compressed.o_groups, "tp", tp),
        }
    }

    /// Returns the name of the field that [`q_heads`](Self::q_heads) reads.
    const fn heads_field(&self) -> &'static str {
        match self {
            Attention::Gqa(_) | Attention::Mla(_) | Attention::Compressed(_) | Attention::Msa(_) => "q_heads",
            Attention::DeltaNet(_) => "k_heads",
        }
    }
}

impl DeltaNet {
    /// Returns the part of one of `tp` ranks, which divide the heads.
    pub(crate) fn local(&self, tp: u32) -> DeltaNet {
        let tp = tp.max(1);
        DeltaNet { k_heads: self.k_heads / tp, v_heads: self.v_heads / tp, ..*self }
    }

    /// Returns the values of queries, keys and values of a token, which enter the convolution.
    pub(crate) const fn convolved(&self) -> u32 {
        (2 * self.k_heads).saturating_add(self.v_heads).saturating_mul(self.head_dim)
    }

    /// Returns the values of all heads of values of a token.
    pub(crate) const fn values(&self) -> u32 {
        self.v_heads.saturating_mul(self.head_dim)
    }

    /// Returns the bytes of the state that one of `tp` ranks keeps for a request in one layer, whatever its length: the
    /// 32-bit state of each head of values, and the last 16-bit inputs of the convolution.
    ///
    /// ```
    /// use rooflut::model::{Attention, find};
    /// let qwen = find("qwen3-next-80b-a3b").unwrap().spec;
    /// let Attention::DeltaNet(net) = qwen.layers.first().attention else {
    ///     panic!("expected a gated delta net first")
    /// };
    /// assert_eq!(net.state_bytes(4), 8 * 128 * 128 * 4 + (2 * 4 + 8) * 128 * 3 * 2);
    /// ```
    pub fn state_bytes(&self, tp: u32) -> u64 {
        let net = self.local(tp);
        let state = product([net.values().into(), net.head_dim.into(), 4]);
        state.saturating_add(product([net.convolved().into(), CONV_WIDTH - 1, 2]))
    }
}

impl Mla {
    /// Returns the number of values that the cache holds for a token: the latent vector and the rotary key.
    pub const fn latent(&self) -> u32 {
        self.kv_rank.saturating_add(self.rope_dim)
    }
}

fn check_indexer(indexer: Indexer) -> Result<(), Invalid> {
    within("index_heads", indexer.heads.max(1), MAX_COUNT)?;
    match indexer {
        Indexer { heads: 0, head_dim: 0, .. } => {}
        Indexer { heads: 0, head_dim, .. } => {
            return Err(Invalid::new("index_dim", "expected 0 without index heads, found {}", &[head_dim.into()]));
        }
        Indexer { head_dim, .. } => within("index_dim", head_dim, MAX_COUNT)?,
    }
    within("index_top_k", indexer.top_k, u32::MAX)
}
