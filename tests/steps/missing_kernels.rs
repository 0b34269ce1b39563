//! Errors of step models whose table set lacks a kernel.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

use std::error::Error;

use crate::support::made_up::{EMPTY, RAGGED};
use crate::support::models::{refused, spec, with};
use rooflut::ResolveError;
use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use rooflut::step::{ModelError, StepOptions};
use rooflut::table::sets;

fn llama() -> ModelSpec {
    spec("llama-3.1-8b")
}

#[test]
fn a_set_that_lacks_a_kernel_is_refused_by_name() {
    let options = StepOptions::default;
    let (error, text) = refused(&llama(), &EMPTY, 1, options());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoTable {
                operation: "gemm",
                ..
            },
            ..
        }
    ));
    assert!(
        text.starts_with("qkv: table set empty: expected a table for gemm"),
        "{text}"
    );
    let source = error.source().map(ToString::to_string);
    assert_eq!(source.map(|source| format!("qkv: {source}")), Some(text));
    let (error, _) = refused(&llama(), &RAGGED, 1, options());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoTable {
                operation: "prefill",
                ..
            },
            ..
        }
    ));
}

#[test]
fn dtypes_that_the_set_or_the_gpu_lacks_are_refused_by_name() {
    let four_bit = with(llama(), |spec| spec.weight_dtype = Dtype::Nvfp4);
    let (error, _) = refused(&four_bit, &sets::H100, 1, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoPeak {
                dtype: Dtype::Nvfp4,
                ..
            },
            ..
        }
    ));
    let blocks = with(llama(), |spec| spec.weight_dtype = Dtype::Fp8Block);
    let (error, _) = refused(&blocks, &sets::H100, 1, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoGemmDtype { .. },
            ..
        }
    ));
    let options = StepOptions::default().with_kv_dtype(Dtype::Nvfp4);
    let (error, _) = refused(&llama(), &sets::H100, 1, options);
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoAttentionDtype {
                operation: "decode",
                ..
            },
            ..
        }
    ));
}

#[test]
fn more_ranks_than_measured_are_refused() {
    let (error, text) = refused(&spec("llama-2-7b"), &sets::H100, 16, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::TooManyRanks { ranks: 16, .. },
            ..
        }
    ));
    assert!(
        text.contains("expected at most 8 ranks, found 16"),
        "{text}"
    );
}

#[cfg(feature = "h100-infersim")]
#[test]
fn h100_infersim_is_refused_with_the_name_of_the_missing_kernel() {
    let set = &sets::H100_INFERSIM;
    let (_, text) = refused(&llama(), set, 1, StepOptions::default());
    assert_eq!(
        text,
        "qkv: table set h100-infersim: gemm: expected one of fp8_block, found bf16; use one of these or \
         another set"
    );
    // It has 8-bit layers, but not the 16-bit lm_head that all models have.
    let eight_bit = with(llama(), |spec| spec.weight_dtype = Dtype::Fp8Block);
    let (error, _) = refused(&eight_bit, set, 1, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel { error: ResolveError::NoGemmDtype { shape, .. }, .. } if shape.n == 128_256
    ));
    let (error, _) = refused(&eight_bit, set, 2, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoTable {
                operation: "allreduce",
                ..
            },
            ..
        }
    ));
    let mixtral = with(spec("mixtral-8x7b"), |spec| {
        spec.weight_dtype = Dtype::Fp8Block
    });
    let (error, _) = refused(&mixtral, set, 1, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoTable {
                operation: "moe",
                ..
            },
            ..
        }
    ));
}
