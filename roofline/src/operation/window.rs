//! Causal self-attention within a window of keys, prefill and decode.

use super::attention::{check_heads, shape_columns};
use super::{Codes, Column, ColumnKind, Contradiction, Operation, codes, debug};
use crate::math::sqrt;
use crate::tuned::QUERY_BLOCK;
use crate::{AttentionShape, Dtype, Prompts, RankAttention, Reference, Work};

/// Attention over whole prompts within a window of keys: formats, heads of one rank and window over (batch, seq_len).
pub const WINDOW_PREFILL: Operation = Operation {
    name: "prefill_window",
    file: "attention_prefill_window.csv",
    description: "attention over whole prompts within a window",
    shape: &SHAPE,
    axes: &["batch", "seq_len"],
    optional: &["mfu"],
    check,
    dtype: |codes| WindowShape::from(*codes).dtype,
    work: |codes, [batch, seq_len]| WindowShape::from(*codes).prefill_work(f64::from(batch), f64::from(seq_len)),
    reference_s: |codes, [batch, seq_len], reference| {
        let (batch, seq_len) = (f64::from(batch), f64::from(seq_len));
        WindowShape::from(*codes).prefill_reference_s(batch, seq_len, reference)
    },
    debug: debug::<WindowShape>,
};

/// Attention of one new token per request over the last entries of its KV cache: formats, heads of one rank and
/// window over (batch, kv_len).
pub const WINDOW_DECODE: Operation = Operation {
    name: "decode_window",
    file: "attention_decode_window.csv",
    description: "attention of one new token per request within a window",
    shape: &SHAPE,
    axes: &["batch", "kv_len"],
    optional: &["mfu"],
    check,
    dtype: |codes| WindowShape::from(*codes).dtype,
    work: |codes, [batch, kv_len]| WindowShape::from(*codes).decode_work(f64::from(batch), f64::from(kv_len)),
    reference_s: |codes, [batch, kv_len], reference| {
        let (batch, kv_len) = (f64::from(batch), f64::from(kv_len));
        WindowShape::from(*codes).decode_reference_s(batch, kv_len, reference)
    },
    debug: debug::<WindowShape>,
};

const SHAPE: [Column; 6] = shape_columns(Column::new(
    "window",
    ColumnKind::Whole,
    "Maximum number of keys that a query attends to, its own included; 0 without a limit",
));

/// The static part of an attention kernel with a window: heads of one rank, formats, window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct WindowShape {
    /// Format in which Q, K and V are multiplied.
    pub dtype: Dtype,
    /// Format of the stored KV entries.
    pub kv_dtype: Dtype,
    /// Query heads of one rank.
    pub q_heads: u32,
    /// KV heads of one rank.
    pub kv_heads: u32,
    /// Dimension of a head.
    pub head_dim: u32,
    /// Maximum number of keys that a query attends to, its own included; 0 means no limit.
    pub window: u32,
}

impl WindowShape {
    /// Returns the shape without the window.
    #[inline]
    fn heads(&self) -> AttentionShape {
        AttentionShape {
            dtype: self.dtype,
            kv_dtype: self.kv_dtype,
            q_heads: self.q_heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            tp: 1,
        }
    }

    #[inline]
    fn kernel(&self) -> RankAttention {
        self.heads().on_rank()
    }

    /// Returns the number of keys that a query attends to, given `length` keys up to its own.
    #[inline]
    pub fn keys(&self, length: f64) -> f64 {
        match self.window {
            0 => length,
            window => length.min(f64::from(window)),
        }
    }

    /// Returns FLOPs and bytes of `batch` whole prompts of `seq_len` tokens. The query at position p multiplies
    /// `min(p + 1, window)` keys at 4 heads head_dim FLOPs each; Q, K and V are read and the output is written as
    /// without a window.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, WindowShape};
    /// let shape = WindowShape {
    ///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 8, kv_heads: 2, head_dim: 64, window: 3,
    /// };
    /// // 1 + 2 + 3 + 3 keys.
    /// assert_eq!(shape.prefill_work(1.0, 4.0).flops, 4.0 * 8.0 * 64.0 * 9.0);
    /// ```
    #[inline]
    pub fn prefill_work(&self, batch: f64, seq_len: f64) -> Work {
        let kernel = self.kernel();
        let keys = self.keys(seq_len);
        let pairs = keys * (keys + 1.0) / 2.0 + (seq_len - keys) * keys;
        Work { flops: 4.0 * kernel.q_width * batch * pairs, ..kernel.prefill_work(&Prompts::equal(batch, seq_len)) }
    }

    /// Returns the reference time of whole prompts, seconds: as
    /// [`PrefillPace::reference_s`](crate::PrefillPace::reference_s), with the last query block over the keys in its
    /// window.
    #[inline]
    pub fn prefill_reference_s(&self, batch: f64, seq_len: f64, reference: &Reference) -> f64 {
        let work = self.prefill_work(batch, seq_len);
        let rates = &reference.rates;
        let busy = work.flops * rates.s_per_flop + work.bytes * rates.s_per_byte;
        let head_dim = f64::from(self.head_dim);
        let block_flops = 4.0 * QUERY_BLOCK * head_dim * self.keys(seq_len) * reference.sms;
        let critical = block_flops * rates.s_per_flop;
        reference.t0_s + sqrt(busy * busy + critical * critical)
    }

    /// Returns FLOPs and bytes of one new token for each of `batch` requests of `kv_len` tokens, new token included:
    /// `min(kv_len, window)` KV entries are multiplied and read once.
    #[inline]
    pub fn decode_work(&self, batch: f64, kv_len: f64) -> Work {
        self.kernel().decode_work(batch, batch * self.keys(kv_len))
    }

    /// Returns the reference time of decode attention, seconds: as [`RankAttention::decode_reference_s`] over the
    /// entries in the window.
    #[inline]
    pub fn decode_reference_s(&self, batch: f64, kv_len: f64, reference: &Reference) -> f64 {
        let kv_tokens = batch * self.keys(kv_len);
        self.kernel().decode_reference_s(batch, kv_tokens, reference)
    }
}

codes!(WindowShape [dtype kv_dtype] [q_heads kv_heads head_dim window]);

fn check(codes: &Codes) -> Result<(), Contradiction> {
    check_heads(&WindowShape::from(*codes).heads())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: WindowShape =
        WindowShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Fp8, q_heads: 8, kv_heads: 2, head_dim: 128, window: 100 };

    #[test]
    fn pairs_are_the_sum_over_the_queries() {
        for window in [0, 1, 7, 100, 1000] {
            let shape = WindowShape { window, ..SHAPE };
            for seq_len in [1_u32, 6, 7, 8, 100, 101, 500] {
                let pairs: f64 = (1..=seq_len).map(|length| shape.keys(f64::from(length))).sum();
                let found = shape.prefill_work(3.0, f64::from(seq_len)).flops;
                let expected = 3.0 * 4.0 * 8.0 * 128.0 * pairs;
                assert!((found / expected - 1.0).abs() < 1e-12, "{window} {seq_len}");
            }
        }
    }

    #[test]
    fn decode_reads_no_more_than_the_window() {
        let full = SHAPE.decode_work(4.0, 100.0);
        assert_eq!(SHAPE.decode_work(4.0, 5000.0), full);
        let all = WindowShape { window: 0, ..SHAPE };
        assert!(all.decode_work(4.0, 5000.0).bytes > full.bytes);
        assert_eq!(all.decode_work(4.0, 100.0), full);
    }
}
