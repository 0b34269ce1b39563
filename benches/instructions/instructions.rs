//! Instructions of the hot path, counted by callgrind, which do not depend on the load of the machine.
#![allow(missing_docs, clippy::expect_used)] // gungraun's macros; benches may panic

#[allow(dead_code, reason = "the other benches use all of it")]
#[path = "../support/served.rs"]
mod served;

use gungraun::{library_benchmark, library_benchmark_group, main};
use rooflut::deployment::{ServedModel, ServedTally};
use rooflut::hardware::{AttentionShape, Dtype, GemmShape};
use rooflut::model::{ModelSpec, Span};
use rooflut::op::{DecodeAttention, Gemm, PrefillAttention};
use rooflut::sim::Simulator;
use rooflut::sim::cluster::Lockstep;
use rooflut::sim::figures::{Digest, Totals};
use rooflut::sim::load::{LimitedLoop, Stream, SyntheticLoad};
use rooflut::step::{
    DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions, TabulatedModel,
};
use rooflut::table::sets;
use rooflut::units::Seconds;
use rooflut_scenario::{Model, Resources, Run, ScenarioFile, no_others};
use std::hint::black_box;

const DECODE: DecodeGroup = match DecodeGroup::from_sum(64, 70_000) {
    Ok(group) => group,
    Err(_) => panic!("a group of 64 requests"),
};

// The queries are leaked, because copying and dropping them is not part of the lookup.
fn gemm(k: u32, n: u32) -> &'static Gemm {
    let dtype = Dtype::Bf16;
    let gemm = Gemm::resolve(&sets::H100, GemmShape { dtype, k, n });
    Box::leak(Box::new(gemm.expect("in the set")))
}

// 1,024 numbers from 1 to `max`, always the same.
fn numbers(seed: u64, max: u32) -> &'static [u32] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % u64::from(max)) as u32 + 1
    };
    Vec::from_iter(std::iter::repeat_with(next).take(1024)).leak()
}

const HEADS: AttentionShape =
    AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 1 };

fn decode() -> (&'static DecodeAttention, [&'static [u32]; 2]) {
    let attention = DecodeAttention::resolve(&sets::H100, HEADS).expect("in the set");
    (Box::leak(Box::new(attention)), [numbers(2, 256), numbers(3, 16_384)])
}

fn prefill() -> (&'static PrefillAttention, [&'static [u32]; 2]) {
    let attention = PrefillAttention::resolve(&sets::H100, HEADS).expect("in the set");
    (Box::leak(Box::new(attention)), [numbers(5, 8), numbers(3, 16_384)])
}

fn many_rows(k: u32, n: u32) -> (&'static Gemm, &'static [u32]) {
    (gemm(k, n), numbers(1, 16_384))
}

// Divide by 1,024 for the mean.
#[library_benchmark]
#[bench::measured(setup = many_rows, args = (4096, 4096))]
#[bench::blended(setup = many_rows, args = (4096, 6144))]
fn lookups_1024((gemm, rows): (&Gemm, &[u32])) -> f64 {
    rows.iter().map(|m| gemm.at(black_box(*m)).time.0).sum()
}

#[library_benchmark]
#[bench::batch_and_length(setup = decode)]
fn decode_1024((attention, [requests, kv_len]): (&DecodeAttention, [&[u32]; 2])) -> f64 {
    let queries = requests.iter().zip(kv_len);
    let tokens = |requests: u32, kv_len: u32| u64::from(requests) * u64::from(kv_len);
    let time = |(r, l): (&u32, &u32)| attention.at(black_box(*r), black_box(tokens(*r, *l))).time.0;
    queries.map(time).sum()
}

#[library_benchmark]
#[bench::batch_and_length(setup = prefill)]
fn prefill_1024((attention, [batch, seq_len]): (&PrefillAttention, [&[u32]; 2])) -> f64 {
    let queries = batch.iter().zip(seq_len);
    let time = |(b, l): (&u32, &u32)| attention.at(black_box(*b), black_box(*l)).time.0;
    queries.map(time).sum()
}

fn shape(k: u32, n: u32) -> GemmShape {
    let dtype = Dtype::Bf16;
    GemmShape { dtype, k, n }
}

#[library_benchmark]
#[bench::measured(setup = shape, args = (4096, 4096))]
#[bench::blended(setup = shape, args = (4096, 6144))]
fn resolve_gemm(shape: GemmShape) -> bool {
    black_box(Gemm::resolve(&sets::H100, black_box(shape))).is_ok()
}

#[library_benchmark]
#[bench::measured(HEADS)]
fn resolve_decode(shape: AttentionShape) -> bool {
    black_box(DecodeAttention::resolve(&sets::H100, black_box(shape))).is_ok()
}

// Between two measured rows.
#[library_benchmark]
#[bench::measured(setup = gemm, args = (4096, 4096))]
#[bench::blended(setup = gemm, args = (4096, 6144))]
fn lookup(gemm: &Gemm) -> Seconds {
    black_box(gemm).at(black_box(100)).time
}

fn roofline() -> &'static RooflineModel {
    Box::leak(Box::new(served::roofline()))
}

