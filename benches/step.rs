//! The step model: one step of a dense 8B model with a mixed batch, beside the same sum by the
//! predecessors' method.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // criterion's macros; benches may panic

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rooflut::model;
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::sets;
use std::hint::black_box;
use support::csv_tables::CsvTables;
use support::served::{roofline, tabulated};
use support::{QUERIES, queries};

const CHUNK: Chunk = match Chunk::last(512, 612) {
    Ok(chunk) => chunk,
    Err(_) => panic!("512 of 612 tokens"),
};
const GROUP: DecodeGroup = match DecodeGroup::from_sum(64, 70_000) {
    Ok(group) => group,
    Err(_) => panic!("a group of 64 requests"),
};
const MIXED: StepBatch<'static> = StepBatch { prefill: &[CHUNK], decode: &[GROUP] };
const DECODE: StepBatch<'static> = StepBatch { prefill: &[], decode: &[GROUP] };

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("step");
    let load = |name: &str, tp| {
        let spec = model::find(name).expect("in the catalogue").spec;
        RooflineModel::try_new(&spec, &sets::H100, Parallelism::tensor(tp), StepOptions::default()).expect("in the set")
    };
    let dense = load("llama-3.1-8b", 1);
    let large = load("llama-3.1-70b", 4);
    let moe = load("mixtral-8x7b", 2);
    group.bench_function("8B, 64 decode and one chunk", |b| {
        b.iter(|| dense.step_time(black_box(&MIXED)).total());
    });
    group.bench_function("8B, 64 decode", |b| {
        b.iter(|| dense.step_time(black_box(&DECODE)).total());
    });
    group.bench_function("70B tp 4, 64 decode and one chunk", |b| {
        b.iter(|| large.step_time(black_box(&MIXED)).total());
    });
    group.bench_function("8x7B tp 2, 64 decode and one chunk", |b| {
        b.iter(|| moe.step_time(black_box(&MIXED)).total());
    });
    let csv = CsvTables::read();
    group.bench_function("8B, 64 decode, predecessors' way", |b| {
        b.iter(|| {
            let m = black_box(64);
            let gemms: f64 = [(4096, 4096), (4096, 8192), (4096, 16_384), (8192, 4096)]
                .into_iter()
                .map(|(k, n)| csv.gemm_seconds(m, k, n))
                .sum();
            // Their MFU of a batch is the mean over lookups of its requests.
            let attention: f64 = (0..m).map(|i| csv.decode_seconds(m, black_box(1093 + i))).sum();
            32.0 * (gemms + attention)
        });
    });
    group.finish();
}

/// The most frequent call of a simulator: the total of a step in which requests only decode.
fn decode(c: &mut Criterion) {
    let groups: Vec<DecodeGroup> = queries(1, 256)
        .into_iter()
        .zip(queries(128, 8_192))
        .map(|(requests, kv_len)| DecodeGroup::uniform(requests, kv_len).expect("positive"))
        .collect();
    let (plain, tabulated) = (roofline(), tabulated());
    let mut group = c.benchmark_group("decode step, 1024 queries");
    group.throughput(Throughput::Elements(QUERIES as u64));
    group.bench_function("TabulatedModel::decode_time", |b| {
        let time = |&group| tabulated.decode_time(black_box(group)).0;
        b.iter(|| groups.iter().map(time).sum::<f64>());
    });
    group.bench_function("RooflineModel::step_time", |b| {
        b.iter(|| {
            let time = |&group| {
                let batch = StepBatch { prefill: &[], decode: &[black_box(group)] };
                plain.step_time(&batch).total().0
            };
            groups.iter().map(time).sum::<f64>()
        });
    });
    group.finish();
}

criterion_group!(benches, step, decode);
criterion_main!(benches);
