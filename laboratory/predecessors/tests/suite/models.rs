//! The predecessors' models reproduce the numbers of the original code.
//!
//! Reference values come from the original code on the h100-infersim tables.

use rooflut::hardware::gpus;
use rooflut::model::{self, ModelSpec};
use rooflut::step::{Chunk, DecodeGroup, StepBatch};
use rooflut::table::Class;
use rooflut::table::sets::H100;
use rooflut::units::Seconds;
use rooflut_error::Kind;
use rooflut_predecessors::H100_INFERSIM;
use rooflut_predecessors::step::{Blis, Calibrated, CompatPart, CompatTime, InferSim};

/// InferSim's reference values have two decimals of milliseconds.
const INFERSIM_TOLERANCE: f64 = 1e-3;

fn spec(name: &str) -> ModelSpec {
    model::find(name).unwrap().spec
}

fn chunk(new: u32, context: u32) -> Chunk {
    Chunk::last(new, context + new).unwrap()
}

fn group(requests: u32, kv_len: u32) -> DecodeGroup {
    DecodeGroup::uniform(requests, kv_len).unwrap()
}

fn batch<'b>(prefill: &'b [Chunk], decode: &'b [DecodeGroup]) -> StepBatch<'b> {
    StepBatch { prefill, decode }
}

fn infersim(name: &str, tp: u32, world: u32) -> InferSim {
    InferSim::try_new(model::find(name).unwrap(), H100_INFERSIM, tp, world).unwrap()
}

fn us(time: CompatTime) -> f64 {
    (time.total().us() * 1e3).round() / 1e3
}

/// Compares a prompt of `tokens` and a decode step of (requests, KV length) with milliseconds.
fn assert_times(model: &InferSim, tokens: u64, decode: (u64, u64), expected_ms: [f64; 2]) {
    let [prefill_ms, decode_ms] = expected_ms;
    assert_ms("prefill", model.try_prefill(tokens).unwrap(), prefill_ms);
    assert_ms("decode", model.try_decode(decode.0, decode.1).unwrap(), decode_ms);
}

fn assert_ms(what: &str, found: CompatTime, expected: f64) {
    let found = found.total().ms();
    assert!((found / expected - 1.0).abs() < INFERSIM_TOLERANCE, "{what}: expected {expected} ms, found {found}");
}

#[test]
fn infersim_gives_the_reference_values() {
    for (name, ranks, [prefill_1024, prefill_4096, decode_16, decode_64]) in [
        ("llama-2-7b", 1, [67.47, 181.73, 20.75, 21.16]),
        ("llama-2-70b", 1, [402.55, 1523.42, 62.79, 63.31]),
        ("yi-34b", 2, [132.66, 438.31, 21.55, 21.87]),
        ("llama-2-70b", 4, [156.02, 533.86, 20.51, 22.06]),
    ] {
        let model = infersim(name, ranks, ranks);
        assert_times(&model, 1024, (16, 4096), [prefill_1024, decode_16]);
        assert_times(&model, 4096, (64, 1024), [prefill_4096, decode_64]);
    }
}

#[test]
fn blis_and_calibrated_give_the_reference_microseconds() {
    let check = |name, tp, prefill: &[Chunk], decode: &[DecodeGroup], expected_us: [f64; 2]| {
        let batch = batch(prefill, decode);
        let blis = Blis::try_new(&spec(name), H100_INFERSIM, tp).unwrap();
        let calibrated = Calibrated::try_new(&spec(name), &gpus::H100, tp).unwrap();
        let times = [blis.try_step_time(&batch), calibrated.try_step_time(&batch)];
        assert_eq!(times.map(|time| us(time.unwrap())), expected_us, "{name}");
    };
    let chunked = [chunk(512, 2048), chunk(600, 0)];
    let long_and_short = [group(2, 1000), group(1, 16_000)];
    let many = [group(200, 20_000)];
    check("llama-2-7b", 1, &[chunk(1024, 0)], &[], [28_380.0, 13_170.0]);
    check("llama-3.1-8b", 1, &[], &long_and_short, [9671.0, 7742.0]);
    check("llama-2-70b", 4, &[], &many, [138_040.0, 138_433.0]);
    let (some, more) = ([group(32, 2000)], [group(96, 3000)]);
    check("llama-2-7b", 2, &chunked, &some, [16_055.0, 16_942.0]);
    let few = [group(24, 3000)];
    check("qwen3-14b", 2, &[chunk(20, 0)], &more, [20_068.0, 15_170.0]);
    check("mistral-nemo", 1, &[chunk(64, 1000)], &few, [20_837.0, 14_797.0]);
}

