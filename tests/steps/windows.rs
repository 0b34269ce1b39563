//! Steps of models with sliding windows.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut::hardware::{Dtype, WindowShape};
use rooflut::model::{Layers, ModelSpec, Span};
use rooflut::op::{WindowDecode, WindowPrefill};
use rooflut::step::{Chunk, DecodeGroup, Part, StepModel, StepTime};
use rooflut::table::{Class, sets};

use crate::support::models::{self, FITTED, heads, with};
use crate::support::steps::{Batch, Sharded};

/// Layers with the heads of gpt-oss that all have the same span.
fn alike(span: Span) -> ModelSpec {
    with(models::spec("llama-3.1-8b"), |spec| {
        (heads(spec).q_heads, heads(spec).kv_heads) = (64, 8);
        (heads(spec).head_dim, heads(spec).span) = (64, span);
    })
}

const WINDOW: Span = Span::Window(128);

/// Half of the layers with a window.
fn mixed() -> ModelSpec {
    with(alike(WINDOW), |spec| {
        let mut groups = [spec.layers, alike(Span::Full).layers].map(|layers| layers[0]);
        groups.iter_mut().for_each(|group| group.layers = 16);
        spec.layers = Layers::try_new(&groups).unwrap();
    })
}

fn step(spec: ModelSpec, batch: &Batch) -> StepTime {
    let sharded = Sharded { name: "made up", spec, tp: 1, kv_dtype: Dtype::Bf16 };
    models::on(&sets::H100, &sharded, FITTED).step_time(&batch.as_step())
}

fn shape(window: u32) -> WindowShape {
    WindowShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 64, kv_heads: 8, head_dim: 64, window }
}

fn prompts(count: usize, tokens: u32) -> Batch {
    Batch { prefill: vec![Chunk::prompt(tokens).unwrap(); count], decode: Vec::new() }
}

#[test]
fn whole_prompts_take_the_time_of_the_table_in_each_layer() {
    let part = Part::PrefillAttention;
    let tables = [128, 0].map(|window| WindowPrefill::resolve(&sets::H100, shape(window)).unwrap());
    for (count, tokens) in [(1, 1024), (1, 4096), (4, 2048), (2, 3000)] {
        let [window, full] = tables.each_ref().map(|table| table.at(count, tokens).time.0);
        let batch = prompts(count as usize, tokens);
        let found = step(alike(WINDOW), &batch).part(part).0;
        assert!((found / (32.0 * window) - 1.0).abs() < 1e-9, "{tokens}");
        let found = step(mixed(), &batch).part(part).0;
        assert!((found / (16.0 * (window + full)) - 1.0).abs() < 1e-9, "{tokens}");
    }
    let parts = step(mixed(), &prompts(1, 4096));
    let attention = parts.parts().find(|found| found.part == part).unwrap();
    assert_eq!(attention.source.provenance(), Some(Class::Measured.inside()));
}

#[test]
fn decoding_within_a_window_costs_the_same_at_every_length() {
    let attention = |spec, requests, each| step(spec, &Batch::decoding(requests, each)).part(Part::DecodeAttention).0;
    let table = WindowDecode::resolve(&sets::H100, shape(128)).unwrap();
    for requests in [1, 16, 128] {
        let near = attention(alike(WINDOW), requests, 200);
        let far = attention(alike(WINDOW), requests, 4_000);
        assert!((far / near - 1.0).abs() < 0.05, "{requests}: {near} {far}");
        // Its benchmark finds the cache in L2.
        let measured = 32.0 * table.at(requests, 4096).time.0;
        assert!((0.98..1.3).contains(&(near / measured)), "{requests}: {near} for {measured}");
        // A kernel with a window takes longer once the window is full.
        let below = attention(alike(WINDOW), requests, 128);
        assert!(near > 1.15 * below, "{requests}: {near} after {below}");
        let full = attention(mixed(), requests, 60_000);
        assert!(full > near, "{requests}: {full} beside {near}");
    }
}

#[test]
fn requests_below_and_above_a_window_count_by_their_sums() {
    let attention = |group| {
        let batch = Batch { prefill: Vec::new(), decode: vec![group] };
        step(alike(WINDOW), &batch).part(Part::DecodeAttention)
    };
    // 64 requests of 28 tokens and 64 of 10,000: 156 of 128 + 28 tokens are inside.
    let group = DecodeGroup::from_sum(128, 64 * 10_028).unwrap();
    let exact = group.with_outside(64 * (10_000 - 128)).unwrap();
    assert!(attention(exact) < attention(group));
    let halves = [28, 228].map(|each| attention(DecodeGroup::uniform(128, each).unwrap()));
    assert!(halves[0] < attention(exact) && attention(exact) < halves[1]);
}

#[test]
fn the_chunks_of_a_prompt_add_up_to_it() {
    let attention = |chunk| {
        let batch = Batch { prefill: vec![chunk], decode: Vec::new() };
        step(alike(WINDOW), &batch).part(Part::PrefillAttention).0
    };
    let whole = attention(Chunk::prompt(16_384).unwrap());
    let (first, second) =
        (attention(Chunk::partial(8_192, 8_192).unwrap()), attention(Chunk::last(8_192, 16_384).unwrap()));
    assert!(((first + second) / whole - 1.0).abs() < 0.25, "{first} {second} {whole}");
    // Beyond the window, the context no longer matters.
    let far = attention(Chunk::last(8_192, 65_536).unwrap());
    assert!((far / second - 1.0).abs() < 1e-6);
}

#[test]
fn heads_that_no_table_with_windows_has_are_a_bound() {
    let like = |span| with(models::spec("llama-3.1-8b"), |spec| heads(spec).span = span);
    let batch = Batch::decoding(32, 5_000);
    let window = step(like(Span::Window(1_000)), &batch);
    let part = window.parts().find(|part| part.part == Part::DecodeAttention);
    assert_eq!(part.unwrap().source.provenance().map(|found| found.class), Some(Class::Bound));
    let short = step(like(Span::Full), &Batch::decoding(32, 1_000));
    assert_eq!(window.part(Part::DecodeAttention), short.part(Part::DecodeAttention));
    let limited = step(like(Span::Window(1_000)), &prompts(1, 16_000));
    let full = step(like(Span::Full), &prompts(1, 16_000));
    let part = Part::PrefillAttention;
    let ratio = limited.part(part).0 / full.part(part).0;
    // 15.5 of 128 million pairs.
    assert!((0.1..0.3).contains(&ratio), "{ratio}");
    // A window that no request of the model exceeds is full attention.
    let long = step(like(Span::Window(131_072)), &batch);
    assert_eq!(long, step(like(Span::Full), &batch));
}
