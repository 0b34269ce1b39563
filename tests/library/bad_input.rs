//! Errors of constructors name the field, the value found and the allowed values.
#![cfg(all(feature = "h100", feature = "sim"))]

use std::ops::RangeInclusive;

use rooflut::hardware::gpus;
use rooflut::model::{self, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::sim::cluster::{Cluster, KvLink, Router};
use rooflut::sim::load::{Arrivals, Lengths, Priorities, SharedPrefixes, ThinkTime};
use rooflut::sim::{SimConfig, Simulator, Speculation};
use rooflut::step::{Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepOptions};
use rooflut::units::Seconds;
use rooflut::{Deployment, step, table};

#[derive(Debug, Clone, Copy)]
struct NoTime;

impl step::LatencyModel for NoTime {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds::ZERO
    }
}

/// Returns the message of an error.
fn refusal<T, E: std::error::Error>(result: Result<T, E>) -> String {
    result
        .err()
        .map_or_else(String::new, |error| error.to_string())
}

fn llama() -> ModelSpec {
    model::find("llama-3.1-8b").map_or_else(|| unreachable!(), |entry| entry.spec)
}

fn memory(limits: MemoryLimits) -> String {
    refusal(MemoryPlan::try_new(&llama(), &gpus::H100, 1, limits))
}

fn roofline(spec: &ModelSpec, tp: u32, options: StepOptions) -> String {
    let parallelism = Parallelism::tensor(tp);
    let model = RooflineModel::try_new(spec, &table::sets::H100, parallelism, options);
    refusal(model)
}

