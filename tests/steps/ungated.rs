//! Steps of a model whose FFNs have no gate.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut::model::{Ffn, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::step::{DecodeGroup, Part, StepBatch, StepModel, StepTime};
use rooflut::table::sets;

use crate::support::models::{self, FITTED};
use crate::support::steps::Sharded;

fn spec(gated: bool, intermediate: u32) -> ModelSpec {
    let builder = ModelSpec::builder()
        .hidden(4096)
        .layers(32)
        .q_heads(32)
        .kv_heads(8)
        .head_dim(128)
        .vocab(131_072)
        .intermediate(intermediate)
        .gated(gated);
    builder.max_model_len(65_536).build().unwrap()
}

fn decode(spec: ModelSpec) -> StepTime {
    let sharded = Sharded { name: "made up", spec, tp: 1, kv_dtype: rooflut::hardware::Dtype::Bf16 };
    models::on(&sets::H100, &sharded, FITTED)
        .step_time(&StepBatch { prefill: &[], decode: &[DecodeGroup::uniform(64, 1_000).unwrap()] })
}

#[test]
fn an_ffn_without_a_gate_is_one_projection_up_and_one_down() {
    let (gated, ungated) = (decode(spec(true, 14_336)), decode(spec(false, 14_336)));
    // One projection of this width is two of half of it.
    let half = decode(spec(true, 7_168));
    assert_eq!(ungated.part(Part::GateUp), half.part(Part::GateUp));
    assert_eq!(ungated.part(Part::Down), gated.part(Part::Down));
    for part in [Part::Qkv, Part::OProj, Part::DecodeAttention, Part::LmHead] {
        assert_eq!(ungated.part(part), gated.part(part));
    }
    assert!(ungated.part(Part::GateUp) < gated.part(Part::GateUp));
    let fewer = spec(true, 14_336).weight_params() - spec(false, 14_336).weight_params();
    assert_eq!(fewer, 32 * 4096 * 14_336);
}

#[test]
fn a_gate_takes_memory_for_weights_and_activations() {
    // One request: the layers have the peak of the activations.
    let limits = MemoryLimits::default().with_max_num_seqs(1);
    let plan = |spec| MemoryPlan::try_new(&spec, sets::H100.gpu(), 1, limits).unwrap();
    let (gated, ungated) = (plan(spec(true, 14_336)), plan(spec(false, 14_336)));
    let weights = gated.weight_bytes - ungated.weight_bytes;
    assert!((weights - 2.0 * f64::from(32 * 4096 * 14_336)).abs() < 1.0);
    let activations = gated.activation_bytes - ungated.activation_bytes;
    assert!((activations - 2048.0 * 2.0 * 14_336.0).abs() < 1.0);
    let spec = spec(false, 14_336);
    let rotary = f64::from(spec.max_model_len) * 128.0 * 2.0;
    assert!((ungated.weight_bytes - rotary - spec.weight_bytes()).abs() < 1.0);
}

#[cfg(feature = "serde")]
#[test]
fn a_spec_from_before_there_was_a_choice_has_gates() {
    let text = r#"{"Dense": {"intermediate": 14336}}"#;
    let ffn: Ffn = serde_json::from_str(text).unwrap();
    assert!(matches!(ffn, Ffn::Dense { gated: true, .. }));
}
