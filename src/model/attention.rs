//! The attention of a layer.

use super::checks::{MAX_COUNT, MAX_WIDTH, divides, product, within};
use super::{Span, SpecError};

/// The attention of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Attention {
    /// Groups of query heads that share a key and a value head.
    Gqa(Gqa),
    /// Heads that share a latent vector of keys and values.
    Mla(Mla),
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
    /// Dimension of a head, which is not always hidden / q_heads.
    pub head_dim: u32,
    /// The tokens that a token attends to.
    #[cfg_attr(feature = "serde", serde(default))]
    pub span: Span,
}

/// Multi-head latent attention, as in DeepSeek-V3: the cache holds a latent vector and a rotary key for each token,
/// which all heads share and which each rank of tensor parallelism has.
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
/// # Ok::<(), rooflut::model::SpecError>(())
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
}

impl Attention {
    /// Returns the number of query heads.
    pub const fn q_heads(&self) -> u32 {
        match self {
            Attention::Gqa(gqa) => gqa.q_heads,
            Attention::Mla(mla) => mla.q_heads,
        }
    }

    /// Returns the tokens that a token attends to.
    pub const fn span(&self) -> Span {
        match self {
            Attention::Gqa(gqa) => gqa.span,
            Attention::Mla(_) => Span::Full,
        }
    }

    /// Returns the attention with another span; attention of a kind that has none stays as it is.
    #[must_use]
    pub const fn with_span(self, span: Span) -> Attention {
        match self {
            Attention::Gqa(gqa) => Attention::Gqa(Gqa { span, ..gqa }),
            mla @ Attention::Mla(_) => mla,
        }
    }

    /// Returns the number of values that the KV cache of one of `tp` ranks holds for a token: K and V of its heads, or
    /// the latent vector and the rotary key, which each rank has.
    pub fn kv_values(&self, tp: u32) -> u32 {
        match self {
            Attention::Gqa(gqa) => {
                let heads = (gqa.kv_heads / tp.max(1)).max(1);
                2 * heads * gqa.head_dim
            }
            Attention::Mla(mla) => mla.latent(),
        }
    }

    /// Returns the number of weights of the projections from and to a hidden state of this size.
    pub(super) fn params(&self, hidden: u32) -> u64 {
        let (each, divided) = self.projections(hidden, 1);
        each.saturating_add(divided)
    }

    /// Returns the number of weights that one of `tp` ranks holds.
    pub(super) fn rank_params(&self, hidden: u32, tp: u32) -> f64 {
        let (each, divided) = self.projections(hidden, tp);
        each as f64 + divided as f64 / f64::from(tp)
    }

    /// Returns the numbers of weights that each of `tp` ranks holds, and that they divide: KV heads beyond the ranks,
    /// and all query heads. MLA compresses on each rank.
    fn projections(&self, hidden: u32, tp: u32) -> (u64, u64) {
        let hidden = u64::from(hidden);
        match *self {
            Attention::Gqa(gqa) => {
                let head = 2 * product([hidden, gqa.head_dim.into()]);
                let q = product([head, gqa.q_heads.into()]);
                let kv = product([head, gqa.kv_heads.into()]);
                match tp > gqa.kv_heads {
                    true => (head, q),
                    false => (0, q.saturating_add(kv)),
                }
            }
            Attention::Mla(mla) => {
                let query = u64::from(mla.nope_dim) + u64::from(mla.rope_dim);
                let from = if mla.q_rank == 0 {
                    hidden
                } else {
                    mla.q_rank.into()
                };
                let compressed = u64::from(mla.q_rank) + u64::from(mla.latent());
                let expanded = u64::from(mla.nope_dim) + u64::from(mla.v_dim);
                let head = product([from, query])
                    .saturating_add(product([mla.kv_rank.into(), expanded]))
                    .saturating_add(product([mla.v_dim.into(), hidden]));
                let divided = product([head, mla.q_heads.into()]);
                (product([hidden, compressed]), divided)
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        within("q_heads", self.q_heads(), MAX_COUNT)?;
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
            }
        }
        match self.span() {
            Span::Full => Ok(()),
            Span::Window(tokens) => within("window", tokens, u32::MAX),
            Span::Chunk(tokens) => within("chunk", tokens, u32::MAX),
        }
    }

    /// Checks that `tp` ranks can share the heads.
    pub(super) fn check_parallelism(&self, tp: u32) -> Result<(), SpecError> {
        divides("q_heads", self.q_heads(), "tp", tp)?;
        match self {
            Attention::Gqa(Gqa { kv_heads, .. }) if tp > *kv_heads => {
                divides("tp", tp, "kv_heads", *kv_heads)
            }
            Attention::Gqa(Gqa { kv_heads, .. }) => divides("kv_heads", *kv_heads, "tp", tp),
            Attention::Mla(_) => Ok(()),
        }
    }
}

impl Mla {
    /// Returns the number of values that the cache holds for a token: the latent vector and the rotary key.
    pub const fn latent(&self) -> u32 {
        self.kv_rank.saturating_add(self.rope_dim)
    }
}
