//! Steps of a model with weights of another format.
#![cfg(all(feature = "a100", feature = "b200", feature = "h100", feature = "h200", feature = "l40s"))]

use rooflut::hardware::Dtype;
use rooflut::model::{self, ModelSpec};
use rooflut::step::{DecodeGroup, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions, StepTime};
use rooflut::table::{TableSet, sets};

fn with_weights(name: &str, dtype: Dtype) -> ModelSpec {
    model::find(name).unwrap().spec.with_weight_dtype(dtype)
}

/// A step of one decoding request, which is bound by weight traffic.
fn decode(spec: &ModelSpec, set: &'static TableSet) -> StepTime {
    let one = DecodeGroup::uniform(1, 500).unwrap();
    let model = RooflineModel::try_new(spec, set, Parallelism::SINGLE, StepOptions::default());
    model.unwrap().step_time(&StepBatch { prefill: &[], decode: &[one] })
}

#[test]
fn narrower_weights_of_a_dense_model_decode_faster() {
    let total = |dtype, set| decode(&with_weights("llama-3.1-70b", dtype), set).total();
    for set in [&sets::H100, &sets::H200, &sets::L40S, &sets::B200] {
        // Half of the traffic, except for lm_head.
        let ratio = total(Dtype::Fp8, set).0 / total(Dtype::Bf16, set).0;
        assert!((0.45..0.75).contains(&ratio), "{}: {ratio}", set.name());
    }
    let [bf16, nvfp4] = [Dtype::Bf16, Dtype::Nvfp4].map(|dtype| total(dtype, &sets::B200));
    assert!(nvfp4.0 < 0.6 * bf16.0, "{bf16} {nvfp4}");
}

#[test]
fn only_projections_ffn_and_experts_change() {
    for (name, ffn) in [
        ("llama-3.1-8b", &[Part::GateUp, Part::Down][..]),
        ("llama-4-scout-17b-16e-instruct", &[Part::GateUp, Part::Down, Part::Moe]),
    ] {
        let step = |dtype| decode(&with_weights(name, dtype), &sets::L40S);
        let (bf16, fp8) = (step(Dtype::Bf16), step(Dtype::Fp8));
        let changed = [&[Part::Qkv, Part::OProj][..], ffn].concat();
        for part in bf16.parts() {
            let (wide, narrow) = (part.time, fp8.part(part.part));
            if changed.contains(&part.part) {
                assert!(narrow < wide, "{name}: {}", part.part)
            } else {
                assert_eq!(narrow, wide, "{name}: {}", part.part)
            }
        }
        assert_eq!(fp8.parts().count(), bf16.parts().count());
    }
}

#[test]
fn an_8_bit_model_can_have_16_bit_weights() {
    let own = model::find("llama-4-scout").unwrap().spec;
    let bf16 = with_weights("llama-4-scout", Dtype::Bf16);
    let experts = |spec| decode(spec, &sets::H100).part(Part::Moe);
    assert!(experts(&bf16) > experts(&own));
    assert_eq!(own.with_weight_dtype(Dtype::Fp8), own);
    assert_ne!(bf16.with_weight_dtype(Dtype::Fp8), own);
}

/// A given format of a quantised model, and the formats of its attention and its experts.
#[test]
fn a_format_means_the_published_layout_of_a_quantised_model() {
    for (name, dtype, expected) in [
        ("minimax-m2.5", Dtype::Fp8, [Dtype::Fp8Block; 2]),
        ("minimax-m2.5", Dtype::Nvfp4, [Dtype::Bf16, Dtype::Nvfp4]),
        ("minimax-m2.5", Dtype::Bf16, [Dtype::Bf16; 2]),
        ("qwen3-235b-a22b-fp8", Dtype::Fp8, [Dtype::Fp8Block; 2]),
        ("qwen3-235b-a22b", Dtype::Nvfp4, [Dtype::Nvfp4; 2]),
        ("gpt-oss-120b", Dtype::Mxfp4, [Dtype::Bf16, Dtype::Mxfp4]),
        ("gpt-oss-120b", Dtype::Nvfp4, [Dtype::Bf16, Dtype::Mxfp4]),
        ("gpt-oss-120b", Dtype::Mxfp4Mxfp8, [Dtype::Bf16, Dtype::Mxfp4Mxfp8]),
        ("qwen3-30b-a3b", Dtype::Mxfp4Mxfp8, [Dtype::Bf16, Dtype::Mxfp4Mxfp8]),
        ("qwen3-30b-a3b", Dtype::Int4, [Dtype::Bf16, Dtype::Int4]),
        ("deepseek-v3", Dtype::Fp8, [Dtype::Fp8Block; 2]),
        ("deepseek-v3", Dtype::Nvfp4, [Dtype::Bf16, Dtype::Nvfp4]),
        ("deepseek-v2-lite", Dtype::Nvfp4, [Dtype::Bf16, Dtype::Nvfp4]),
        ("kimi-k2.5", Dtype::Nvfp4, [Dtype::Bf16, Dtype::Nvfp4]),
        ("llama-3.1-8b", Dtype::Int4, [Dtype::Int4; 2]),
    ] {
        let spec = with_weights(name, dtype);
        let group = spec.experts().unwrap_or(spec.layers.first());
        let found = [group.attention_dtype, group.ffn_dtype];
        assert_eq!(found, expected, "{name} {dtype}");
        assert_eq!(spec.with_weight_dtype(dtype), spec, "{name} {dtype}");
    }
}

#[test]
fn more_requests_take_no_less_time_in_fp8_on_b200() {
    // Not over 8 GPUs, whose all-reduce of 1 MiB is faster than those of 256 and 512 KiB in any format.
    for (name, tp) in [
        ("llama-3.2-3b", 1),
        ("llama-3.1-8b", 1),
        ("llama-3.1-8b", 4),
        ("llama-3.3-70b", 2),
        ("llama-3.3-70b", 4),
        ("mistral-small-2506", 2),
        ("qwen2.5-7b", 1),
        ("qwen3-14b", 1),
        ("qwen3-32b", 2),
        ("qwen3-32b", 4),
    ] {
        let spec = with_weights(name, Dtype::Fp8);
        let parallelism = Parallelism::tensor(tp);
        let model = RooflineModel::try_new(&spec, &sets::B200, parallelism, StepOptions::default()).unwrap();
        let mut longest = 0.0_f64;
        for requests in 1..=64 {
            let total =
                model.step_time(&StepBatch { prefill: &[], decode: &[DecodeGroup::uniform(requests, 500).unwrap()] });
            let us = total.total().us();
            // Rows scatter.
            assert!(us >= 0.99 * longest, "{name} on {tp}, {requests} requests: {us} after {longest}");
            longest = longest.max(us);
        }
    }
}
