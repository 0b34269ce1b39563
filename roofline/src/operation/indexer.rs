//! The indexer of sparse latent attention.

use crate::Dtype;

/// Values that share a scale in the cache of sparse latent attention.
const SCALED: u32 = 128;

/// Bytes of a scale.
const SCALE_BYTES: u32 = 4;

/// The indexer of sparse latent attention (DSA), as in DeepSeek-V3.2: the indexer's own heads score all keys of a query
/// in fp8, and the query attends to the `top_k` keys with the highest scores. Each rank scores with all heads.
///
/// With 0 heads a layer attends to the keys that an earlier layer selected, as in most layers of GLM-5.2: it scores
/// nothing, and caches no key.
///
/// Source: vLLM, `vllm/model_executor/models/deepseek_v2.py` and `vllm/v1/attention/backends/mla/indexer.py`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Indexer {
    /// Heads (`index_n_heads`); 0 where an earlier layer selects the keys.
    pub heads: u32,
    /// Dimension of a head, and of the key that all heads share (`index_head_dim`); 0 without heads.
    pub head_dim: u32,
    /// Maximum number of keys that a query attends to (`index_topk`).
    pub top_k: u32,
}

impl Indexer {
    /// Returns the number of weights: queries from a vector of size `from`, the key and one factor per head from the
    /// hidden state.
    #[inline]
    pub fn weights(&self, from: f64, hidden: f64) -> f64 {
        let [heads, head_dim] = [self.heads, self.head_dim].map(f64::from);
        from * heads * head_dim + hidden * (head_dim + heads)
    }

    /// Returns the FLOPs of scoring `pairs` of a query and a key.
    #[inline]
    pub fn flops(&self, pairs: f64) -> f64 {
        let [heads, head_dim] = [self.heads, self.head_dim].map(f64::from);
        2.0 * heads * head_dim * pairs
    }

    /// Returns the indexer of a layer that attends to the keys that this one selected.
    #[inline]
    #[must_use]
    pub const fn reused(self) -> Indexer {
        Indexer { heads: 0, head_dim: 0, ..self }
    }

    /// Returns the bytes of a cached key: fp8 with a 32-bit scale for 128 values.
    ///
    /// ```
    /// use rooflut_roofline::Indexer;
    /// let deepseek_v3_2 = Indexer { heads: 64, head_dim: 128, top_k: 2048 };
    /// assert_eq!(deepseek_v3_2.key_bytes(), 132);
    /// assert_eq!(deepseek_v3_2.reused().key_bytes(), 0);
    /// ```
    #[inline]
    pub const fn key_bytes(&self) -> u32 {
        scaled_bytes(self.head_dim)
    }

    /// Returns the bytes of a cached latent vector with its rotary key: as stored in 16 bits, or in fp8 with a 32-bit
    /// scale per 128 values plus a 16-bit rotary key (`fp8_ds_mla`).
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, Indexer};
    /// let deepseek_v3_2 = Indexer { heads: 64, head_dim: 128, top_k: 2048 };
    /// let bytes = [Dtype::Bf16, Dtype::Fp8].map(|kv_dtype| deepseek_v3_2.latent_bytes(512, 64, kv_dtype));
    /// assert_eq!(bytes, [1152.0, 656.0]);
    /// ```
    #[inline]
    pub fn latent_bytes(&self, kv_rank: u32, rope_dim: u32, kv_dtype: Dtype) -> f64 {
        let wide = Dtype::Bf16.weight_bytes();
        let latent = match kv_dtype {
            Dtype::Bf16 => f64::from(kv_rank) * wide,
            _ => f64::from(scaled_bytes(kv_rank)),
        };
        latent + f64::from(rope_dim) * wide
    }

    /// Returns twice the number of pairs of a query and a key that attend in a whole prompt, as
    /// [`Prompts::squares`](crate::Prompts) counts all pairs.
    ///
    /// ```
    /// use rooflut_roofline::Indexer;
    /// let indexer = Indexer { heads: 64, head_dim: 128, top_k: 3 };
    /// // The two queries beyond the third attend to three keys each.
    /// assert_eq!([3, 5].map(|length| indexer.squares(length)), [9, 9 + 2 * 2 * 3]);
    /// ```
    #[inline]
    pub const fn squares(&self, length: u64) -> u128 {
        let (length, top_k) = (length as u128, self.top_k as u128);
        let keys = if length < top_k { length } else { top_k };
        keys * (2 * length - keys)
    }
}

/// Returns the bytes of values in fp8 with their scales.
#[inline]
const fn scaled_bytes(values: u32) -> u32 {
    values.saturating_add(values.div_ceil(SCALED).saturating_mul(SCALE_BYTES))
}
