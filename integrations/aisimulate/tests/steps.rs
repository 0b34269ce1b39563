//! Batch sizes and lengths as rooflut's steps, and their limits.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use aisimulate_core::engine::{EngineFactory, TimingModel};
use rooflut::deployment::DeploymentBuilder;
use rooflut::sim::{SchedulingPolicy, Speculation};
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch};
use rooflut::table::{Strictness, sets};
use rooflut::units::Seconds;
use rooflut::{Deployment, model};
use rooflut_aisimulate::{RooflineTiming, TimingError};

fn llama() -> DeploymentBuilder {
    let llama = model::find("llama-3.1-8b").unwrap();
    Deployment::builder(llama.spec, &sets::H100).max_num_seqs(128)
}

fn timing() -> RooflineTiming {
    RooflineTiming::try_new(&llama().build().unwrap()).unwrap()
}

/// Time of rooflut's own step.
fn step(prefill: &[Chunk], decode: &[DecodeGroup]) -> Seconds {
    let deployment = llama().build().unwrap();
    let step_model = deployment.step_model();
    step_model.total_time(&StepBatch { prefill, decode })
}

fn nanos(ms: f64) -> u64 {
    Seconds(ms / 1e3).to_nanos()
}

#[test]
fn prompts_of_one_length_take_as_long_as_rooflut_s_step() {
    for (requests, isl, prefix) in [(1, 1, 0), (4, 512, 0), (3, 700, 188), (7, 4_096, 4_000)] {
        let chunk = Chunk::last(isl - prefix, isl).unwrap();
        let own = step(&vec![chunk; requests], &[]);
        let passed = timing().predict_prefill_ms(requests, isl as usize, prefix as usize).unwrap();
        assert_eq!(nanos(passed), own.to_nanos(), "{requests} x {isl} - {prefix}");
    }
}

#[test]
fn decoding_requests_take_as_long_as_rooflut_s_step() {
    for lengths in [vec![1], vec![1_000; 64], vec![10, 20_000, 500]] {
        let sum: usize = lengths.iter().sum();
        let group = DecodeGroup::from_sum(lengths.len() as u32, sum as u64).unwrap();
        let own = step(&[], &[group]);
        let mean = sum / lengths.len();
        let passed = timing().predict_decode_ms(lengths.len(), sum, mean, 1 << 20);
        assert_eq!(nanos(passed.unwrap()), own.to_nanos(), "{lengths:?}");
    }
}

#[test]
fn mean_lengths_understate_prompts_of_spread_lengths() {
    let chunks = [100, 8_000].map(|tokens| Chunk::prompt(tokens).unwrap());
    let own = step(&chunks, &[]);
    let passed = Seconds(timing().predict_prefill_ms(2, 4_050, 0).unwrap() / 1e3);
    let share = passed.0 / own.0;
    assert!((0.93..0.95).contains(&share), "{share}");
}

#[test]
fn batches_without_a_step_are_errors_and_not_zero() {
    let timing = timing();
    let limit = timing.engine_config().unwrap().max_model_len.unwrap();
    let prefill = |batch, isl, prefix| timing.predict_prefill_ms(batch, isl, prefix);
    let decode = |batch, sum| timing.predict_decode_ms(batch, sum, sum, 1 << 20);
    let cases = [
        (prefill(0, 10, 0), "batch_size: expected 1 to 128, found 0; leave empty batches out".to_owned()),
        (prefill(129, 10, 0), "batch_size: expected 1 to 128, found 129; build the deployment".to_owned()),
        (prefill(1, 0, 0), format!("mean_isl: expected 1 to {limit}, found 0; leave requests without tokens out")),
        (prefill(1, limit + 1, 0), format!("mean_isl: expected 1 to {limit}, found")),
        (prefill(1, usize::MAX, 0), format!("mean_isl: expected 1 to {limit}, found")),
        (prefill(1, 10, 10), "mean_prefix: expected 0 to 9, found 10".to_owned()),
        (decode(0, 10), "batch_size: expected 1 to 128, found 0".to_owned()),
        (decode(2, 0), format!("active_kv_tokens / batch_size: expected 1 to {limit}, found 0")),
        (decode(2, 1), "kv_tokens: expected at least 2".to_owned()),
        (decode(2, 2 * limit + 1), format!("expected 1 to {limit}, found {}", limit + 1)),
    ];
    for (found, expected) in cases {
        let error = found.unwrap_err().to_string();
        assert!(error.contains(&expected), "{error}, expected {expected}");
        assert!(error.contains("; "), "{error} does not say what to do");
    }
}

#[test]
fn steps_beyond_the_tables_are_errors_if_asked_for() {
    let strict = timing().with_strictness(Strictness::ANY.inside());
    assert!(strict.predict_prefill_ms(1, 1_024, 0).is_ok());
    let error = strict.predict_prefill_ms(128, 100_000, 0).unwrap_err();
    assert!(error.to_string().contains("outside"), "{error}");
}

#[test]
fn deployments_that_aisimulate_cannot_express_are_errors() {
    let qwen = model::find("qwen3-30b-a3b").unwrap();
    let qwen = Deployment::builder(qwen.spec, &sets::H100);
    let large = model::find("llama-3.1-70b").unwrap();
    let large = Deployment::builder(large.spec, &sets::H100);
    let drafts = Speculation::try_new(3, 0.7, 0).unwrap();
    for (builder, expected) in [
        (large, "does not fit"),
        (llama().pp(2), "pipeline_parallel_size: expected 1, as no other reaches AISimulate, found 2"),
        (qwen.dp(2).expert_parallel(true), "dp: expected a single rank, found 2"),
        (llama().speculation(drafts), "draft_tokens: expected 0"),
    ] {
        let error = RooflineTiming::try_new(&builder.build().unwrap()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn numbers_that_are_none_do_not_build() {
    for share in [f64::NAN, 0.0, f64::INFINITY] {
        assert!(llama().gpu_memory_utilization(share).build().is_err());
    }
}

#[test]
fn the_engine_has_the_limits_of_the_deployment() {
    let builder = llama().max_num_seqs(64).max_num_batched_tokens(4_096).kv_blocks(10_000);
    let config = RooflineTiming::try_new(&builder.build().unwrap()).unwrap().engine_config().unwrap();
    assert_eq!((config.max_num_seqs, config.max_num_batched_tokens), (64, 4_096));
    assert_eq!((config.num_gpu_blocks, config.block_size), (10_000, 16));
    assert_eq!(config.max_model_len, Some(131_072));
    // Built without the timing model it would use other times.
    assert!(EngineFactory::new(config).is_err());
}

#[test]
fn settings_that_the_engine_does_not_have_are_errors() {
    let gemma = model::find("gemma-3-27b").unwrap();
    let gemma = Deployment::builder(gemma.spec, &sets::H100);
    for (builder, expected) in [
        (gemma, "found 1 full, 6 limited, 0 of states; set"),
        (llama().policy(SchedulingPolicy::Priority), "policy: expected fcfs"),
        (llama().watermark(0.01), "watermark: expected 0"),
        (llama().max_waiting(9), "max_waiting: expected none"),
    ] {
        let timing = RooflineTiming::try_new(&builder.build().unwrap()).unwrap();
        let error = timing.engine_config().unwrap_err();
        assert!(matches!(error, TimingError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
