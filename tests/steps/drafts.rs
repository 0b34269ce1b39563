//! Speculative decoding in the step model: verified tokens cost GEMM rows and logits, and read the KV cache
//! once; the runs of the draft model are added.

use proptest::prelude::*;
use rooflut::model;
use rooflut::step::{
    Chunk, DecodeGroup, Drafting, LatencyModel, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions,
    TabulatedModel, Tally,
};
use rooflut::table::sets;
use rooflut::units::Seconds;

fn on_h100(name: &str) -> RooflineModel {
    let spec = model::find(name).unwrap().spec;
    let options = StepOptions::default();
    RooflineModel::try_new(&spec, &sets::H100, Parallelism::SINGLE, options).unwrap()
}

fn decode(requests: u32, kv_len: u32, drafted: u32) -> DecodeGroup {
    let group = DecodeGroup::uniform(requests, kv_len).unwrap();
    group.with_drafted(drafted).unwrap()
}

fn time(model: &impl StepModel, group: DecodeGroup) -> rooflut::step::StepTime {
    model.step_time(&StepBatch { prefill: &[], decode: &[group] })
}

#[test]
fn verified_tokens_are_rows_of_every_gemm_and_of_the_sampler() {
    let model = on_h100("llama-3.1-8b");
    let drafted = time(&model, decode(16, 1_000, 3));
    let rows = time(&model, decode(64, 250, 0));
    for part in [Part::Qkv, Part::GateUp, Part::Down, Part::LmHead, Part::Sampling] {
        assert_eq!(drafted.part(part), rows.part(part), "{part:?}");
    }
}

#[test]
fn drafts_read_the_kv_cache_once() {
    let model = on_h100("llama-3.1-8b");
    let attention = |group| time(&model, group).part(Part::DecodeAttention);
    let (alone, drafted) = (attention(decode(64, 4_000, 0)), attention(decode(64, 4_000, 4)));
    // Drafts add queries and outputs only: 5 x 16 KiB for each request beside 16 MB of KV entries.
    assert!(drafted > alone && drafted < alone * 1.01, "{alone:?} {drafted:?}");
    // With many queries the cache is bound by math: never faster than the peak.
    let flops = 4.0 * 4_096.0 * 32.0 * (64.0 * 4_000.0) * 17.0;
    assert!(attention(decode(64, 4_000, 16)) > Seconds(flops / 989.5e12));
}

#[test]
fn a_draft_model_runs_once_for_each_drafted_token() {
    let (target, draft) = (on_h100("llama-3.1-8b"), on_h100("llama-3.2-1b"));
    let group = decode(8, 1_000, 3);
    let own = |requests, kv_tokens| {
        let group = DecodeGroup::from_sum(requests, kv_tokens).unwrap();
        time(&draft, group).total()
    };
    let both = Drafting::new(&target, &draft, 3);
    let expected =
        [8_000, 8_008, 8_016].into_iter().fold(time(&target, group).total(), |sum, kv_tokens| sum + own(8, kv_tokens));
    assert_eq!(time(&both, group).total(), expected);

    // The draft model reads every chunk of a prompt; it drafts only after the last one.
    let after_reading = |chunk: Result<Chunk, _>| {
        let chunk = chunk.unwrap();
        let batch = StepBatch { prefill: &[chunk], decode: &[] };
        let read = target.step_time(&batch).total() + draft.step_time(&batch).total();
        both.step_time(&batch).total().0 - read.0
    };
    assert!(after_reading(Chunk::partial(512, 512)).abs() < 1e-12);
    let drafts = own(1, 513) + own(1, 514);
    assert!((after_reading(Chunk::prompt(512)) - drafts.0).abs() < 1e-12);
    assert_eq!(both.step_time(&StepBatch::default()).total(), Seconds::ZERO);
}

/// A model whose steps all take a second.
struct Second;

impl LatencyModel for Second {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds(1.0)
    }
}

#[test]
fn a_draft_model_runs_as_often_as_specified() {
    let runs = |prefill: &[Chunk], decode: &[DecodeGroup]| {
        let both = Drafting::new(Second, Second, 4);
        both.total_time(&StepBatch { prefill, decode }).0 - 1.0
    };
    let endless = DecodeGroup::from_sum(3, u64::MAX).unwrap().with_drafted(4).unwrap();
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
    close(runs(&[], &[endless]), 4.0);
    close(runs(&[Chunk::prompt(10).unwrap()], &[]), 4.0);
    close(runs(&[Chunk::partial(10, 10).unwrap()], &[]), 1.0);
}

proptest! {
    #[test]
    fn all_ways_to_a_total_agree_to_the_bit(
        requests in 1..200_u32, context in 0..9_000_u32, drafted in 0..9_u32,
        chunks in prop::collection::vec((1..900_u32, 0..5_000_u32, any::<bool>()), 0..3),
    ) {
        let (target, draft) = (on_h100("llama-3.1-8b"), on_h100("llama-3.2-1b"));
        let [target_table, draft_table] = [&target, &draft].map(|model| TabulatedModel::new(model.clone(), 700));
        let (target_tally, draft_tally) = (Tally::new(&target_table), Tally::new(&draft_table));
        let chunks: Vec<Chunk> = chunks
            .into_iter()
            .map(|(new, context, last)| if last { Chunk::last(new, context + new).unwrap() } else { Chunk::partial(new, context + new).unwrap() })
            .collect();
        let kv_len = context + 9 + 8;
        let group = decode(requests, kv_len, drafted);
        let batch = StepBatch { prefill: &chunks, decode: &[group] };
        let expected = target.step_time(&batch).total();
        prop_assert_eq!(target.total_time(&batch), expected);
        prop_assert_eq!(target_table.total_time(&batch), expected);
        let alone = time(&target, group).total();
        prop_assert_eq!(target_table.decode_time(group), alone);
        let drafting = Drafting::new(&target_table, &draft_table, 4);
        let both = Drafting::new(&target, &draft, 4).step_time(&batch).total();
        prop_assert_eq!(drafting.total_time(&batch), both);
        let decode_only = StepBatch { prefill: &[], decode: &[group] };
        target_tally.add(&batch);
        target_tally.add(&decode_only);
        drafting.draft_runs(&batch, |_, run| draft_tally.add(run));
        prop_assert_eq!(target_tally.steps(), 2);
        let spent = target_tally.sources().plus(&draft_tally.sources()).total();
        let expected = alone + both;
        prop_assert!((spent.0 / expected.0 - 1.0).abs() < 1e-9, "{spent:?} {expected:?}");
        let more = decode(requests, kv_len, drafted + 8);
        prop_assert!(time(&target, more).total() > alone);
    }
}
