//! Runs over an MTP layer: its projection, a layer like the model's last ones, one sampled row for each request.

use crate::support::models;
use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use rooflut::step::{
    Chunk, DecodeGroup, Drafting, LatencyModel, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions,
    StepTime, TabulatedModel, Tally,
};
use rooflut::table::{Class, TableSet, sets};

const TP: Parallelism = Parallelism::tensor(8);

fn run(spec: &ModelSpec, set: &TableSet) -> RooflineModel {
    RooflineModel::try_new_mtp(spec, set, TP, StepOptions::default()).unwrap()
}

fn model(spec: &ModelSpec, set: &TableSet) -> RooflineModel {
    RooflineModel::try_new(spec, set, TP, StepOptions::default()).unwrap()
}

fn decode(requests: u32, kv_len: u32, drafted: u32) -> DecodeGroup {
    let group = DecodeGroup::uniform(requests, kv_len).unwrap();
    group.with_drafted(drafted).unwrap()
}

fn time(model: &impl StepModel, prefill: &[Chunk], group: DecodeGroup) -> StepTime {
    let decode = &[group];
    model.step_time(&StepBatch { prefill, decode })
}

/// A model whose QKV projection is that of 14,336 to 7,168: on one rank (48 + 2 x 4) heads of 128.
fn projection() -> ModelSpec {
    let spec = ModelSpec::builder().hidden(14_336).layers(1).q_heads(48).kv_heads(4).head_dim(128).intermediate(14_336);
    spec.vocab(8_000).max_model_len(4_096).build().unwrap()
}

#[test]
fn a_run_is_a_projection_a_last_layer_and_a_row_for_each_request() {
    let v3 = models::spec("deepseek-v3");
    let (run, layer) = (run(&v3, &sets::H200), model(&v3.mtp_layer().unwrap(), &sets::H200));
    let chunks = [Chunk::prompt(300).unwrap(), Chunk::partial(100, 500).unwrap()];
    let group = decode(16, 1_000, 3);
    let (found, alone) = (time(&run, &chunks, group), time(&layer, &chunks, group));
    let sampled = [Part::LmHead, Part::Sampling];
    for part in alone.parts().map(|part| part.part) {
        if !sampled.contains(&part) {
            assert_eq!(found.part(part), alone.part(part), "{part}");
        }
    }
    // One row for each of 16 requests and for the prompt that ends, not for 64 tokens.
    let few = time(&layer, &chunks, decode(16, 1_000, 0));
    for part in sampled {
        assert_eq!(found.part(part), few.part(part), "{part}");
        assert!(found.part(part) < alone.part(part));
    }
    // The projection is that of all 464 tokens, whole on each rank.
    let single = Parallelism::SINGLE;
    let wide = RooflineModel::try_new(&projection(), &sets::H200, single, StepOptions::default());
    let of_tokens = time(&wide.unwrap(), &chunks, group);
    assert_eq!(found.part(Part::Qkv), of_tokens.part(Part::Qkv));
    assert_eq!(layer.step_time(&StepBatch::default()), run.step_time(&StepBatch::default()));
}

#[test]
fn the_first_run_is_over_all_tokens_and_the_others_over_one_of_each_request() {
    let v3 = models::spec("deepseek-v3");
    let (target, layer) = (model(&v3, &sets::H200), run(&v3, &sets::H200));
    let chunks = [Chunk::prompt(300).unwrap()];
    let group = decode(8, 1_000, 2);
    let both = Drafting::with_mtp(&target, &layer, 2);
    let second = DecodeGroup::from_sum(9, 8_000 + 300 + 9).unwrap();
    let expected = time(&target, &chunks, group).total()
        + time(&layer, &chunks, group).total()
        + time(&layer, &[], second).total();
    let found = time(&both, &chunks, group).total();
    assert!((found.0 / expected.0 - 1.0).abs() < 1e-12, "{found:?} {expected:?}");
}

#[test]
fn tabulated_and_tallied_runs_agree_with_the_model() {
    let v3 = models::spec("deepseek-v3");
    let layer = run(&v3, &sets::H200);
    let table = TabulatedModel::new(layer.clone(), 600);
    let chunks = [Chunk::prompt(300).unwrap()];
    for (prefill, drafted) in [(&[][..], 0), (&[][..], 3), (&chunks[..], 2)] {
        let group = decode(40, 900, drafted);
        let batch = StepBatch { prefill, decode: &[group] };
        let expected = layer.step_time(&batch).total();
        assert_eq!(table.total_time(&batch), expected);
        let tally = Tally::new(&table);
        tally.add(&batch);
        let spent = tally.sources().total();
        assert!((spent.0 / expected.0 - 1.0).abs() < 1e-9);
        if prefill.is_empty() {
            assert_eq!(table.decode_time(group), expected);
        }
    }
}

#[test]
fn layers_of_gated_delta_nets_are_followed_by_attention_over_all_tokens() {
    for name in ["qwen3-next-80b-a3b", "qwen3.5-27b"] {
        let spec = models::spec(name);
        let layer = spec.mtp_layer().unwrap();
        let last = spec.layers.last().unwrap();
        assert_eq!((layer.layers.len(), layer.layers.total()), (1, 1));
        assert_eq!(layer.layers[0].attention, last.attention);
        assert_eq!(layer.layers[0].ffn, last.ffn);
    }
}

#[test]
fn attention_of_drafts_is_transferred() {
    for (name, set) in [("llama-3.1-8b", &sets::H100), ("deepseek-v3", &sets::H200)] {
        let model = model(&models::spec(name), set);
        let class = |drafted| {
            let step = time(&model, &[], decode(16, 1_000, drafted));
            let attention = step.parts().find(|part| part.part == Part::DecodeAttention);
            attention.unwrap().source.provenance().unwrap().class
        };
        assert!(class(0) < Class::Transferred, "{name}");
        assert_eq!(class(1), Class::Transferred, "{name}");
    }
}

#[test]
fn a_model_without_such_a_layer_is_refused() {
    let kimi = models::spec("kimi-k2");
    let refused = RooflineModel::try_new_mtp(&kimi, &sets::H200, TP, StepOptions::default());
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("model: mtp_layers: expected a model with layers for multi-token prediction"),
        "{refused}"
    );
    // fp8 weights keep the projection at 16 bits.
    let quantized = models::spec("qwen3-next-80b-a3b").with_weight_dtype(Dtype::Fp8);
    assert_eq!(quantized.mtp_layer().unwrap().layers[0].ffn_dtype, Dtype::Fp8);
}
