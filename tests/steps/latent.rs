//! Steps of models with latent attention.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut::ErrorKind;
use rooflut::engine::StepConstants;
use rooflut::hardware::{Dtype, Indexer, MlaShape};
use rooflut::model::{self, ModelSpec};
use rooflut::op::{MlaDecode, MlaPrefill};
use rooflut::step::{Chunk, Part, StepModel, StepTime};
use rooflut::table::{Class, TableSet, sets};
use rooflut::units::Seconds;

use crate::support::DEEPSEEK_V3 as LAYER;
use crate::support::models::{self, FITTED, with};
use crate::support::steps::{Batch, Sharded};

/// DeepSeek-V3 without its MTP layer.
fn v3() -> ModelSpec {
    let spec = ModelSpec::builder()
        .hidden(7168)
        .layers(3)
        .q_heads(128)
        .q_rank(1536)
        .kv_rank(512)
        .nope_dim(128)
        .rope_dim(64)
        .v_dim(128)
        .intermediate(18_432)
        .and_layers(58)
        .experts(256)
        .top_k(8)
        .intermediate(2048)
        .shared_intermediate(2048)
        .vocab(129_280)
        .max_model_len(163_840);
    with(spec.build().unwrap(), |spec| {
        for group in spec.layers.iter_mut() {
            group.attention_dtype = Dtype::Fp8Block;
            group.ffn_dtype = Dtype::Fp8Block;
            group.shared_dtype = Dtype::Fp8Block;
        }
    })
}

fn on_eight(spec: ModelSpec) -> Sharded {
    Sharded { name: "made up", spec, tp: 8, kv_dtype: Dtype::Bf16 }
}

fn step(batch: &Batch) -> StepTime {
    models::on(&sets::H200, &on_eight(v3()), FITTED).step_time(&batch.as_step())
}

#[test]
fn the_host_launches_experts_in_the_layers_that_have_them() {
    let [layer, moe_layer] = [1.0, 10.0].map(Seconds::from_us);
    let constants = StepConstants::NONE.with_prompt_layer(layer).with_prompt_moe_layer(moe_layer);
    let host_us = |set: &'static TableSet, batch: &Batch| {
        let step = models::on(set, &on_eight(v3()), constants).step_time(&batch.as_step());
        step.part(Part::Host).0 * 1e6
    };
    // 61 layers, of which the first three are dense; on Blackwell there is a constant for all of them.
    assert!((host_us(&sets::H200, &Batch::chunk(64, 0)) - (61.0 + 580.0)).abs() < 1e-9);
    assert_eq!(host_us(&sets::B200, &Batch::chunk(64, 0)), 0.0);
    assert_eq!(host_us(&sets::H200, &Batch::decoding(4, 1_000)), 0.0);
}

#[test]
fn a_layer_takes_the_time_of_the_table_in_place_of_projections_and_attention() {
    let prefill = MlaPrefill::resolve(&sets::H200, LAYER).unwrap();
    let decode = MlaDecode::resolve(&sets::H200, LAYER).unwrap();
    let mut batch = Batch::decoding(64, 1_500);
    batch.prefill = vec![Chunk::prompt(2_048).unwrap()];
    let found = step(&batch);
    let close = |part, once: f64| {
        let found = found.part(part).0;
        assert!((found / (61.0 * once) - 1.0).abs() < 1e-9, "{part}");
    };
    close(Part::PrefillAttention, prefill.at(1, 2_048).time.0);
    close(Part::DecodeAttention, decode.at(64, 96_000).time.0);
    let has = |part| found.parts().any(|found| found.part == part);
    assert!(!has(Part::Qkv) && !has(Part::OProj) && has(Part::AllReduce));
    // Most of the small kernels of a layer are in the table.
    let small = step(&Batch::decoding(1, 100)).part(Part::SmallKernels).0;
    assert!((small / (61.0 * 0.3 * FITTED.layer.0) - 1.0).abs() < 1e-9);
}

#[test]
fn shared_experts_of_small_steps_run_beside_the_routed_ones() {
    let [apart, beside] = [0, 64].map(|most| {
        let constants = FITTED.with_shared_expert_tokens(most);
        models::on(&sets::H200, &on_eight(v3()), constants)
    });
    let shared = |step: &StepTime| step.part(Part::GateUp).0 + step.part(Part::Down).0;
    for requests in [1, 64] {
        let batch = Batch::decoding(requests, 1_000);
        let [before, after] = [&apart, &beside].map(|model| model.step_time(&batch.as_step()));
        // They share the bandwidth of the memory, so that not all of their time is saved.
        assert_eq!(before.bound(), after.bound());
        assert!(shared(&after) > 0.0 && shared(&after) < 0.6 * shared(&before));
        let hidden = shared(&before) - shared(&after);
        let saved = before.total().0 - after.total().0;
        assert!((saved / hidden - 1.0).abs() < 1e-9, "{requests}");
    }
    let larger = Batch::decoding(65, 1_000);
    let larger = [&apart, &beside].map(|model| model.step_time(&larger.as_step()));
    assert_eq!(larger[0], larger[1]);
}

#[test]
fn drafted_tokens_take_the_time_of_as_many_requests() {
    let attention = |batch: &Batch| {
        let step = step(batch);
        let part = step.parts().find(|part| part.part == Part::DecodeAttention);
        (part.unwrap().time.0, part.unwrap().source.provenance().unwrap().class)
    };
    let drafted = |each: u32| {
        let mut batch = Batch::decoding(16, 2_000);
        let group = batch.decode[0];
        batch.decode = vec![group.with_drafted(each).unwrap()];
        batch
    };
    let (found, class) = attention(&drafted(3));
    assert_eq!(class, Class::Transferred);
    assert_eq!(found, attention(&Batch::decoding(64, 2_000)).0);
}

#[test]
fn layers_with_an_indexer_take_the_time_of_their_own_tables() {
    let spec = model::find("deepseek-v3.2").unwrap().spec;
    let shape = MlaShape { indexer: Some(Indexer { heads: 64, head_dim: 128, top_k: 2048 }), ..LAYER };
    for kv_dtype in [Dtype::Bf16, Dtype::Fp8] {
        // The math of attention is in 16 bits with any entries.
        let shape = MlaShape { kv_dtype, ..shape };
        let prefill = MlaPrefill::resolve(&sets::H200, shape).unwrap();
        let decode = MlaDecode::resolve(&sets::H200, shape).unwrap();
        let sharded = Sharded { kv_dtype, ..on_eight(spec) };
        let mut batch = Batch::decoding(64, 4_096);
        batch.prefill = vec![Chunk::last(1_024, 9_216).unwrap()];
        let found = models::on(&sets::H200, &sharded, FITTED).step_time(&batch.as_step());
        let mut chunks = prefill.chunks();
        chunks.add(1_024, 8_192);
        for (part, once) in
            [(Part::PrefillAttention, prefill.at_chunks(&chunks)), (Part::DecodeAttention, decode.at(64, 64 * 4_096))]
        {
            let expected = 61.0 * once.time.0;
            assert!((found.part(part).0 / expected - 1.0).abs() < 1e-9, "{part}");
        }
    }
}

#[test]
fn a_set_without_latent_attention_names_it() {
    let error = models::try_on(&sets::L40S, &on_eight(v3()), FITTED).unwrap_err();
    let ErrorKind::Kernel { part, error } = error.kind() else { panic!("{error}") };
    assert_eq!(*part, Part::PrefillAttention);
    assert!(error.to_string().contains("expected a table for mla_prefill, found none"));
}
