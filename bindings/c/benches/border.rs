//! The cost of a call from C beside the same call from Rust: lookups, steps of few and of many entries, many steps in one
//! call.

#![allow(clippy::unwrap_used)] // A bench may fail.

use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use rooflut::hardware::{Dtype, GemmShape};
use rooflut::op::Gemm;
use rooflut::step::{DecodeGroup, LatencyModel, StepBatch};
use rooflut::table::sets;
use rooflut::{Deployment, model};
use rooflut_c as c;

/// Measures `call` by the shortest of many batches of 100 calls: a batch is too short to be interrupted often, so that
/// calls of nanoseconds can be compared on a busy machine.
fn shortest<R>(bench: &mut Bencher, call: impl FnMut() -> R) {
    shortest_of(100, bench, call);
}

fn shortest_of<R>(calls_of_batch: u32, bench: &mut Bencher, mut call: impl FnMut() -> R) {
    const BATCHES: u32 = 2_000;
    bench.iter_custom(|calls| {
        let mut shortest = Duration::MAX;
        for _ in 0..BATCHES {
            let start = Instant::now();
            for _ in 0..calls_of_batch {
                black_box(call());
            }
            shortest = shortest.min(start.elapsed());
        }
        shortest.mul_f64(calls as f64 / f64::from(calls_of_batch))
    });
}

const GEMM: &str = r#"{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}"#;

fn lookups(bench: &mut Criterion) {
    let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 };
    let gemm = Gemm::resolve(&sets::H100, shape).unwrap();
    let (mut tables, mut lookup) = (0, 0);
    // SAFETY: names are valid for their lengths, results are local variables.
    let code = unsafe {
        c::rooflut_tables_find("h100".as_ptr().cast(), 4, &raw mut tables, null_mut())
            + c::rooflut_lookup_new(tables, GEMM.as_ptr().cast(), GEMM.len(), &raw mut lookup, null_mut())
    };
    assert_eq!(code, 0);
    let mut group = bench.benchmark_group("gemm");
    group.bench_function("rust", |b| {
        shortest(b, || {
            let estimate = gemm.at(black_box(100));
            (estimate.time, estimate.mfu(), estimate.provenance)
        });
    });
    group.bench_function("c", |b| {
        let mut estimate = c::Estimate { seconds: 0.0, mfu: 0.0, class_: 0, is_outside: 0 };
        shortest(b, || {
            // SAFETY: the result is a local variable.
            unsafe { c::rooflut_lookup_at(lookup, 0, black_box(100), &raw mut estimate, null_mut()) }
        });
    });
}

fn steps(bench: &mut Criterion) {
    let spec = model::find("llama-3.1-8b").unwrap().spec;
    let deployment = Deployment::builder(spec, &sets::H100).build().unwrap();
    let model = deployment.step_model();
    let source = c::ScenarioSource { toml: null(), toml_length: 0, model: 0, draft_model: 0, tables: 0 };
    let mut scenario = 0;
    // SAFETY: local variables.
    let code = unsafe { c::rooflut_scenario_new(&raw const source, &raw mut scenario, null_mut()) };
    assert_eq!(code, 0);
    let mut time = c::Duration::default();
    for groups in [1, 64] {
        let mut group = bench.benchmark_group(format!("step of 64 requests in {groups} groups"));
        let requests = 64 / groups;
        group.bench_function("rust", |b| {
            let lengths = vec![(requests, u64::from(requests) * 1_000); groups as usize];
            shortest(b, || {
                let decode =
                    black_box(&lengths).iter().map(|(requests, kv)| DecodeGroup::from_sum(*requests, *kv).unwrap());
                let decode: arrayvec::ArrayVec<_, 64> = decode.collect();
                let batch = StepBatch { prefill: &[], decode: &decode };
                model.total_time(&batch)
            });
        });
        group.bench_function("c", |b| {
            let entry =
                c::DecodeGroup { kv_tokens: u64::from(requests) * 1_000, outside_tokens: 0, requests, drafted: 0 };
            let decode = vec![entry; groups as usize];
            let batch =
                c::Batch { prefill: null(), prefill_length: 0, decode: decode.as_ptr(), decode_length: decode.len() };
            shortest(b, || {
                // SAFETY: local variables.
                unsafe { c::rooflut_step_time(scenario, black_box(&raw const batch), &raw mut time, null_mut()) }
            });
        });
    }
    many_steps(bench, scenario);
}

fn many_steps(bench: &mut Criterion, scenario: c::Handle) {
    const STEPS: usize = 1_000;
    let offsets: Vec<u64> = (0..=STEPS as u64).collect();
    let (requests, kv_tokens) = (vec![64; STEPS], vec![64_000; STEPS]);
    let steps = c::Steps {
        length: STEPS,
        prefill_offsets: null(),
        prefill_new_tokens: null(),
        prefill_kv_len: null(),
        prefill_is_last: null(),
        prefill_length: 0,
        decode_offsets: offsets.as_ptr(),
        decode_requests: requests.as_ptr(),
        decode_kv_tokens: kv_tokens.as_ptr(),
        decode_drafted: null(),
        decode_outside_tokens: null(),
        decode_length: STEPS,
    };
    let mut times = vec![c::Duration::default(); STEPS];
    bench.bench_function("1,000 steps of 64 requests in one call", |b| {
        shortest_of(1, b, || {
            // SAFETY: local variables.
            unsafe { c::rooflut_step_times(scenario, &raw const steps, times.as_mut_ptr(), STEPS, null_mut()) }
        });
    });
}

criterion_group!(benches, lookups, steps);
criterion_main!(benches);
