//! Instructions of the hot path, counted by callgrind: they do not depend on what else the machine does.
#![allow(missing_docs, clippy::expect_used)] // gungraun's macros; benches may panic

#[allow(dead_code, reason = "the other benches use all of it")]
#[path = "../support/served.rs"]
mod served;

use gungraun::{library_benchmark, library_benchmark_group, main};
use rooflut::hardware::{Dtype, GemmShape};
use rooflut::op::Gemm;
use rooflut::sim::{Simulator, SyntheticLoad, Totals};
use rooflut::step::{DecodeGroup, LatencyModel, StepModel, RooflineModel, StepBatch, TabulatedModel};
use rooflut::table::sets;
use rooflut::units::Seconds;
use std::hint::black_box;

const DECODE: DecodeGroup = match DecodeGroup::from_sum(64, 70_000) {
    Ok(group) => group,
    Err(_) => panic!("a group of 64 requests"),
};

// What is asked is leaked: to copy and to drop it is no part of asking.
fn gemm(k: u32, n: u32) -> &'static Gemm {
    let dtype = Dtype::Bf16;
    let gemm = Gemm::resolve(&sets::H100, GemmShape { dtype, k, n });
    Box::leak(Box::new(gemm.expect("in the set")))
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

fn tabulated() -> &'static TabulatedModel {
    Box::leak(Box::new(served::tabulated()))
}

#[library_benchmark]
#[bench::decode_64(setup = roofline)]
fn step(model: &RooflineModel) -> Seconds {
    let batch = StepBatch {
        prefill: &[],
        decode: &[DECODE],
    };
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

library_benchmark_group!(
    name = hot_path;
    benchmarks = lookup, step, tabulated_step, simulation
);
main!(library_benchmark_groups = hot_path);