/// A model of that size: half of its layers have experts, and half attend to chunks.
fn four_groups() -> &'static RooflineModel {
    let layers = ModelSpec::builder()
        .hidden(4096)
        .layers(8)
        .q_heads(32)
        .kv_heads(8)
        .head_dim(128)
        .intermediate(14_336)
        .and_layers(8)
        .span(Span::Chunk(500))
        .and_layers(8)
        .experts(16)
        .top_k(2)
        .and_layers(8)
        .span(Span::Full);
    let spec = layers.vocab(128_256).max_model_len(131_072).build().expect("sound dimensions");
    let options = StepOptions::default();
    let model = RooflineModel::try_new(&spec, &sets::H100, Parallelism::SINGLE, options);
    Box::leak(Box::new(model.expect("in the set")))
}

fn tabulated() -> &'static TabulatedModel {
    Box::leak(Box::new(served::tabulated()))
}

/// A rank of DeepSeek-V3: one GPU, 8 data-parallel ranks that share the experts.
fn deepseek_v3() -> &'static RooflineModel {
    let spec = served::spec("deepseek-v3");
    let ranks = Parallelism::SINGLE.with_dp(8).with_expert_parallel(true);
    let model = RooflineModel::try_new(&spec, &sets::H200, ranks, StepOptions::default());
    Box::leak(Box::new(model.expect("in the set")))
}

#[library_benchmark]
#[bench::decode_64(setup = roofline)]
#[bench::decode_64_of_four_groups(setup = four_groups)]
#[bench::decode_64_of_deepseek_v3(setup = deepseek_v3)]
fn step(model: &RooflineModel) -> Seconds {
    let batch = StepBatch { prefill: &[], decode: &[DECODE] };
    black_box(model).step_time(black_box(&batch)).total()
}

#[library_benchmark]
#[bench::decode_64(setup = tabulated)]
fn tabulated_step(model: &TabulatedModel) -> Seconds {
    black_box(model).decode_time(black_box(DECODE))
}

// About 70 % of saturation.
fn server() -> (Simulator<TabulatedModel>, SyntheticLoad) {
    let simulator = Simulator::try_new(served::tabulated(), served::config(128));
    (simulator.expect("sound limits"), served::load(18.0))
}

#[library_benchmark]
#[bench::requests_4000(setup = server)]
fn simulation((simulator, load): (Simulator<TabulatedModel>, SyntheticLoad)) -> Totals {
    served::serve(black_box(&simulator), load, 4_000)
}

// In as many steps, with the figures of `rooflut run`.
#[library_benchmark]
#[bench::llama_70b(setup = served::server, args = ("llama-3.1-70b", 4, 10.0))]
#[bench::gpt_oss_120b(setup = served::server, args = ("gpt-oss-120b", 2, 16.0))]
fn served_4000((simulator, load): (Simulator<ServedModel>, SyntheticLoad)) -> Totals {
    let tally = ServedTally::new(simulator.model());
    let simulator = Simulator::try_new(&tally, *simulator.config()).expect("sound limits");
    let mut source = Stream::new(load.take(4_000));
    black_box(&simulator).serve(&mut source, &mut Digest::new()).expect("valid times")
}

// `rooflut run --model llama-3.1-8b --gpu h100 --rate 20 --prompt 512 --output 256 --requests 120000` with 128 sequences
// and 2,048 tokens, without what the command does before and after.
fn command() -> Run {
    let toml = "
        model = 'llama-3.1-8b'
        gpu = 'h100'
        [server]
        max_num_seqs = 128
        max_num_batched_tokens = 2048
        [workload]
        rate = 20
        prompt = 512
        output = 256
        requests = 120_000
    ";
    let file = ScenarioFile::read(toml.as_bytes()).expect("a sound scenario");
    let resources = Resources {
        model: Model::new("llama-3.1-8b", served::spec("llama-3.1-8b")),
        draft_model: None,
        tables: sets::H100.clone(),
        find: &no_others,
        read: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    Run::try_new(file.scenario().clone(), resources).expect("a sound scenario")
}

#[library_benchmark]
#[bench::requests_120_000(setup = command)]
fn run(run: Run) -> u64 {
    let outcome = black_box(&run).run(&mut ()).expect("valid times");
    outcome.summary.steps
}

// 500 requests of 32 users a rank: each of eight ranks runs about as many steps as a server alone.
#[library_benchmark]
#[bench::requests_500(setup = served::expert_server)]
fn alone((simulator, mut users): (Simulator<ServedModel>, LimitedLoop)) -> Totals {
    black_box(&simulator).serve(&mut users, &mut ()).expect("valid times")
}

#[library_benchmark]
#[bench::requests_4000(setup = served::expert_ranks, args = (8))]
fn eight_ranks((ranks, mut users): (Lockstep<ServedModel>, LimitedLoop)) -> Totals {
    black_box(&ranks).serve(&mut users, &mut ()).expect("valid times")
}

library_benchmark_group!(
    name = hot_path;
    benchmarks = lookup, lookups_1024, decode_1024, prefill_1024,
        resolve_gemm, resolve_decode, step, tabulated_step, simulation, served_4000, run, alone, eight_ranks
);
main!(library_benchmark_groups = hot_path);
