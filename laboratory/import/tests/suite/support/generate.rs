//! Random kernels with latencies.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};

use super::{Rows, in_ms};

/// Latencies of up to 12 digits that grow with the points, so that no first row looks like a warm-up, and
/// are long enough for any kernel here.
pub(crate) fn latencies(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1_000_000_000_u64..999_999_999_999, count).prop_map(|mut digits| {
        digits.sort_unstable();
        digits.iter().map(|digits| *digits as f64 / 1e3).collect()
    })
}

pub(crate) fn points(most: u32) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::btree_set(1..most, 1..8).prop_map(|points| points.into_iter().collect())
}

pub(crate) fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL.to_vec())
}

fn heads(tp: Vec<u32>) -> impl Strategy<Value = AttentionShape> {
    let kv_dtype = prop::sample::select(vec![Dtype::Bf16, Dtype::Fp8]);
    let tp = prop::sample::select(tp);
    (dtype(), kv_dtype, 1_u32..5, 1_u32..9, tp, 1_u32..300).prop_map(|(dtype, kv_dtype, kv, group, tp, head_dim)| {
        AttentionShape { dtype, kv_dtype, q_heads: kv * tp * group, kv_heads: kv * tp, head_dim, tp }
    })
}

/// The kernels of one shape.
pub(crate) fn shape(tp: Vec<u32>) -> impl Strategy<Value = Vec<MeasuredKernel>> {
    let weights = (dtype(), 1_u32..50_000, 1_u32..50_000, points(100_000));
    let gemm = weights.prop_map(|(dtype, k, n, points)| {
        let shape = GemmShape { dtype, k, n };
        let kernel = |m| MeasuredKernel::new(OperationKind::Gemm, shape, [m, 1]);
        points.into_iter().map(kernel).collect::<Vec<_>>()
    });
    let prefill = (heads(vec![1]), points(64), points(5000)).prop_map(|(shape, batches, lengths)| {
        grid(&batches, &lengths, |batch, seq_len| MeasuredKernel::new(OperationKind::Prefill, shape, [batch, seq_len]))
    });
    let decode = (heads(tp), points(500), points(100_000)).prop_map(|(shape, batches, lengths)| {
        grid(&batches, &lengths, |batch, kv_len| MeasuredKernel::new(OperationKind::Decode, shape, [batch, kv_len]))
    });
    prop_oneof![gemm, prefill, decode]
}

fn grid(batches: &[u32], lengths: &[u32], kernel: impl Fn(u32, u32) -> MeasuredKernel) -> Vec<MeasuredKernel> {
    let cells = batches.iter().flat_map(|batch| lengths.iter().map(|length| (*batch, *length)));
    cells.map(|(batch, length)| kernel(batch, length)).collect()
}

pub(crate) fn other_shape() -> impl Strategy<Value = Vec<MeasuredKernel>> {
    let all_reduce = (2_u32..9, points(1_000_000)).prop_map(|(ranks, points)| {
        let shape = AllReduceShape { ranks };
        let kernel = |elements| MeasuredKernel::new(OperationKind::AllReduce, shape, [2 * elements, 1]);
        points.into_iter().map(kernel).collect::<Vec<_>>()
    });
    let experts = (1_u32..9, 0_u32..100);
    let widths = (1_u32..9000, 1_u32..4000, 1_u32..9);
    let moe =
        (dtype(), experts, widths, points(20_000)).prop_map(|(dtype, (top_k, more), (hidden, width, tp), points)| {
            let (experts, intermediate) = (top_k + more, width * tp);
            let shape = MoeShape { dtype, experts, top_k, hidden, intermediate, tp, ep: 1, matrices: 3 };
            points
                .into_iter()
                .map(|tokens| MeasuredKernel::new(OperationKind::Moe, shape, [tokens, 1]))
                .collect::<Vec<_>>()
        });
    prop_oneof![all_reduce, moe]
}

pub(crate) fn rows(shapes: impl Strategy<Value = Vec<MeasuredKernel>>) -> impl Strategy<Value = Rows> {
    prop::collection::vec(shapes, 1..6).prop_flat_map(|shapes| {
        let kernels: BTreeSet<MeasuredKernel> = shapes.into_iter().flatten().collect();
        let latencies = latencies(kernels.len());
        latencies.prop_map(move |latencies| kernels.iter().copied().zip(latencies).collect())
    })
}

/// Dimensions of a layer of Vidur: ranks, KV heads of each, query heads of each of these, width of the MLP
/// on a rank, whether it is gated.
pub(crate) type Dimensions = (u32, u32, u32, u32, bool);

/// A row of `mlp.csv`, and its four GEMMs as the model's dimensions make them.
pub(crate) fn vidur_row(dimensions: Dimensions, tokens: u32, us: &[f64]) -> (String, [MeasuredKernel; 4]) {
    let (tp, kv, group, width, gated) = dimensions;
    let (heads, kv_heads, expanded) = (tp * kv * group, tp * kv, tp * width);
    let embd = heads * 8;
    let up = if gated { 2 * width } else { width };
    let weights = [(embd, (kv * group + 2 * kv) * 8), (kv * group * 8, embd), (embd, up), (width, embd)];
    let gemm = |(k, n)| MeasuredKernel::new(OperationKind::Gemm, GemmShape { dtype: Dtype::Bf16, k, n }, [tokens, 1]);
    let gated = if gated { "True" } else { "False" };
    let ms: Vec<String> = us.iter().map(|us| in_ms(*us)).collect();
    let row = format!(
        "0,{heads},{kv_heads},{embd},{expanded},32000,{gated},{tokens},{tp},0.001,{},9.9,{},{},{}\n",
        ms[0], ms[1], ms[2], ms[3]
    );
    (row, weights.map(gemm))
}

pub(crate) const MLP: &str = ",n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,\
    num_tensor_parallel_workers,time_stats.emb.median,time_stats.attn_pre_proj.median,\
    time_stats.attn_pre_proj.mean,time_stats.attn_post_proj.median,time_stats.mlp_up_proj.median,\
    time_stats.mlp_down_proj.median\n";

pub(crate) const ALL_REDUCE: &str = "time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node\n";
