//! `rooflut::tables!` compiles a folder of made-up measurements into this test.
#![cfg(feature = "macros")]

use rooflut::hardware::{AttentionShape, Dtype, GemmShape, gpus};
use rooflut::op::{DecodeAttention, Estimate, Gemm, PrefillAttention};
use rooflut::table::{Class, TableSet};

static TINY: &TableSet = rooflut::tables!("tests/fixtures/tiny-set");
static OWN_GPU: &TableSet = rooflut::tables!("tests/fixtures/own-gpu");

/// Asserts that an answer is a row of the table.
fn assert_row(estimate: Estimate, latency_us: f64) {
    assert_eq!(estimate.provenance, Class::Measured.inside());
    let found = estimate.time.us();
    assert!((found / latency_us - 1.0).abs() < 1e-7, "{found} {latency_us}");
}

#[test]
fn a_set_has_the_name_the_gpu_and_the_origin_of_its_set_toml() {
    assert_eq!(TINY.name(), "tiny");
    assert_eq!(*TINY.gpu(), gpus::H100);
    assert_eq!(TINY.origin().source, "tests/fixtures");
    assert_eq!(TINY.origin().date, "2026-01-31");
    let decode = TINY.decode().unwrap();
    let constants = [decode.t0_us(), decode.floor_us(), decode.hot_read()];
    assert_eq!(constants, [5.0, 11.0, 0.5]);
    let moe = TINY.moe().unwrap();
    let constants = [moe.t0_us(), moe.floor_us(), moe.hot_read()];
    assert_eq!(constants, [8.0, 9.0, 1.0]);
}

#[test]
fn a_set_may_have_its_own_gpu() {
    assert_eq!(OWN_GPU.gpu().name, "toy");
    assert_eq!(OWN_GPU.gpu().bf16_flops_per_s, 100e12);
    assert_eq!(OWN_GPU.gpu().fp8_flops_per_s, None);
    assert_eq!(OWN_GPU.gpu().mem_bw_bytes_per_s, 1e12);
    let shape = GemmShape { dtype: Dtype::Bf16, k: 1024, n: 1024 };
    assert_row(Gemm::resolve(OWN_GPU, shape).unwrap().at(16), 12.5);
    assert!(OWN_GPU.prefill().is_none() && OWN_GPU.moe().is_none());
}

#[test]
fn gemm_answers_are_rows() {
    let gemm = |dtype, n| Gemm::resolve(TINY, GemmShape { dtype, k: 1024, n }).unwrap();
    assert_row(gemm(Dtype::Bf16, 1024).at(16), 6.25);
    assert_row(gemm(Dtype::Bf16, 1024).at(256), 7.5);
    assert_row(gemm(Dtype::Fp8, 2048).at(16), 5.5);
    let between = gemm(Dtype::Bf16, 1024).at(64);
    assert_eq!(between.provenance, Class::Interpolated.inside());
    assert!((6.25..7.5).contains(&between.time.us()));
}

#[test]
fn attention_answers_are_rows() {
    let shape =
        AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 8, kv_heads: 2, head_dim: 128, tp: 1 };
    let prefill = PrefillAttention::resolve(TINY, shape).unwrap();
    assert_row(prefill.at(1, 1024), 20.5);
    assert_row(prefill.at(1, 4096), 100.25);
    assert_row(prefill.at(4, 1024), 40.0);
    let shape = AttentionShape { kv_dtype: Dtype::Fp8, tp: 2, ..shape };
    let decode = DecodeAttention::resolve(TINY, shape).unwrap();
    assert_row(decode.at(1, 1024), 11.0);
    assert_row(decode.at(1, 4096), 11.5);
    assert_row(decode.at(8, 8 * 1024), 12.5);
    // A hole of the ragged grid.
    assert_ne!(decode.at(8, 8 * 4096).provenance, Class::Measured.inside());
}

#[test]
fn the_macro_is_an_expression_in_any_place() {
    let here = rooflut::tables!("tests/fixtures/tiny-set",);
    assert_eq!(here.name(), TINY.name());
    fn name(set: &TableSet) -> &str {
        set.name()
    }
    assert_eq!(name(rooflut::tables!("tests/fixtures/own-gpu")), "own-gpu");
}
