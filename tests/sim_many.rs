//! Millions of requests: time grows with them in proportion, memory does not, and their means are those of shorter runs.
#![cfg(all(feature = "sim", feature = "h100"))]
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use std::time::{Duration, Instant};

use rooflut::model;
use rooflut::sim::figures::{Digest, Summary};
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, Stream, SyntheticLoad};
use rooflut::sim::{SimConfig, Simulator};
use rooflut::step::{Parallelism, RooflineModel, StepOptions, TabulatedModel};
use rooflut::table::sets;

/// llama-3.1-8b on an H100, half loaded.
struct Server(Simulator<TabulatedModel>);

/// A run: the time that it took, the bytes that it held at most, and its figures.
struct Run {
    time: Duration,
    bytes: u64,
    summary: Summary,
}

/// Returns the processor time of this thread where the system tells it, else the time of a clock that began at `start`.
fn time_since(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let on_cpu_ns = told.ok().and_then(|text| text.split_whitespace().next()?.parse().ok());
    on_cpu_ns.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

impl Server {
    fn new() -> Server {
        let llama = model::find("llama-3.1-8b").unwrap().spec;
        let (alone, options) = (Parallelism::SINGLE, StepOptions::default());
        let model = RooflineModel::try_new(&llama, &sets::H100, alone, options);
        let model = TabulatedModel::new(model.unwrap(), 2_048);
        Server(Simulator::try_new(model, SimConfig::new(8_192, 27_000)).unwrap())
    }

    fn serve(&self, requests: usize, seed: u64) -> Run {
        let prompt = Lengths::try_uniform(1..=256).unwrap();
        let output = Lengths::try_uniform(1..=32).unwrap();
        let arrivals = Arrivals::try_poisson(60.0, seed).unwrap();
        let load = SyntheticLoad::new(arrivals, RequestMix::new(prompt, output), seed);
        let start = Instant::now();
        let before = time_since(start);
        let mut summary = None;
        let used = allocation_counter::measure(|| {
            let mut digest = Digest::new();
            let totals = self.0.serve(&mut Stream::new(load.take(requests)), &mut digest).unwrap();
            summary = Some(digest.into_summary(&totals));
        });
        let summary = summary.unwrap();
        assert_eq!(summary.completed, requests as u64);
        assert!(summary.ttft.unwrap().p99.0 < 1.0);
        Run { time: time_since(start) - before, bytes: used.bytes_max, summary }
    }

    /// Asserts that the means of `run` are within three standard errors of those of ten runs of `requests`.
    fn assert_means(&self, run: &Run, requests: usize) {
        let means = |run: &Run| {
            let stats = [run.summary.ttft, run.summary.tpot, run.summary.e2e];
            stats.map(|stats| stats.unwrap().mean.0)
        };
        let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
        let found = means(run);
        for seed in 100..110 {
            for ((of_run, found), (sum, square)) in
                means(&self.serve(requests, seed)).into_iter().zip(found).zip(sums.iter_mut().zip(&mut squares))
            {
                // From the mean of the long run, which is close to theirs.
                let difference = of_run - found;
                *sum += difference;
                *square += difference * difference;
            }
        }
        for (name, (sum, square)) in ["TTFT", "TPOT", "E2E"].into_iter().zip(sums.into_iter().zip(squares)) {
            let mean: f64 = sum / 10.0;
            let standard_error = ((square / 10.0 - mean * mean) / 9.0).sqrt();
            let errors = mean.abs() / standard_error;
            println!("{name}: ten runs are {errors:.2} standard errors from the long one");
            assert!(errors <= 3.0, "{name}: {errors} standard errors");
        }
    }
}

#[test]
fn memory_does_not_grow_with_requests_that_have_left_and_means_do_not_drift() {
    let server = Server::new();
    let (few, many) = (server.serve(50_000, 1), server.serve(500_000, 1));
    // A buffer may double once more for a higher peak.
    assert!(many.bytes < few.bytes + 20_000, "{} -> {} bytes", few.bytes, many.bytes);
    server.assert_means(&many, 50_000);
}

/// `cargo test --release -p rooflut --test sim_many -- --ignored --nocapture`, with `MANY=100000000` for a hundred million.
#[test]
#[ignore = "slow: simulates twenty million requests, and measures their time"]
fn ten_million_requests_take_ten_times_as_long_as_a_million_and_have_their_means() {
    let server = Server::new();
    let many = std::env::var("MANY").map_or(10_000_000, |text| text.parse().unwrap());
    let times = many as f64 / 1e6;
    let long_run = |_| {
        let million = (0..3).map(|_| server.serve(1_000_000, 1)).min_by_key(|run| run.time).unwrap();
        let run = server.serve(many, 1);
        let ratio = run.time.as_secs_f64() / million.time.as_secs_f64() / times;
        println!("10^6: {:?}, {} bytes", million.time, million.bytes);
        println!("{many}: {:?}, {} bytes: {ratio:.3} of the time each", run.time, run.bytes);
        assert!(run.bytes < million.bytes + 20_000);
        (0.8..1.2).contains(&ratio).then_some(run)
    };
    // A machine whose caches others use meanwhile gets another try.
    let run = (0..3).find_map(long_run).unwrap();
    server.assert_means(&run, many / 10);
}
