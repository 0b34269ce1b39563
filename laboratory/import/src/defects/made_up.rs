//! Made-up readings.

use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::{AttentionShape, Dtype, GemmShape, Gpu};

use crate::reading::Reading;

pub(crate) static GPU: Gpu = Gpu::from_generated(
    ["made-up", ""],
    (1e15, Some(2e15), None),
    [3e12, 450e9],
    [80_000_000_000, 50_000_000],
    132,
    [None; 2],
);

pub(crate) fn gemm(n: u32, m: u32) -> MeasuredKernel {
    let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n };
    MeasuredKernel::new(OperationKind::Gemm, shape, [m, 1])
}

pub(crate) fn decode(kv_heads: u32, batch: u32, kv_len: u32) -> MeasuredKernel {
    let shape =
        AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads, head_dim: 128, tp: 1 };
    MeasuredKernel::new(OperationKind::Decode, shape, [batch, kv_len])
}

/// The readings of files, each a list of kernels and latencies.
pub(crate) fn files<const N: usize>(files: [&[(MeasuredKernel, f64)]; N]) -> Vec<Reading> {
    let numbered = files.iter().enumerate();
    let rows = numbered.flat_map(|(file, rows)| (2..).zip(*rows).map(move |row| (file, row)));
    rows.map(|(file, (number, (kernel, latency_us)))| Reading {
        file,
        number,
        kernel: *kernel,
        latency_us: *latency_us,
        exact: None,
        mfu: None,
        variant: 0,
    })
    .collect()
}
