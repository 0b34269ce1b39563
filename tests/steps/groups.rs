//! Steps of models with several groups of layers.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut::model::{Layers, ModelSpec, Span};
use rooflut::step::{DecodeGroup, LatencyModel, Part, StepModel, StepTime, TabulatedModel};
use rooflut::table::sets;

use crate::support::apart;
use crate::support::models::{self, FITTED, dense, heads, moe, with};
use crate::support::random::Random;
use crate::support::steps::{Batch, Sharded};
use crate::support::tolerances::ROUNDING;

/// A dense model of 32 layers.
fn llama() -> ModelSpec {
    models::spec("llama-3.1-8b")
}

/// Layers of four kinds: dense and with experts, with and without chunks.
fn four_groups() -> ModelSpec {
    with(llama(), |spec| {
        let mut group = spec.layers[0];
        let mut groups = Vec::new();
        for (layers, ffn, span) in [
            (2, dense(14_336), Span::Full),
            (6, dense(14_336), Span::Chunk(500)),
            (10, moe(16, 2, 1024, 512), Span::Full),
            (14, moe(16, 2, 1024, 512), Span::Chunk(500)),
        ] {
            (group.layers, group.ffn) = (layers, ffn);
            let mut one = with(*spec, |spec| spec.layers = Layers::alike(group));
            heads(&mut one).span = span;
            groups.push(one.layers[0]);
        }
        spec.layers = Layers::try_new(&groups).unwrap();
    })
}

fn step(spec: ModelSpec, tp: u32, batch: &Batch) -> StepTime {
    let sharded = Sharded { name: "made up", spec, tp, kv_dtype: rooflut::hardware::Dtype::Bf16 };
    models::on(&sets::H100, &sharded, FITTED).step_time(&batch.as_step())
}

#[test]
fn equal_groups_are_one_to_the_last_bit() {
    let split = with(llama(), |spec| {
        let mut groups = [spec.layers[0]; 2];
        (groups[0].layers, groups[1].layers) = (12, 20);
        spec.layers = Layers::try_new(&groups).unwrap();
    });
    assert_eq!(split.weight_params(), llama().weight_params());
    let mut random = Random(15);
    for _ in 0..50 {
        let batch = Batch::random(&mut random);
        assert_eq!(step(split, 2, &batch), step(llama(), 2, &batch));
    }
}

#[test]
fn parts_are_the_sums_over_the_groups() {
    let spec = four_groups();
    let alone = spec.layers.iter().map(|group| {
        let layers = Layers::alike(*group);
        with(spec, |spec| spec.layers = layers)
    });
    let alone: Vec<ModelSpec> = alone.collect();
    // Once per step, not per layer; the host waits for all layers of a model that has chunks.
    let once = [Part::LmHead, Part::Sampling, Part::Host];
    let mut random = Random(16);
    for turn in 0..60 {
        let batch = Batch::random(&mut random);
        let tp = [1, 2][turn % 2];
        let whole = step(spec, tp, &batch);
        let groups: Vec<StepTime> = alone.iter().map(|one| step(*one, tp, &batch)).collect();
        let parts = Part::ALL.into_iter().filter(|part| !once.contains(part));
        for part in parts {
            let sum: f64 = groups.iter().map(|group| group.part(part).0).sum();
            let found = whole.part(part).0;
            let is_close = found == sum || apart(found, sum) < ROUNDING;
            assert!(is_close, "{part}: {found} for {sum}");
        }
        assert!(whole.bound() <= whole.total());
    }
}

#[test]
fn tabulated_steps_of_several_groups_equal_computed_ones() {
    let sharded = Sharded { name: "made up", spec: four_groups(), tp: 2, kv_dtype: rooflut::hardware::Dtype::Bf16 };
    let model = models::on(&sets::H100, &sharded, FITTED);
    let tabulated = TabulatedModel::new(model.clone(), 2_048);
    let mut random = Random(17);
    for _ in 0..100 {
        let batch = Batch::random(&mut random);
        let expected = model.total_time(&batch.as_step());
        assert_eq!(tabulated.total_time(&batch.as_step()), expected);
        for group in &batch.decode {
            assert_eq!(tabulated.decode_time(*group), model.decode_time(*group));
        }
    }
}

#[test]
fn layers_with_chunks_read_no_more_than_a_chunk() {
    let chunked = |length| with(llama(), |spec| heads(spec).span = Span::Chunk(length));
    let attention = |spec, batch: &Batch, part| step(spec, 1, batch).part(part);
    // Prompts longer than a chunk are prompts of its length.
    let whole = Batch::chunk(4_096, 0);
    let mut pieces = Batch::default();
    for _ in 0..4 {
        pieces.prefill.extend(Batch::chunk(1_024, 0).prefill);
    }
    let part = Part::PrefillAttention;
    assert_eq!(attention(chunked(1_024), &whole, part), attention(llama(), &pieces, part));
    // Decoding requests read what is inside.
    let part = Part::DecodeAttention;
    let group = DecodeGroup::uniform(64, 3_000).unwrap();
    let inside = u64::from(Span::Chunk(1_024).keys(3_000));
    let outside = group.with_outside(64 * (3_000 - inside)).unwrap();
    let decoding = |group| Batch { prefill: Vec::new(), decode: vec![group] };
    let read = DecodeGroup::from_sum(64, 64 * inside).unwrap();
    assert_eq!(attention(chunked(1_024), &decoding(outside), part), attention(llama(), &decoding(read), part));
    assert_eq!(attention(llama(), &decoding(outside), part), attention(llama(), &decoding(group), part));
    // Without a sum of what is outside, it is as little as it can be.
    assert_eq!(
        attention(chunked(1_024), &decoding(group), part),
        attention(llama(), &Batch::decoding(64, 1_024), part)
    );
}

#[test]
fn spans_of_no_tokens_or_of_several_lengths_are_refused() {
    let zero = with(llama(), |spec| heads(spec).span = Span::Window(0));
    assert_eq!(zero.check().unwrap_err().to_string(), "window: expected a positive number, found 0");
    let builder = ModelSpec::builder()
        .hidden(64)
        .q_heads(4)
        .kv_heads(2)
        .head_dim(16)
        .intermediate(64)
        .vocab(100)
        .max_model_len(1_000);
    let window = |tokens| Span::Window(tokens);
    let two = builder.layers(1).span(window(10)).and_layers(2);
    let error = two.span(window(20)).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "groups of layers: expected one length of windows or chunks, found several; such models are not modelled"
    );
    // A window that no sequence exceeds is none.
    let long = builder.layers(1).span(window(10)).and_layers(2);
    let model = long.span(window(1_000)).build().unwrap();
    assert_eq!(model.limited_span(), window(10));
    let many = (0..4).fold(builder.layers(1), |builder, _| builder.and_layers(1));
    let many = many.build().unwrap_err().to_string();
    assert_eq!(many, "groups of layers: expected at most 4, found more");
}
