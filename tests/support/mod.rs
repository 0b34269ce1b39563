//! Shared by the tests of lookups and of the step model.
//!
//! Except for `models`, which builds the models under test, nothing here uses `rooflut::op`,
//! `rooflut::step` or the formulas of `rooflut_roofline`: the oracle reads the CSV files and implements
//! every formula of the documentation again.
#![allow(
    dead_code,
    unused_imports,
    clippy::float_cmp,
    reason = "each test crate uses a part of it; rows are found by exact whole numbers"
)]

pub(crate) mod bounds;
pub(crate) mod engines;
pub(crate) mod made_up;
pub(crate) mod models;
pub(crate) mod oracle;
pub(crate) mod random;
pub(crate) mod steps;
pub(crate) mod tables;
pub(crate) mod tolerances;

use rooflut::hardware::{AttentionShape, Dtype, GemmShape, MlaShape, MoeShape};

pub(crate) fn gemm(dtype: Dtype, k: u32, n: u32) -> GemmShape {
    GemmShape { dtype, k, n }
}

/// 16-bit math on 128-dimensional heads.
pub(crate) fn attention(kv_dtype: Dtype, q_heads: u32, kv_heads: u32, tp: u32) -> AttentionShape {
    AttentionShape { dtype: Dtype::Bf16, kv_dtype, q_heads, kv_heads, head_dim: 128, tp }
}

pub(crate) fn mixtral_layer(tp: u32) -> MoeShape {
    MoeShape { dtype: Dtype::Bf16, experts: 8, top_k: 2, hidden: 4096, intermediate: 14_336, tp, ep: 1, matrices: 3 }
}

/// Latent attention of DeepSeek-V3 on one of eight GPUs.
pub(crate) const DEEPSEEK_V3: MlaShape = MlaShape {
    dtype: Dtype::Fp8Block,
    attn_dtype: Dtype::Bf16,
    kv_dtype: Dtype::Bf16,
    q_heads: 16,
    hidden: 7168,
    q_rank: 1536,
    kv_rank: 512,
    nope_dim: 128,
    rope_dim: 64,
    v_dim: 128,
    indexer: None,
};

/// Returns the distance of two positive numbers relative to the second.
pub(crate) fn apart(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

/// Rounds the query heads of `shape` down to a multiple of its KV heads, and tp to a divisor of both.
pub(crate) fn divisible(shape: AttentionShape) -> AttentionShape {
    let gcd = |mut a: u32, mut b: u32| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let q_heads = shape.kv_heads * (shape.q_heads / shape.kv_heads).max(1);
    let replicated = shape.tp.is_multiple_of(shape.kv_heads) && q_heads.is_multiple_of(shape.tp);
    let tp = if replicated { shape.tp } else { gcd(shape.tp, shape.kv_heads) };
    AttentionShape { q_heads, tp, ..shape }
}