#[test]
fn single_requests_and_their_group_take_the_same_time() {
    let model = spec("llama-2-70b");
    let blis = Blis::try_new(&model, H100_INFERSIM, 4).unwrap();
    let calibrated = Calibrated::try_new(&model, &gpus::H100, 4).unwrap();
    let totals = |decode: &[DecodeGroup]| {
        let batch = batch(&[], decode);
        [blis.try_step_time(&batch), calibrated.try_step_time(&batch)].map(|time| time.unwrap().total())
    };
    assert_eq!(totals(&[group(1, 3000); 40]), totals(&[group(40, 3000)]));
}

#[test]
fn infersim_refuses_an_mfu_of_zero_for_small_batches_at_short_contexts() {
    for name in ["qwen2.5-7b", "llama-2-7b"] {
        let model = infersim(name, 1, 1);
        for (batch, kv_len) in [(1, 1), (1, 300), (8, 1), (8, 384), (1, 512), (8, 768)] {
            let error = model.try_decode(batch, kv_len).unwrap_err();
            let zero = error.to_string().contains(": expected a positive MFU, found 0.000");
            assert!(zero && error.kind() == Kind::Contents, "{name} {batch} x {kv_len}: {error}");
        }
        for (batch, kv_len) in [(9, 300), (9, 768), (1, 769), (8, 769)] {
            assert!(model.try_decode(batch, kv_len).is_ok(), "{batch} {kv_len}");
        }
    }
    let error = infersim("qwen2.5-7b", 1, 1).try_decode(1, 512).unwrap_err();
    assert_eq!(
        error.to_string(),
        "decode attention 28-4-128 tp 1, batch 1, kv_len 512: expected a positive MFU, found 0.000 \
         (rounded as published), by which the original divides: ask for a larger step or use the \
         default model"
    );
}

#[test]
fn infersim_reports_where_it_uses_a_default() {
    // 16-2-128 has no tables.
    let sharded = infersim("llama-2-70b", 4, 4).try_prefill(4096).unwrap();
    assert_eq!(sharded.provenance(), Class::Bound.outside());
}

#[test]
fn infersim_sums_prefill_and_decode_of_a_mixed_step() {
    let model = infersim("llama-3.1-8b", 1, 1);
    let (prefill, decode) = ([chunk(1024, 0); 3], [group(4, 2000), group(4, 4000)]);
    let mixed = model.try_step_time(&batch(&prefill, &decode)).unwrap();
    let prompts = model.try_step_time(&batch(&prefill, &[])).unwrap();
    let decode = model.try_decode(8, 3000).unwrap();
    let sum = prompts.total() + decode.total();
    assert!((mixed.total().0 / sum.0 - 1.0).abs() < 1e-12);
    assert!((mixed.part(CompatPart::Overhead).ms() - 35.0).abs() < 1e-9);
    // Three prompts: three times the attention of one, and the GEMMs of all tokens.
    let one = model.try_prefill(1024).unwrap();
    let attention = |time: CompatTime| time.part(CompatPart::PrefillAttention).0;
    assert!((attention(prompts) / attention(one) - 3.0).abs() < 1e-12);
    let parts: Seconds = mixed.parts().map(|(_, time)| time).sum();
    assert_eq!(parts, mixed.total());
}