#[test]
fn an_error_names_the_field_the_value_found_and_the_allowed_values() {
    let dense = || {
        let builder = ModelSpec::builder().hidden(64).layers(2).q_heads(4);
        builder.kv_heads(2).head_dim(16).vocab(100)
    };
    let whole = || dense().intermediate(128).max_model_len(64);
    let server = || SimConfig::new(64, 4);
    let simulator = |config| refusal(Simulator::try_new(NoTime, config));
    let constants = StepOptions::default().constants;
    // Message, field, found, allowed.
    let refusals: [(String, &str, &str, &str); 44] = [
        (refusal(Chunk::prompt(0)), "tokens", "0", "at least 1"),
        (refusal(Chunk::last(0, 9)), "new", "0", "at least 1"),
        (refusal(Chunk::last(9, 8)), "kv_len", "8", "at least 9"),
        (refusal(Chunk::partial(9, 0)), "kv_len", "0", "at least 9"),
        (
            refusal(DecodeGroup::uniform(0, 9)),
            "requests",
            "0",
            "at least 1",
        ),
        (
            refusal(DecodeGroup::uniform(9, 0)),
            "kv_len",
            "0",
            "at least 1",
        ),
        (
            refusal(DecodeGroup::from_sum(64, 0)),
            "kv_tokens",
            "0",
            "at least 64",
        ),
        (
            refusal(DecodeGroup::from_sum(64, 100).and_then(|group| group.with_drafted(1))),
            "kv_tokens",
            "100",
            "at least 128",
        ),
        (
            refusal(ModelSpec::builder().build()),
            "hidden",
            "0",
            "positive",
        ),
        (refusal(dense().build()), "max_model_len", "0", "positive"),
        (
            refusal(dense().max_model_len(9).build()),
            "intermediate",
            "0",
            "positive",
        ),
        (
            refusal(whole().kv_heads(3).build()),
            "q_heads",
            "4",
            "multiple of kv_heads (3)",
        ),
        (
            refusal(whole().layers(9_999).build()),
            "layers",
            "9999",
            "at most 4096",
        ),
        (
            refusal(whole().top_k(2).build()),
            "experts",
            "0",
            "positive",
        ),
        (
            refusal(whole().experts(8).build()),
            "top_k",
            "0",
            "positive",
        ),
        (
            refusal(whole().experts(8).top_k(9).build()),
            "top_k",
            "9",
            "at most the 8",
        ),
        (
            roofline(&llama(), 0, StepOptions::default()),
            "tp",
            "0",
            "positive",
        ),
        (
            roofline(&llama(), 3, StepOptions::default()),
            "q_heads",
            "32",
            "multiple of tp (3)",
        ),
        (
            roofline(
                &llama(),
                1,
                StepOptions::default().with_constants(constants.with_layer(Seconds(-1.0))),
            ),
            "layer",
            "-1",
            "at least 0",
        ),
        (
            roofline(
                &llama(),
                1,
                StepOptions::default().with_constants(constants.with_expert_bandwidth(1.5)),
            ),
            "expert_bandwidth",
            "1.5",
            "at most 1",
        ),
        (
            memory(MemoryLimits::default().with_gpu_memory_utilization(90.0)),
            "gpu_memory_utilization",
            "90",
            "at most 1",
        ),
        (
            memory(MemoryLimits::default().with_gpu_memory_utilization(f64::NAN)),
            "gpu_memory_utilization",
            "NaN",
            "above 0",
        ),
        (
            memory(MemoryLimits::default().with_block_size(0)),
            "block_size",
            "0",
            "at least 1",
        ),
        (
            memory(MemoryLimits::default().with_max_num_batched_tokens(0)),
            "max_num_batched_tokens",
            "0",
            "at least 1",
        ),
        (
            refusal(
                Deployment::builder(llama(), &table::sets::H100)
                    .tp(0)
                    .build(),
            ),
            "tp",
            "0",
            "positive",
        ),
        (
            simulator(server().with_max_num_seqs(0)),
            "max_num_seqs",
            "0",
            "at least 1",
        ),
        (
            simulator(server().with_block_size(0)),
            "block_size",
            "0",
            "at least 1",
        ),
        (
            simulator(server().with_max_num_batched_tokens(9)),
            "max_num_batched_tokens",
            "9",
            "max_num_seqs (128)",
        ),
        (
            refusal(Cluster::try_new(NoTime, server(), 0, Router::RoundRobin)),
            "replicas",
            "0",
            "at least 1",
        ),
        (
            refusal(Speculation::try_new(0, 0.5, 1)),
            "draft_tokens",
            "0",
            "1 to 16",
        ),
        (
            refusal(Speculation::try_new(4, 1.5, 1)),
            "acceptance",
            "1.5",
            "0 to 1",
        ),
        (
            refusal(Arrivals::try_constant(0.0)),
            "rate",
            "0",
            "positive",
        ),
        (
            refusal(Arrivals::try_poisson(f64::INFINITY, 1)),
            "rate",
            "inf",
            "finite",
        ),
        (
            refusal(Arrivals::try_gamma(1.0, 0.0, 1)),
            "burstiness",
            "0",
            "positive",
        ),
        (refusal(Lengths::try_fixed(0)), "lengths", "0", "at least 1"),
        (
            refusal(Lengths::try_uniform(RangeInclusive::new(9, 3))),
            "lengths",
            "9 to 3",
            "non-empty range",
        ),
        (
            refusal(Lengths::try_normal(-1.0, 1.0, 1..=9)),
            "mean",
            "-1",
            "positive",
        ),
        (
            refusal(Lengths::try_lognormal(9.0, -1.0, 1..=9)),
            "sigma",
            "-1",
            "at least 0",
        ),
        (
            refusal(Lengths::try_empirical([])),
            "lengths",
            "none",
            "at least one",
        ),
        (
            refusal(SharedPrefixes::try_new(0, 9)),
            "prefix",
            "0",
            "at least 1",
        ),
        (
            refusal(Priorities::try_new([])),
            "priorit",
            "none",
            "at least one",
        ),
        (
            refusal(ThinkTime::try_fixed(Seconds(-1.0))),
            "think",
            "-1",
            "at least 0",
        ),
        (
            refusal(KvLink::try_new(0.0, Seconds::ZERO, 1.0)),
            "link bandwidth",
            "0",
            "positive",
        ),
        (
            refusal("int8".parse::<rooflut::hardware::Dtype>()),
            "expected",
            "",
            "bf16, fp8",
        ),
    ];
    let mut wrong = String::new();
    for (message, field, found, allowed) in &refusals {
        let named = [field, allowed]
            .into_iter()
            .all(|part| message.contains(*part));
        let says = found.is_empty() || message.contains(&format!("found {found}"));
        if !named || !says {
            wrong += &format!("{message:?}: expected {field:?}, found {found:?}, {allowed:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
