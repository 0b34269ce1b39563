//! Errors of step models whose table set lacks a kernel.

use rooflut::ErrorKind;
use std::error::Error;

use crate::support::made_up::{EMPTY, RAGGED};
use crate::support::models::{refused, spec, with};
use rooflut::ResolveError;
use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use rooflut::step::{Network, StepOptions};
use rooflut::table::{TableSet, sets};

fn llama() -> ModelSpec {
    spec("llama-3.1-8b")
}

fn llama_in(weight_dtype: Dtype) -> ModelSpec {
    with(llama(), |spec| {
        spec.layers[0].attention_dtype = weight_dtype;
        spec.layers[0].ffn_dtype = weight_dtype;
    })
}

/// Returns the error of the kernel that is missing, and the whole message.
fn missing(spec: &ModelSpec, set: &'static TableSet, tp: u32, options: StepOptions) -> (ResolveError, String) {
    let (error, text) = refused(spec, set, tp, options);
    match error.kind() {
        ErrorKind::Kernel { error, .. } => (error.clone(), text),
        _ => panic!("{text}"),
    }
}

/// Returns the operation that a set has no table for.
fn missing_table(spec: &ModelSpec, set: &'static TableSet, tp: u32) -> &'static str {
    match missing(spec, set, tp, StepOptions::default()) {
        (ResolveError::NoTable { operation, .. }, _) => operation,
        (_, text) => panic!("{text}"),
    }
}

#[test]
fn a_set_that_lacks_a_kernel_is_refused_by_name() {
    assert_eq!(missing_table(&llama(), &EMPTY, 1), "gemm");
    assert_eq!(missing_table(&llama(), &RAGGED, 1), "prefill");
    let (error, text) = refused(&llama(), &EMPTY, 1, StepOptions::default());
    let start = "qkv: table set empty: expected a table for gemm";
    assert!(text.starts_with(start), "{text}");
    assert!(error.source().is_none(), "the message has it already");
}

#[test]
fn dtypes_that_the_set_or_the_gpu_lacks_are_refused_by_name() {
    let on_h100 = |spec: &ModelSpec, options| missing(spec, &sets::H100, 1, options).0;
    let dtype = Dtype::Nvfp4;
    let four_bit = on_h100(&llama_in(dtype), StepOptions::default());
    assert!(matches!(four_bit, ResolveError::NoPeak { dtype: found, .. } if found == dtype));
    let int4 = on_h100(&llama_in(Dtype::Int4), StepOptions::default());
    assert!(matches!(int4, ResolveError::NoGemmDtype { .. }));
    let kv = on_h100(&llama(), StepOptions::default().with_kv_dtype(dtype));
    assert!(matches!(kv, ResolveError::NoAttentionDtype { operation, .. } if operation == "decode"));
}

#[test]
fn more_ranks_of_a_node_than_measured_are_refused() {
    let options = StepOptions::default().with_network(Network::CX7.with_gpus_per_node(16));
    let (error, text) = missing(&spec("llama-2-7b"), &sets::H100, 16, options);
    assert!(matches!(error, ResolveError::TooManyRanks { ranks: 16, .. }));
    let expected = "expected at most 8 ranks, found 16";
    assert!(text.contains(expected), "{text}");
}
