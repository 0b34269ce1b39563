//! Causal self-attention, prefill and decode.

use super::{Column, ColumnKind, Contradiction, Expected, Operation, codes, debug};
use crate::math::sqrt;
use crate::tuned::QUERY_BLOCK;
use crate::{Dtype, Reference, Work};

/// Causal attention over whole prompts: formats and heads over (batch, seq_len).
pub const PREFILL: Operation = Operation {
    name: "prefill",
    file: "attention_prefill.csv",
    description: "attention over whole prompts",
    shape: &shape_columns(Column::new("tp", ColumnKind::CountOr(1), TP)),
    axes: &["batch", "seq_len"],
    optional: &["mfu"],
    check: |codes| check_heads(&AttentionShape::from(*codes)),
    dtype: |codes| AttentionShape::from(*codes).dtype,
    work: |codes, [batch, seq_len]| {
        let prompts = Prompts::equal(f64::from(batch), f64::from(seq_len));
        AttentionShape::from(*codes).on_rank().prefill_work(&prompts)
    },
    reference_s: |codes, [batch, seq_len], reference| {
        let pace = AttentionShape::from(*codes).on_rank().prefill_pace(reference);
        pace.reference_s(f64::from(batch), f64::from(seq_len))
    },
    debug: debug::<AttentionShape>,
};

/// Attention of one new token per request over its KV cache: formats and heads over (batch, kv_len).
pub const DECODE: Operation = Operation {
    name: "decode",
    file: "attention_decode.csv",
    description: "attention of one new token per request",
    shape: &shape_columns(Column::count("tp", TP).usually(1)),
    axes: &["batch", "kv_len"],
    optional: &["mfu"],
    check: |codes| check_heads(&AttentionShape::from(*codes)),
    dtype: |codes| AttentionShape::from(*codes).dtype,
    work: |codes, [batch, kv_len]| {
        let requests = f64::from(batch);
        AttentionShape::from(*codes).on_rank().decode_work(requests, requests * f64::from(kv_len))
    },
    reference_s: |codes, [batch, kv_len], reference| {
        let requests = f64::from(batch);
        AttentionShape::from(*codes).on_rank().decode_reference_s(requests, requests * f64::from(kv_len), reference)
    },
    debug: debug::<AttentionShape>,
};

const TP: &str = "Tensor parallelism, which divides the heads";

/// Returns the columns of formats and heads, with `last` as the last one.
pub(super) const fn shape_columns(last: Column) -> [Column; 6] {
    [
        Column::dtype("dtype", "Format of the math"),
        Column::dtype("kv_dtype", "Format of the KV cache"),
        Column::count("q_heads", "Query heads"),
        Column::count("kv_heads", "KV heads"),
        Column::count("head_dim", "Dimension of a head").usually(128),
        last,
    ]
}

/// Bytes of one 16-bit element of Q, of the output, and of newly computed K and V.
const QO_BYTES: f64 = 2.0;

/// FLOPs of causal prefill attention per head, head dimension and squared length: QK and PV take `4 heads head_dim
/// S^2`, and the causal mask halves that.
const FLOPS_PER_SQUARE: f64 = 2.0;

/// Prompt chunks of one attention kernel, as sums over the chunks. A chunk has `n` new tokens after `c` cached ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prompts {
    /// Sum of n.
    pub new: f64,
    /// Sum of c.
    pub context: f64,
    /// Sum of n (n + 2 c): twice the number of query-key pairs.
    pub squares: f64,
}

impl Prompts {
    /// Returns the sums for `batch` whole prompts of `seq_len` tokens.
    #[inline]
    pub fn equal(batch: f64, seq_len: f64) -> Prompts {
        let tokens = batch * seq_len;
        Prompts { new: tokens, context: 0.0, squares: tokens * seq_len }
    }
}

