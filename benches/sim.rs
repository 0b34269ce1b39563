//! The simulator: llama-3.1-8b on an H100 under load, decoding, and beside the straightforward engine
//! that walks over all requests in each step (`tests/sim/oracle`).
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // criterion's macros; benches may panic

#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "part of the tests, which read all of it")]
#[path = "../tests/sim/oracle/mod.rs"]
mod plain_engine;
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rooflut::sim::figures::{BatchSizes, Digest, TokenGaps, Totals};
use rooflut::sim::load::{RequestList, Stream};
use rooflut::sim::{PrefixCaching, Request, Simulator};
use rooflut::step::{LatencyModel, TabulatedModel};
use support::served::{alike, config, load, roofline, saturation, serve, tabulated};

/// Requests per iteration: Poisson arrivals at 70 % of saturation, generated on the fly.
const REQUESTS: usize = 100_000;

fn under_load(c: &mut Criterion) {
    let simulator = Simulator::try_new(tabulated(), config(128)).expect("sound limits");
    let rate = 0.7 * saturation(&simulator);
    let totals = serve(&simulator, load(rate), REQUESTS);
    println!("{rate:.2} requests per second: {} steps, {} preemptions", totals.steps, totals.preemptions);
    let mut group = c.benchmark_group("under load");
    group.sample_size(10);
    group.throughput(Throughput::Elements(REQUESTS as u64));
    group.bench_function("requests", |b| {
        b.iter(|| serve(&simulator, load(rate), REQUESTS));
    });
    // As in `rooflut run`.
    group.bench_function("requests, with all figures", |b| {
        b.iter(|| {
            let mut source = Stream::new(load(rate).take(REQUESTS));
            simulator.serve(&mut source, &mut Digest::new()).expect("valid times")
        });
    });
    group.finish();
}

fn serve_all<M: LatencyModel>(simulator: &Simulator<M>, requests: &[Request]) -> Totals {
    simulator.serve(&mut RequestList::new(requests), &mut ()).expect("valid times")
}

/// A server with room for `batch` requests that decode together.
fn decoding(batch: u32) -> Simulator<TabulatedModel> {
    let mut config = config(batch);
    config.kv_blocks = u32::MAX;
    Simulator::try_new(tabulated(), config).expect("sound limits")
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("steps");
    // Long outputs show the cost of a step alone: a request costs as much as a few steps.
    for (batch, prompt, output) in [(64, 512, 2_048), (8, 16, 50_000), (64, 16, 50_000), (512, 16, 50_000)] {
        let simulator = decoding(batch);
        let requests = alike(batch as usize, prompt, output);
        let steps = serve_all(&simulator, &requests).steps;
        group.throughput(Throughput::Elements(steps));
        group.bench_function(format!("{batch} requests, {output} tokens each"), |b| {
            b.iter(|| serve_all(&simulator, &requests));
        });
    }
    group.finish();
}

/// Decode steps with an observer of each step.
fn observed(c: &mut Criterion) {
    let mut group = c.benchmark_group("observed steps");
    for batch in [8, 64] {
        let simulator = decoding(batch);
        let requests = alike(batch as usize, 16, 50_000);
        let steps = serve_all(&simulator, &requests).steps;
        group.throughput(Throughput::Elements(steps));
        group.bench_function(format!("{batch} requests, no observer"), |b| {
            b.iter(|| simulator.serve(&mut RequestList::new(&requests), &mut ()).expect("valid times"));
        });
        group.bench_function(format!("{batch} requests, token gaps"), |b| {
            b.iter(|| simulator.serve(&mut RequestList::new(&requests), &mut TokenGaps::new()).expect("valid times"));
        });
        group.bench_function(format!("{batch} requests, token gaps and batch sizes"), |b| {
            b.iter(|| {
                let mut observers = (TokenGaps::new(), BatchSizes::new());
                simulator.serve(&mut RequestList::new(&requests), &mut observers).expect("valid times")
            });
        });
    }
    group.finish();
}

fn engines(c: &mut Criterion) {
    let mut config = config(256);
    // Otherwise the plain engine tracks the contents of every block, which no engine in use does.
    config.prefix_caching = PrefixCaching::Disabled;
    let requests = alike(512, 128, 512);
    let simulator = Simulator::try_new(tabulated(), config).expect("sound limits");
    let plain = roofline();
    let steps = serve_all(&simulator, &requests).steps;
    assert_eq!(plain_engine::run(&plain, config, &requests, &[], |sequence| sequence, &[]).steps, steps);
    let mut group = c.benchmark_group("engines at batch 256");
    group.throughput(Throughput::Elements(steps));
    group.bench_function("rooflut", |b| b.iter(|| serve_all(&simulator, &requests)));
    group.sample_size(20);
    group.bench_function("straightforward", |b| {
        b.iter(|| plain_engine::run(&plain, config, &requests, &[], |sequence| sequence, &[]));
    });
    group.finish();
}

criterion_group!(benches, under_load, steps, observed, engines);
criterion_main!(benches);
