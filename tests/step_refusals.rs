//! What a step model refuses, and how it says so.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

mod support;

use std::error::Error;

use rooflut::ResolveError;
use rooflut::hardware::Dtype;
use rooflut::model::{self, Ffn, ModelSpec, SpecError};
use rooflut::step::{
    Chunk, DecodeGroup, LatencyModel, ModelError, Parallelism, Part, RooflineModel, StepBatch,
    StepOptions,
};
use rooflut::table::{Provenance, Strictness, TableSet, sets};
use support::made_up::{EMPTY, RAGGED};

fn spec(name: &str) -> ModelSpec {
    model::find(name).unwrap().spec
}

fn llama() -> ModelSpec {
    spec("llama-3.1-8b")
}

fn try_new(
    spec: &ModelSpec,
    set: &'static TableSet,
    tp: u32,
    options: StepOptions,
) -> Result<RooflineModel, ModelError> {
    RooflineModel::try_new(spec, set, Parallelism::tensor(tp), options)
}

fn refused(
    spec: &ModelSpec,
    set: &'static TableSet,
    tp: u32,
    options: StepOptions,
) -> (ModelError, String) {
    match try_new(spec, set, tp, options) {
        Ok(_) => panic!("expected a refusal of {spec:?} at tp {tp}"),
        Err(error) => (error, error.to_string()),
    }
}

/// The message about a model that cannot be, on the h100 set.
fn message(spec: &ModelSpec, tp: u32) -> String {
    let (error, message) = refused(spec, &sets::H100, tp, StepOptions::default());
    let ModelError::Spec(inner) = error else {
        panic!("{message}");
    };
    assert_eq!(message, format!("model: {inner}"));
    assert_eq!(
        error.source().map(ToString::to_string),
        Some(inner.to_string())
    );
    message
}

fn strictly(worst: Provenance) -> StepOptions {
    let mut options = StepOptions::default();
    options.strictness = Strictness::at_worst(worst);
    options
}

#[test]
fn a_zero_dimension_is_named() {
    let zero = |change: fn(&mut ModelSpec), field: &str| {
        let mut model = llama();
        change(&mut model);
        assert_eq!(
            message(&model, 1),
            format!("model: {field}: expected a positive number, found 0")
        );
        assert!(matches!(model.check(), Err(SpecError::Zero { field: found }) if found == field));
    };
    zero(|m| m.hidden = 0, "hidden");
    zero(|m| m.layers = 0, "layers");
    zero(|m| m.q_heads = 0, "q_heads");
    zero(|m| m.kv_heads = 0, "kv_heads");
    zero(|m| m.head_dim = 0, "head_dim");
    zero(|m| m.vocab = 0, "vocab");
    zero(|m| m.max_model_len = 0, "max_model_len");
    zero(|m| m.ffn = Ffn::Dense { intermediate: 0 }, "intermediate");
    zero(|m| m.ffn = moe(0, 1, 64, 0), "experts");
    zero(|m| m.ffn = moe(8, 0, 64, 0), "top_k");
    zero(|m| m.ffn = moe(8, 2, 0, 0), "intermediate");
    assert_eq!(
        message(&llama(), 0),
        "model: tp: expected a positive number, found 0"
    );
}

fn moe(experts: u32, top_k: u32, intermediate: u32, shared_intermediate: u32) -> Ffn {
    Ffn::Moe {
        experts,
        top_k,
        intermediate,
        shared_intermediate,
        dense_intermediate: None,
        expert_dtype: Dtype::Bf16,
    }
}

#[test]
fn a_dimension_beyond_any_model_is_named_with_its_limit() {
    let too_large = |change: fn(&mut ModelSpec), field: &str, limit: u32| {
        let mut model = llama();
        change(&mut model);
        let expected = format!(
            "model: {field}: expected at most {limit}, found {}",
            u32::MAX
        );
        assert_eq!(message(&model, 1), expected);
    };
    too_large(|m| m.hidden = u32::MAX, "hidden", 1 << 18);
    too_large(|m| m.layers = u32::MAX, "layers", 1 << 12);
    too_large(|m| m.q_heads = u32::MAX, "q_heads", 1 << 12);
    too_large(|m| m.kv_heads = u32::MAX, "kv_heads", 1 << 12);
    too_large(|m| m.head_dim = u32::MAX, "head_dim", 1 << 12);
    too_large(|m| m.vocab = u32::MAX, "vocab", 1 << 24);
    too_large(
        |m| {
            m.ffn = Ffn::Dense {
                intermediate: u32::MAX,
            }
        },
        "intermediate",
        1 << 18,
    );
    too_large(|m| m.ffn = moe(u32::MAX, 1, 64, 0), "experts", 1 << 12);
    too_large(|m| m.ffn = moe(8, u32::MAX, 64, 0), "top_k", 1 << 12);
    too_large(|m| m.ffn = moe(8, 2, u32::MAX, 0), "intermediate", 1 << 18);
    too_large(
        |m| m.ffn = moe(8, 2, 64, u32::MAX),
        "shared_intermediate",
        1 << 18,
    );
}