/// The static part of an attention kernel: heads, formats and tensor parallelism.
///
/// Heads are global, before tensor parallelism divides them by `tp`; a per-rank shape has `tp` 1. If `tp` exceeds the
/// number of KV heads, each rank has a copy of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct AttentionShape {
    /// Format in which Q, K and V are multiplied.
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
    /// Returns the shape that one rank computes: heads divided by `tp`, at least one KV head, `tp` 1.
    #[inline]
    pub fn local(&self) -> AttentionShape {
        if self.tp <= 1 {
            return AttentionShape { tp: 1, ..*self };
        }
        let tp = self.tp;
        AttentionShape { q_heads: (self.q_heads / tp).max(1), kv_heads: (self.kv_heads / tp).max(1), tp: 1, ..*self }
    }

    /// Returns the sizes of the kernel of one rank.
    #[inline]
    pub fn on_rank(&self) -> RankAttention {
        let local = self.local();
        let head_dim = f64::from(local.head_dim);
        let kv_width = 2.0 * f64::from(local.kv_heads) * head_dim;
        RankAttention {
            q_width: f64::from(local.q_heads) * head_dim,
            kv_bytes: kv_width * self.kv_dtype.weight_bytes(),
            new_kv_bytes: kv_width * QO_BYTES,
            kv_heads: f64::from(local.kv_heads),
            head_dim,
        }
    }
}

/// Sizes of an attention kernel on one rank. They determine its FLOPs and bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankAttention {
    /// Query heads times head dimension.
    pub q_width: f64,
    /// Bytes of K and V of one token in one layer, as stored in the cache.
    pub kv_bytes: f64,
    /// Bytes of K and V of one token in one layer as newly computed: 16-bit.
    pub new_kv_bytes: f64,
    /// KV heads.
    pub kv_heads: f64,
    /// Dimension of a head.
    pub head_dim: f64,
}

impl RankAttention {
    /// Returns FLOPs and bytes, on one rank, of causal attention over prompt chunks.
    ///
    /// A chunk of `n` new tokens after `c` cached ones has `n (c + n/2)` query-key pairs of 4 heads head_dim FLOPs
    /// each. Q, K and V of new tokens are read and their output is written in 16 bits; K and V of the context are
    /// read as stored.
    ///
    /// ```
    /// use rooflut_roofline::{AttentionShape, Dtype, Prompts};
    /// let shape = AttentionShape {
    ///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 1,
    /// };
    /// let work = shape.on_rank().prefill_work(&Prompts::equal(1.0, 1024.0));
    /// assert_eq!(work.flops, 2.0 * 32.0 * 128.0 * 1024.0 * 1024.0);
    /// assert_eq!(work.bytes, 2.0 * 1024.0 * 128.0 * (2.0 * 32.0 + 2.0 * 8.0));
    /// ```
    #[inline]
    pub fn prefill_work(&self, prompts: &Prompts) -> Work {
        Work {
            flops: FLOPS_PER_SQUARE * self.q_width * prompts.squares,
            bytes: prompts.new * (2.0 * self.q_width * QO_BYTES + self.new_kv_bytes) + prompts.context * self.kv_bytes,
            link_bytes: 0.0,
        }
    }

    /// Returns the times of prefill attention as functions of the prompts.
    #[inline]
    pub fn prefill_pace(&self, reference: &Reference) -> PrefillPace {
        let rates = &reference.rates;
        let [square, token] =
            [[0.0, 1.0], [1.0, 0.0]].map(|[new, squares]| self.prefill_work(&Prompts { new, context: 0.0, squares }));
        // One block of queries runs on one SM, which has its share of the peak.
        let block_flops = 4.0 * QUERY_BLOCK * self.head_dim * reference.sms;
        // The benchmark writes the new K and V to the cache first.
        let cached = 2.0 * self.new_kv_bytes * reference.hot_read;
        let blocks_per_token = self.q_width / self.head_dim / QUERY_BLOCK;
        PrefillPace {
            t0_s: reference.t0_s,
            math_s_per_square: square.flops * rates.s_per_flop,
            s_per_token: (token.bytes + cached) * rates.s_per_byte + blocks_per_token * reference.block_s,
            s_per_prompt: self.kv_heads * reference.block_s,
            critical_s_per_key: block_flops * rates.s_per_flop,
        }
    }

