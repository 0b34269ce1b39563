//! Models whose kernels are less certain than the caller accepts.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

mod support;

use rooflut::hardware::Dtype;
use rooflut::model::{Ffn, ModelSpec};
use rooflut::step::{LatencyModel, ModelError, StepOptions};
use rooflut::table::{Provenance, Strictness, sets};
use support::models::{moe, refused, try_new};
use support::steps::Batch;

fn strictly(worst: Provenance) -> StepOptions {
    StepOptions::default().with_strictness(Strictness::at_worst(worst))
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
        tied_embeddings: false,
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
    let time = model.step_time(&Batch::decoding(64, 4096).as_step());
    assert_eq!(time.provenance(), Provenance::Interpolated);
    // Context was not measured, whatever the shape.
    let time = model.step_time(&Batch::chunk(512, 512).as_step());
    assert_eq!(time.provenance(), Provenance::Transferred);
}