#[test]
fn the_largest_model_that_passes_the_check_can_be_stepped() {
    let largest = ModelSpec {
        hidden: 1 << 18,
        layers: 1 << 12,
        q_heads: 1 << 12,
        kv_heads: 1 << 12,
        head_dim: 1 << 12,
        vocab: 1 << 24,
        ffn: Ffn::Dense {
            intermediate: 1 << 18,
        },
        weight_dtype: Dtype::Bf16,
        max_model_len: u32::MAX,
    };
    let experts = ModelSpec {
        ffn: moe(1 << 12, 1 << 12, 1 << 18, 1 << 18),
        ..largest
    };
    for spec in [largest, experts] {
        assert!(spec.weight_params() < u64::MAX);
        let model = try_new(&spec, &sets::H100, 1, StepOptions::default()).unwrap();
        let prefill = [Chunk {
            new: u32::MAX,
            context: u32::MAX,
            samples: 1,
        }];
        let decode = [DecodeGroup {
            requests: u32::MAX,
            kv_tokens: u64::MAX,
        }];
        let total = model
            .step_time(&StepBatch {
                prefill: &prefill,
                decode: &decode,
            })
            .total();
        assert!(total.0.is_finite() && total.0 > 0.0, "{total}");
    }
}

#[test]
fn heads_that_do_not_divide_are_named() {
    let uneven = ModelSpec {
        kv_heads: 5,
        ..llama()
    };
    assert_eq!(
        message(&uneven, 1),
        "model: q_heads: expected a multiple of kv_heads (5), found 32"
    );
    assert_eq!(
        message(&llama(), 3),
        "model: q_heads: expected a multiple of tp (3), found 32"
    );
    // 28 query heads on 7 ranks, but 4 KV heads.
    assert_eq!(
        message(&spec("qwen2.5-7b"), 7),
        "model: tp: expected a multiple of kv_heads (4), found 7"
    );
    let six = ModelSpec {
        q_heads: 24,
        kv_heads: 6,
        ..llama()
    };
    assert_eq!(
        message(&six, 4),
        "model: kv_heads: expected a multiple of tp (4), found 6"
    );
}

#[test]
fn ffns_that_do_not_divide_are_named() {
    let dense = ModelSpec {
        ffn: Ffn::Dense {
            intermediate: 14_337,
        },
        ..llama()
    };
    assert_eq!(
        message(&dense, 2),
        "model: intermediate: expected a multiple of tp (2), found 14337"
    );
    let experts = ModelSpec {
        ffn: moe(8, 2, 769, 0),
        ..llama()
    };
    assert_eq!(
        message(&experts, 2),
        "model: intermediate: expected a multiple of tp (2), found 769"
    );
    let shared = ModelSpec {
        ffn: moe(8, 2, 768, 769),
        ..llama()
    };
    assert_eq!(
        message(&shared, 2),
        "model: shared_intermediate: expected a multiple of tp (2), found 769"
    );
}

#[test]
fn more_experts_per_token_than_experts_are_refused() {
    let model = ModelSpec {
        ffn: moe(4, 5, 768, 0),
        ..llama()
    };
    assert_eq!(
        message(&model, 1),
        "model: top_k: expected at most the 4 experts, found 5"
    );
    let all = ModelSpec {
        ffn: moe(4, 4, 768, 0),
        ..llama()
    };
    assert!(try_new(&all, &sets::H100, 1, StepOptions::default()).is_ok());
}