    /// Returns FLOPs and bytes, on one rank, of one new token for each of `requests`, whose KV lengths (new token
    /// included) add up to `kv_tokens`: 4 heads head_dim kv FLOPs, K and V read once.
    ///
    /// ```
    /// use rooflut_roofline::{AttentionShape, Dtype};
    /// let shape = AttentionShape {
    ///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 2,
    /// };
    /// let work = shape.on_rank().decode_work(4.0, 4.0 * 1000.0);
    /// assert_eq!(work.flops, 4.0 * 16.0 * 128.0 * 4000.0);
    /// assert_eq!(work.bytes, 4000.0 * 2.0 * 4.0 * 128.0 * 2.0 + 4.0 * 2.0 * 16.0 * 128.0 * 2.0);
    /// ```
    #[inline]
    pub fn decode_work(&self, requests: f64, kv_tokens: f64) -> Work {
        Work {
            flops: 4.0 * self.q_width * kv_tokens,
            bytes: 2.0 * QO_BYTES * self.q_width * requests + kv_tokens * self.kv_bytes,
            link_bytes: 0.0,
        }
    }

    /// Returns the reference time of decode attention, seconds: launch time, traffic, and the waves of its thread
    /// blocks.
    #[inline]
    pub fn decode_reference_s(&self, requests: f64, kv_tokens: f64, reference: &Reference) -> f64 {
        let read = reference.read_share(kv_tokens * self.kv_bytes);
        let bytes = self.decode_work(requests, kv_tokens).bytes;
        let waves_s = self.decode_waves_s(requests, reference);
        reference.t0_s + bytes * reference.rates.s_per_byte * read + waves_s
    }

    /// Returns the time, seconds, that the thread blocks of decode attention take whatever the KV lengths: at least
    /// one block for each request and KV head.
    #[inline]
    pub fn decode_waves_s(&self, requests: f64, reference: &Reference) -> f64 {
        requests * self.kv_heads * reference.block_s
    }
}

/// Times of prefill attention on a GPU as functions of `batch` whole prompts of `seq_len` tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillPace {
    t0_s: f64,
    math_s_per_square: f64,
    s_per_token: f64,
    s_per_prompt: f64,
    critical_s_per_key: f64,
}

impl PrefillPace {
    /// Returns the time of the FLOPs at the peak, seconds.
    #[inline]
    pub fn at_peak_s(&self, batch: f64, seq_len: f64) -> f64 {
        batch * seq_len * seq_len * self.math_s_per_square
    }

    /// Returns the reference time, seconds: launch time plus the square root of the sum of squares of two terms. The
    /// first is math plus traffic plus the waves of thread blocks, which hardly overlap; the second is the critical
    /// path of the last query block over its prompt. The traffic includes the new K and V on their way to the cache,
    /// read and written once. A prompt has a block per KV head, and one more for each 128 rows of queries.
    ///
    /// Source: this form has the smallest leave-one-out error on the sets of `bench_data/`, see
    /// `bench_data/README.md`.
    #[inline]
    pub fn reference_s(&self, batch: f64, seq_len: f64) -> f64 {
        let others_s = batch * (seq_len * self.s_per_token + self.s_per_prompt);
        let busy = self.at_peak_s(batch, seq_len) + others_s;
        let critical = seq_len * self.critical_s_per_key;
        self.t0_s + sqrt(busy * busy + critical * critical)
    }
}

codes!(AttentionShape [dtype kv_dtype] [q_heads kv_heads head_dim tp]);

/// Rejects heads that do not divide each other or cannot be divided among the ranks.
pub(super) fn check_heads(shape: &AttentionShape) -> Result<(), Contradiction> {
    const GLOBAL: &str = "heads are counted over all ranks, before tp divides them: check both counts";
    let AttentionShape { q_heads, kv_heads, tp, .. } = *shape;
    let of_q_heads = Expected::new("a divisor of the ", q_heads, " q_heads");
    if !q_heads.is_multiple_of(kv_heads) {
        let hint = "every KV head serves equally many query heads: check both counts";
        return Err(Contradiction::new("kv_heads", of_q_heads, hint));
    }
    if !q_heads.is_multiple_of(tp) {
        return Err(Contradiction::new("tp", of_q_heads, GLOBAL));
    }
    // With more ranks than KV heads, each rank has a copy of one.
    if !kv_heads.is_multiple_of(tp) && !tp.is_multiple_of(kv_heads) {
        let expected = Expected::new("a divisor or a multiple of the ", kv_heads, " kv_heads");
        return Err(Contradiction::new("tp", expected, GLOBAL));
    }
    Ok(())
}
