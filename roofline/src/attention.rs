//! Causal self-attention, prefill and decode.

use crate::{Dtype, Work};

/// Bytes of one element of Q and of the output, which stay 16-bit.
const QO_BYTES: f64 = 2.0;

/// Causal prefill attention does `2 heads head_dim S^2` FLOPs: QK and PV are `4 heads head_dim S^2`,
/// the causal mask leaves half.
pub const PREFILL_FLOPS_PER_SQUARE: f64 = 2.0;

/// The static part of an attention kernel: heads, formats and how they are sharded.
///
/// Heads are global, before tensor parallelism divides them by `tp`; a per-rank shape has `tp` 1.
/// Where `tp` exceeds the KV heads, these are replicated: one per rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttentionShape {
    /// Format of the math (Q, K, V as multiplied).
    pub dtype: Dtype,
    /// Format of the stored KV entries.
    pub kv_dtype: Dtype,
    /// Query heads over all ranks.
    pub q_heads: u32,
    /// KV heads over all ranks.
    pub kv_heads: u32,
    /// Dimension of a head.
    pub head_dim: u32,
    /// Tensor parallelism.
    pub tp: u32,
}

impl AttentionShape {
    /// The shape that one rank computes: heads divided by `tp`, at least one KV head, `tp` 1.
    pub fn local(&self) -> AttentionShape {
        let tp = self.tp.max(1);
        AttentionShape {
            q_heads: (self.q_heads / tp).max(1),
            kv_heads: (self.kv_heads / tp).max(1),
            tp: 1,
            ..*self
        }
    }

    /// FLOPs and bytes, on one rank, of prompt chunks described by two sums over the chunks.
    ///
    /// A chunk of `n` new tokens after `c` cached ones multiplies `n (c + n/2)` pairs, so
    /// FLOPs = 2 heads head_dim x `squares` with `squares` = sum of n (n + 2 c); Q is read and the
    /// output written for the `new` tokens, K and V are read for all `total` = sum of (c + n).
    ///
    /// ```
    /// use rooflut_roofline::{AttentionShape, Dtype};
    /// let shape = AttentionShape {
    ///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 1,
    /// };
    /// let work = shape.prefill_work(1024.0, 1024.0, 1024.0 * 1024.0);
    /// assert_eq!(work.flops, 2.0 * 32.0 * 128.0 * 1024.0 * 1024.0);
    /// assert_eq!(work.bytes, 2.0 * 1024.0 * 128.0 * (2.0 * 32.0 + 2.0 * 8.0));
    /// ```
    pub fn prefill_work(&self, new: f64, total: f64, squares: f64) -> Work {
        Work {
            flops: PREFILL_FLOPS_PER_SQUARE * self.local_q_width() * squares,
            bytes: 2.0 * new * self.local_q_width() * QO_BYTES + total * self.local_kv_bytes(),
            link_bytes: 0.0,
        }
    }

    /// FLOPs and bytes, on one rank, of one new token for each of `requests` whose KV lengths (new
    /// token included) add up to `kv_tokens`: 4 heads head_dim kv FLOPs, K and V read once.
    ///
    /// ```
    /// use rooflut_roofline::{AttentionShape, Dtype};
    /// let shape = AttentionShape {
    ///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 2,
    /// };
    /// let work = shape.decode_work(4.0, 4.0 * 1000.0);
    /// assert_eq!(work.flops, 4.0 * 16.0 * 128.0 * 4000.0);
    /// assert_eq!(work.bytes, 4000.0 * 2.0 * 4.0 * 128.0 * 2.0 + 4.0 * 2.0 * 16.0 * 128.0 * 2.0);
    /// ```
    pub fn decode_work(&self, requests: f64, kv_tokens: f64) -> Work {
        Work {
            flops: 4.0 * self.local_q_width() * kv_tokens,
            bytes: 2.0 * requests * self.local_q_width() * QO_BYTES
                + kv_tokens * self.local_kv_bytes(),
            link_bytes: 0.0,
        }
    }

    /// Bytes of K and V of one token in one layer, on one rank.
    pub fn local_kv_bytes(&self) -> f64 {
        let local = self.local();
        2.0 * f64::from(local.kv_heads)
            * f64::from(local.head_dim)
            * self.kv_dtype.weight_bytes()
    }

    fn local_q_width(&self) -> f64 {
        let local = self.local();
        f64::from(local.q_heads) * f64::from(local.head_dim)
    }

    /// The shape as one integer, for perfect hashing; `None` where a number exceeds its bits (16 for
    /// heads and head_dim, 8 for tp): no table holds such a shape, the code generator refuses it.
    pub fn packed(&self) -> Option<u64> {
        let fits = self.q_heads >> 16 == 0
            && self.kv_heads >> 16 == 0
            && self.head_dim >> 16 == 0
            && self.tp >> 8 == 0;
        fits.then_some(
            u64::from(self.q_heads) << 48
                | u64::from(self.kv_heads) << 32
                | u64::from(self.head_dim) << 16
                | u64::from(self.tp) << 8
                | self.dtype.code() << 4
                | self.kv_dtype.code(),
        )
    }
}