#[test]
fn experts_count_in_infersim_where_the_config_calls_them_num_experts() {
    // Expected: the verified prototype in Python.
    let qwen = infersim("qwen3-30b-a3b", 1, 1);
    assert_times(&qwen, 4096, (64, 4096), [92.172, 35.2591]);
    let more_ranks = infersim("qwen3-30b-a3b", 2, 4);
    assert_ms("world", more_ranks.try_decode(64, 4096).unwrap(), 15.4232);
    let mixtral = infersim("mixtral-8x7b", 1, 1);
    assert_times(&mixtral, 4096, (64, 4096), [185.2778, 22.4281]);
    // BLIS and calibrated use the dense size besides the experts' size.
    let decode = [group(64, 4096)];
    let qwen = model::find("qwen3-30b-a3b").unwrap();
    let blis = Blis::try_new(qwen, H100_INFERSIM, 1).unwrap();
    assert_eq!(us(blis.try_step_time(&batch(&[], &decode)).unwrap()), 12_706.0);
    let calibrated = Calibrated::try_new(qwen, &gpus::H100, 1).unwrap();
    assert_eq!(us(calibrated.try_step_time(&batch(&[], &decode)).unwrap()), 8055.0);
}

#[test]
fn a_tp_that_does_not_divide_truncates() {
    // Expected: the verified prototype in Python.
    let model = infersim("llama-3.1-8b", 3, 3);
    assert_times(&model, 1024, (16, 4096), [43.854, 8.3601]);
    let blis = Blis::try_new(&spec("llama-3.1-8b"), H100_INFERSIM, 3).unwrap();
    let time = blis.try_step_time(&batch(&[], &[group(16, 4096)])).unwrap();
    assert_eq!(us(time), 4412.0);
}

#[test]
fn impossible_ranks_are_rejected() {
    let model = spec("llama-3.1-8b");
    for (tp, world) in [(0, 1), (16, 16), (2, 1)] {
        let error = InferSim::try_new(&model, H100_INFERSIM, tp, world).unwrap_err();
        let expected = format!("tp {tp}, world {world}: expected a tp of 1 to 8 and a world of at least tp");
        assert_eq!((error.kind(), error.to_string()), (Kind::Parallelism, expected));
    }
    assert!(Blis::try_new(&model, H100_INFERSIM, 0).is_err());
    assert!(Calibrated::try_new(&model, &gpus::H100, 0).is_err());
    let mut nothing = model;
    nothing.hidden = 0;
    let error = Blis::try_new(&nothing, H100_INFERSIM, 1).unwrap_err();
    assert_eq!(error.kind(), Kind::Value);
    assert_eq!(error.to_string(), "model: hidden: expected a positive number, found 0");
}

#[test]
fn nothing_to_do_takes_no_time() {
    let model = spec("llama-3.1-8b");
    let blis = Blis::try_new(&model, H100_INFERSIM, 1).unwrap();
    let calibrated = Calibrated::try_new(&model, &gpus::H100, 1).unwrap();
    let infersim = infersim("llama-3.1-8b", 1, 1);
    let batch = StepBatch::default();
    let totals = [blis.try_step_time(&batch), calibrated.try_step_time(&batch), infersim.try_step_time(&batch)];
    for total in totals {
        assert_eq!(total.unwrap().total(), Seconds::ZERO);
    }
}

#[test]
fn the_h100_set_answers_too() {
    // Expected: the verified prototype in Python, on the same set.
    for (name, expected_ms, blis_us) in [
        ("llama-2-7b", [162.7947, 57.5352], 22_983.0),
        ("llama-3.1-8b", [182.3127, 21.9251], 24_481.0),
        ("llama-2-70b", [753.3954, 82.6363], 201_838.0),
        ("qwen3-14b", [174.7133, 29.0961], 42_726.0),
    ] {
        let infersim = InferSim::try_new(model::find(name).unwrap(), &H100, 1, 1).unwrap();
        assert_times(&infersim, 4096, (64, 4096), expected_ms);
        let (prefill, decode) = ([chunk(512, 2048), chunk(600, 0)], [group(32, 2000)]);
        let blis = Blis::try_new(&spec(name), &H100, 1).unwrap();
        let time = blis.try_step_time(&batch(&prefill, &decode)).unwrap();
        assert_eq!(us(time), blis_us, "{name}");
    }
    // The finer set starts at lengths whose MFU rounds to 0.000.
    let llama = InferSim::try_new(&spec("llama-3.1-8b"), &H100, 1, 1).unwrap();
    assert!(llama.try_decode(1, 200).is_err());
}
