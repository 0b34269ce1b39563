//! Errors of constructors name the field, the value found and the allowed values.
#![cfg(all(feature = "h100", feature = "sim"))]

use std::ops::RangeInclusive;

use rooflut::engine::StepConstants;
use rooflut::hardware::gpus;
use rooflut::model::{self, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::sim::cluster::{Cluster, KvLink, Router};
use rooflut::sim::load::{Arrivals, Lengths, Priorities, SharedPrefixes, ThinkTime};
use rooflut::sim::{SimConfig, Simulator, Speculation};
use rooflut::step::{Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepOptions};
use rooflut::units::Seconds;
use rooflut::{step, table};

#[derive(Debug, Clone, Copy)]
struct NoTime;

impl step::LatencyModel for NoTime {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds::ZERO
    }
}

/// Returns the message of an error.
fn refusal<T, E: std::error::Error>(result: Result<T, E>) -> String {
    result.err().map_or_else(String::new, |error| error.to_string())
}

fn llama() -> ModelSpec {
    model::find("llama-3.1-8b").map_or_else(|| unreachable!(), |entry| entry.spec)
}

fn memory(limits: MemoryLimits) -> String {
    refusal(MemoryPlan::try_new(&llama(), &gpus::H100, 1, limits))
}

fn roofline(constants: StepConstants) -> String {
    let options = StepOptions::default().with_constants(constants);
    let (set, single) = (&table::sets::H100, Parallelism::SINGLE);
    refusal(RooflineModel::try_new(&llama(), set, single, options))
}

/// The messages of the calls below, in their order.
const EXPECTED: &str = r#"
tokens: expected at least 1, found 0; leave it out of the batch
new: expected at least 1, found 0; leave it out of the batch
kv_len: expected at least 9, one token for each new token, found 8; count the new tokens in
kv_len: expected at least 9, one token for each new token, found 0; count the new tokens in
requests: expected at least 1, found 0; leave it out of the batch
kv_len: expected at least 1, one token for each new token, found 0; count the new tokens in
kv_tokens: expected at least 64, one token for each new token, found 0; count the new tokens in
kv_tokens: expected at least 128, one token for each new token, found 100; count the new tokens in
hidden: expected a positive number, found 0
max_model_len: expected a positive number, found 0
intermediate: expected a positive number, found 0
q_heads: expected a multiple of kv_heads (3), found 4
layers: expected at most 4096, found 9999
experts: expected a positive number, found 0
top_k: expected a positive number, found 0
top_k: expected at most the 8 experts, found 9
engine constant layer: expected seconds of at least 0, found -1; correct it
engine constant expert_bandwidth: expected a share above 0 and at most 1, found 1.5; correct it
gpu_memory_utilization: expected a number above 0 and at most 1, found 90
gpu_memory_utilization: expected a number above 0 and at most 1, found NaN
block_size: expected at least 1, found 0
max_num_batched_tokens: expected at least 1, found 0
max_num_seqs: expected at least 1, found 0
block_size: expected at least 1, found 0
max_num_batched_tokens: expected at least max_num_seqs (128), found 9; raise it, or lower max_num_seqs
replicas: expected at least 1, found 0
draft_tokens: expected 1 to 16 tokens, found 0
acceptance: expected a share from 0 to 1, found 1.5
rate: expected a positive, finite number of requests per second, found 0
rate: expected a positive, finite number of requests per second, found inf
burstiness: expected a positive, finite number, found 0
lengths: expected a non-empty range of at least 1, found 0 to 0
lengths: expected a non-empty range of at least 1, found 9 to 3
mean: expected a positive, finite number, found -1
sigma: expected a finite number of at least 0, found -1
lengths: expected at least one, found none
groups of shared prefixes: expected at least 1, found 0
shares of priorities: expected at least one, found none
think time: expected a finite number of at least 0, found -1
link bandwidth: expected a positive, finite number, found 0
expected one of bf16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4
"#;

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
    let found = [
        refusal(Chunk::prompt(0)),
        refusal(Chunk::last(0, 9)),
        refusal(Chunk::last(9, 8)),
        refusal(Chunk::partial(9, 0)),
        refusal(DecodeGroup::uniform(0, 9)),
        refusal(DecodeGroup::uniform(9, 0)),
        refusal(DecodeGroup::from_sum(64, 0)),
        refusal(DecodeGroup::from_sum(64, 100).and_then(|group| group.with_drafted(1))),
        refusal(ModelSpec::builder().build()),
        refusal(dense().build()),
        refusal(dense().max_model_len(9).build()),
        refusal(whole().kv_heads(3).build()),
        refusal(whole().layers(9_999).build()),
        refusal(whole().top_k(2).build()),
        refusal(whole().experts(8).build()),
        refusal(whole().experts(8).top_k(9).build()),
        roofline(constants.with_layer(Seconds(-1.0))),
        roofline(constants.with_expert_bandwidth(1.5)),
        memory(MemoryLimits::default().with_gpu_memory_utilization(90.0)),
        memory(MemoryLimits::default().with_gpu_memory_utilization(f64::NAN)),
        memory(MemoryLimits::default().with_block_size(0)),
        memory(MemoryLimits::default().with_max_num_batched_tokens(0)),
        simulator(server().with_max_num_seqs(0)),
        simulator(server().with_block_size(0)),
        simulator(server().with_max_num_batched_tokens(9)),
        refusal(Cluster::try_new(NoTime, server(), 0, Router::RoundRobin)),
        refusal(Speculation::try_new(0, 0.5, 1)),
        refusal(Speculation::try_new(4, 1.5, 1)),
        refusal(Arrivals::try_constant(0.0)),
        refusal(Arrivals::try_poisson(f64::INFINITY, 1)),
        refusal(Arrivals::try_gamma(1.0, 0.0, 1)),
        refusal(Lengths::try_fixed(0)),
        refusal(Lengths::try_uniform(RangeInclusive::new(9, 3))),
        refusal(Lengths::try_normal(-1.0, 1.0, 1..=9)),
        refusal(Lengths::try_lognormal(9.0, -1.0, 1..=9)),
        refusal(Lengths::try_empirical([])),
        refusal(SharedPrefixes::try_new(0, 9)),
        refusal(Priorities::try_new([])),
        refusal(ThinkTime::try_fixed(Seconds(-1.0))),
        refusal(KvLink::try_new(0.0, Seconds::ZERO, 1.0)),
        refusal("int8".parse::<rooflut::hardware::Dtype>()),
    ];
    let expected = EXPECTED.trim().lines();
    assert_eq!(found.len(), expected.clone().count());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
}