#[test]
fn ranks_beyond_the_kv_heads_have_one_each() {
    // 4 KV heads on 4 and on 8 ranks: one on each, so decode attention over long contexts, all KV
    // traffic, does not get faster.
    let qwen = spec("qwen3-30b-a3b");
    let decode = [DecodeGroup {
        requests: 64,
        kv_tokens: 64 * 32_768,
    }];
    let batch = StepBatch {
        prefill: &[],
        decode: &decode,
    };
    let time = |tp| {
        let model = try_new(&qwen, &sets::H100, tp, StepOptions::default()).unwrap();
        model.step_time(&batch).part(Part::DecodeAttention).0
    };
    let (two, four, eight) = (time(2), time(4), time(8));
    assert!(two / four > 1.7, "{two} {four}");
    assert!((0.9..1.1).contains(&(four / eight)), "{four} {eight}");
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
    let four_bit = ModelSpec {
        weight_dtype: Dtype::Nvfp4,
        ..llama()
    };
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
    let blocks = ModelSpec {
        weight_dtype: Dtype::Fp8Block,
        ..llama()
    };
    let (error, _) = refused(&blocks, &sets::H100, 1, StepOptions::default());
    assert!(matches!(
        error,
        ModelError::Kernel {
            error: ResolveError::NoGemmDtype { .. },
            ..
        }
    ));
    let mut options = StepOptions::default();
    options.kv_dtype = Dtype::Nvfp4;
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

/// Made up so that every kernel of one rank of six was measured or lies inside the rectangle, but an
/// all-reduce of six was not.
fn six_ranks() -> ModelSpec {
    ModelSpec {
        hidden: 4096,
        layers: 2,
        q_heads: 24,
        kv_heads: 6,
        head_dim: 128,
        vocab: 6 * 4096,
        ffn: Ffn::Dense {
            intermediate: 6 * 2048,
        },
        weight_dtype: Dtype::Bf16,
        max_model_len: 4096,
    }
}

/// Made up so that every kernel on one GPU was measured or lies inside the rectangle.
fn all_known() -> ModelSpec {
    ModelSpec {
        q_heads: 32,
        kv_heads: 8,
        ffn: Ffn::Dense { intermediate: 2048 },
        ..six_ranks()
    }
}

#[test]
fn strictness_refuses_the_first_kernel_that_is_worse_by_name() {
    let refusal = |spec: &ModelSpec, tp, worst, expected: &str, found: Provenance| {
        let (error, text) = refused(spec, &sets::H100, tp, strictly(worst));
        let ModelError::TooUncertain { part, .. } = error else {
            panic!("{text}");
        };
        assert_eq!(part.name(), expected);
        assert_eq!(
            text,
            format!(
                "{expected}: table set h100: expected at worst {worst}, found {found}; accept it, \
                 or add measurements of this shape"
            )
        );
    };
    use Provenance::{Interpolated, Measured, Transferred};
    let known = all_known();
    refusal(&known, 1, Measured, "qkv", Interpolated);
    // 20 query heads were measured in neither table, 16 and 16 in prefill only.
    refusal(
        &ModelSpec {
            q_heads: 24,
            ..known
        },
        1,
        Interpolated,
        "prefill_attention",
        Transferred,
    );
    let multi_head = ModelSpec {
        q_heads: 16,
        kv_heads: 16,
        ..known
    };
    refusal(
        &multi_head,
        1,
        Interpolated,
        "decode_attention",
        Transferred,
    );
    refusal(&six_ranks(), 6, Interpolated, "all_reduce", Transferred);
    let unseen_experts = ModelSpec {
        ffn: moe(1024, 8, 768, 0),
        ..known
    };
    refusal(&unseen_experts, 1, Interpolated, "moe", Transferred);
    for (spec, tp) in [
        (known, 1),
        (multi_head, 1),
        (six_ranks(), 6),
        (unseen_experts, 1),
    ] {
        assert!(try_new(&spec, &sets::H100, tp, strictly(Transferred)).is_ok());
    }
}

#[test]
fn a_model_whose_kernels_are_all_known_passes_strictness() {
    let model = try_new(
        &all_known(),
        &sets::H100,
        1,
        strictly(Provenance::Interpolated),
    )
    .unwrap();
    let decode = [DecodeGroup {
        requests: 64,
        kv_tokens: 64 * 4096,
    }];
    let time = model.step_time(&StepBatch {
        prefill: &[],
        decode: &decode,
    });
    assert_eq!(time.provenance(), Provenance::Interpolated);
    // Context was not measured, whatever the shape.
    let prefill = [Chunk {
        new: 512,
        context: 512,
        samples: 0,
    }];
    let time = model.step_time(&StepBatch {
        prefill: &prefill,
        decode: &[],
    });
    assert_eq!(time.provenance(), Provenance::Transferred);
}

#[cfg(feature = "h100-infersim")]
#[test]
fn h100_infersim_is_refused_by_name_for_what_it_lacks() {
    let set = &sets::H100_INFERSIM;
    let (_, text) = refused(&llama(), set, 1, StepOptions::default());
    assert_eq!(
        text,
        "qkv: table set h100-infersim: gemm: expected one of fp8_block, found bf16; use one of these or \
         another set"
    );
    // 8-bit layers are there, but not the 16-bit lm_head that all models have.
    let eight_bit = ModelSpec {
        weight_dtype: Dtype::Fp8Block,
        ..llama()
    };
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
    let mixtral = ModelSpec {
        weight_dtype: Dtype::Fp8Block,
        ..spec("mixtral-8x7b")
    };
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
