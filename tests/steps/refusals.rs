//! Errors of step models for invalid models.

use rooflut::ErrorKind;
use std::error::Error;

use crate::support::models::{self, dense, heads, moe, refused, try_new, with};
use rooflut::model::ModelSpec;
use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel, StepOptions};
use rooflut::table::sets;

fn llama() -> ModelSpec {
    models::spec("llama-3.1-8b")
}

/// Returns the error message of an invalid model on the h100 set.
fn message(spec: &ModelSpec, tp: u32) -> String {
    let (error, message) = refused(spec, &sets::H100, tp, StepOptions::default());
    assert!(matches!(error.kind(), ErrorKind::Invalid(_)) && message.starts_with("model: "), "{message}");
    assert!(error.source().is_none(), "the message has it already");
    message
}

#[test]
fn a_zero_dimension_is_named() {
    let zero = |change: fn(&mut ModelSpec), field: &str| {
        let mut model = llama();
        change(&mut model);
        assert_eq!(message(&model, 1), format!("model: {field}: expected a positive number, found 0"));
        assert_eq!(model.check().unwrap_err().setting(), field);
    };
    zero(|m| m.hidden = 0, "hidden");
    zero(|m| m.layers[0].layers = 0, "layers");
    zero(|m| heads(m).q_heads = 0, "q_heads");
    zero(|m| heads(m).kv_heads = 0, "kv_heads");
    zero(|m| heads(m).head_dim = 0, "head_dim");
    zero(|m| m.vocab = 0, "vocab");
    zero(|m| m.max_model_len = 0, "max_model_len");
    zero(|m| m.layers[0].ffn = dense(0), "intermediate");
    zero(|m| m.layers[0].ffn = moe(0, 1, 64, 0), "experts");
    zero(|m| m.layers[0].ffn = moe(8, 0, 64, 0), "top_k");
    zero(|m| m.layers[0].ffn = moe(8, 2, 0, 0), "intermediate");
    assert_eq!(message(&llama(), 0), "model: tp: expected a positive number, found 0");
}

#[test]
fn a_dimension_beyond_any_model_is_named_with_its_limit() {
    let too_large = |change: fn(&mut ModelSpec), field: &str, limit: u32| {
        let mut model = llama();
        change(&mut model);
        let expected = format!("model: {field}: expected at most {limit}, found {}", u32::MAX);
        assert_eq!(message(&model, 1), expected);
    };
    too_large(|m| m.hidden = u32::MAX, "hidden", 1 << 18);
    too_large(|m| m.layers[0].layers = u32::MAX, "layers", 1 << 12);
    too_large(|m| heads(m).q_heads = u32::MAX, "q_heads", 1 << 12);
    too_large(|m| heads(m).kv_heads = u32::MAX, "kv_heads", 1 << 12);
    too_large(|m| heads(m).head_dim = u32::MAX, "head_dim", 1 << 12);
    too_large(|m| m.vocab = u32::MAX, "vocab", 1 << 24);
    too_large(|m| m.layers[0].ffn = dense(u32::MAX), "intermediate", 1 << 18);
    too_large(|m| m.layers[0].ffn = moe(u32::MAX, 1, 64, 0), "experts", 1 << 12);
    too_large(|m| m.layers[0].ffn = moe(8, u32::MAX, 64, 0), "top_k", 1 << 12);
    too_large(|m| m.layers[0].ffn = moe(8, 2, u32::MAX, 0), "intermediate", 1 << 18);
    too_large(|m| m.layers[0].ffn = moe(8, 2, 64, u32::MAX), "shared_intermediate", 1 << 18);
}

#[test]
fn the_largest_model_that_passes_the_check_can_be_stepped() {
    let largest = ModelSpec::builder()
        .hidden(1 << 18)
        .layers(1 << 12)
        .q_heads(1 << 12)
        .kv_heads(1 << 12)
        .head_dim(1 << 12)
        .vocab(1 << 24)
        .intermediate(1 << 18)
        .max_model_len(u32::MAX)
        .build()
        .unwrap();
    let experts = with(largest, |spec| spec.layers[0].ffn = moe(1 << 12, 1 << 12, 1 << 18, 1 << 18));
    let all_used = with(llama(), |spec| spec.layers[0].ffn = moe(4, 4, 768, 0));
    for spec in [largest, experts, all_used] {
        assert!(spec.weight_params() < u64::MAX);
        let model = try_new(&spec, &sets::H100, 1, StepOptions::default()).unwrap();
        let prefill = [Chunk::prompt(u32::MAX).unwrap()];
        let decode = [DecodeGroup::from_sum(u32::MAX, u64::MAX).unwrap()];
        let total = model.step_time(&StepBatch { prefill: &prefill, decode: &decode }).total();
        assert!(total.0.is_finite() && total.0 > 0.0, "{total}");
    }
}

#[test]
fn heads_and_ffns_that_do_not_divide_or_suffice_are_named() {
    let changed = |change: fn(&mut ModelSpec)| with(llama(), change);
    let six_heads = |spec: &mut ModelSpec| {
        (heads(spec).q_heads, heads(spec).kv_heads) = (24, 6);
    };
    for (spec, tp, expected) in [
        (changed(|spec| heads(spec).kv_heads = 5), 1, "q_heads: expected a multiple of kv_heads (5), found 32"),
        (llama(), 3, "q_heads: expected a multiple of tp (3), found 32"),
        // 28 query heads on 7 ranks, but 4 KV heads.
        (models::spec("qwen2.5-7b"), 7, "tp: expected a multiple of kv_heads (4), found 7"),
        (changed(six_heads), 4, "kv_heads: expected a multiple of tp (4), found 6"),
        (
            changed(|spec| spec.layers[0].ffn = dense(14_337)),
            2,
            "intermediate: expected a multiple of tp (2), found 14337",
        ),
        (
            changed(|spec| spec.layers[0].ffn = moe(8, 2, 769, 0)),
            2,
            "intermediate: expected a multiple of tp (2), found 769",
        ),
        (
            changed(|spec| spec.layers[0].ffn = moe(8, 2, 768, 769)),
            2,
            "shared_intermediate: expected a multiple of tp (2), found 769",
        ),
        (changed(|spec| spec.layers[0].ffn = moe(4, 5, 768, 0)), 1, "top_k: expected at most the 4 experts, found 5"),
    ] {
        assert_eq!(message(&spec, tp), format!("model: {expected}"));
    }
}
