//! Lookups: `resolve` once and `at` often, beside the predecessors' method.
//!
//! Queries are 1,024 fixed pseudo-random ones; times are per batch of 1,024, so microseconds per
//! iteration are about nanoseconds per lookup.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // criterion's macros; benches may panic

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rooflut::hardware::{AttentionShape, Dtype, GemmShape};
use rooflut::op::{DecodeAttention, Gemm, PrefillAttention};
use rooflut::table::sets;
use std::hint::black_box;
use support::{QUERIES, csv_tables::CsvTables, queries};

const SEEN: GemmShape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 };
const UNSEEN: GemmShape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 };
const ATTENTION: AttentionShape =
    AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 1 };

fn resolve(c: &mut Criterion) {
    let mut group = c.benchmark_group("resolve");
    group.bench_function("gemm measured", |b| {
        b.iter(|| Gemm::resolve(&sets::H100, black_box(SEEN)));
    });
    group.bench_function("gemm blended", |b| {
        b.iter(|| Gemm::resolve(&sets::H100, black_box(UNSEEN)));
    });
    group.bench_function("decode measured", |b| {
        b.iter(|| DecodeAttention::resolve(&sets::H100, black_box(ATTENTION)));
    });
    group.finish();
}

fn gemm(c: &mut Criterion) {
    let rows = queries(1, 16_384);
    let mut group = c.benchmark_group("gemm at, 1024 queries");
    group.throughput(Throughput::Elements(QUERIES as u64));
    for (name, shape) in [("rooflut measured", SEEN), ("rooflut blended", UNSEEN)] {
        let gemm = Gemm::resolve(&sets::H100, shape).expect("in the set");
        group.bench_function(name, |b| {
            b.iter(|| rows.iter().map(|&m| gemm.at(black_box(m)).time.0).sum::<f64>());
        });
    }
    let csv = CsvTables::read();
    group.bench_function("predecessors' way", |b| {
        b.iter(|| rows.iter().map(|&m| csv.gemm_seconds(black_box(m), SEEN.k, SEEN.n)).sum::<f64>());
    });
    group.finish();
}

fn decode(c: &mut Criterion) {
    let points: Vec<(u32, u64)> = queries(1, 256)
        .into_iter()
        .zip(queries(128, 8192))
        .map(|(requests, kv_len)| (requests, u64::from(requests) * u64::from(kv_len)))
        .collect();
    let mut group = c.benchmark_group("decode at, 1024 queries");
    group.throughput(Throughput::Elements(QUERIES as u64));
    let decode = DecodeAttention::resolve(&sets::H100, ATTENTION).expect("in the set");
    group.bench_function("rooflut", |b| {
        b.iter(|| {
            let time = |&(requests, kv)| decode.at(black_box(requests), black_box(kv)).time.0;
            points.iter().map(time).sum::<f64>()
        });
    });
    let csv = CsvTables::read();
    group.bench_function("predecessors' way", |b| {
        b.iter(|| {
            let time = |&(requests, kv): &(u32, u64)| {
                let kv_len = (kv / u64::from(requests)) as u32;
                csv.decode_seconds(black_box(requests), black_box(kv_len))
            };
            points.iter().map(time).sum::<f64>()
        });
    });
    group.finish();
}

fn prefill(c: &mut Criterion) {
    let lengths = queries(16, 16_384);
    let mut group = c.benchmark_group("prefill at, 1024 queries");
    group.throughput(Throughput::Elements(QUERIES as u64));
    let prefill = PrefillAttention::resolve(&sets::H100, ATTENTION).expect("in the set");
    group.bench_function("rooflut", |b| {
        b.iter(|| lengths.iter().map(|&s| prefill.at(1, black_box(s)).time.0).sum::<f64>());
    });
    group.finish();
}

criterion_group!(benches, resolve, gemm, decode, prefill);
criterion_main!(benches);
