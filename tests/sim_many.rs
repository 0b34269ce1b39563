//! Ten million requests: time grows with them in proportion, memory does not.
#![cfg(all(feature = "sim", feature = "h100"))]
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use std::time::{Duration, Instant};

use rooflut::model;
use rooflut::sim::figures::Digest;
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, Stream, SyntheticLoad};
use rooflut::sim::{SimConfig, Simulator};
use rooflut::step::{Parallelism, RooflineModel, StepOptions, TabulatedModel};
use rooflut::table::sets;

/// llama-3.1-8b on an H100, half loaded.
struct Server(Simulator<TabulatedModel>);

impl Server {
    fn new() -> Server {
        let llama = model::find("llama-3.1-8b").unwrap().spec;
        let (alone, options) = (Parallelism::SINGLE, StepOptions::default());
        let model = RooflineModel::try_new(&llama, &sets::H100, alone, options);
        let model = TabulatedModel::new(model.unwrap(), 2_048);
        Server(Simulator::try_new(model, SimConfig::new(8_192, 27_000)).unwrap())
    }

    /// Serves so many; answers the time that took, and how many bytes were held at most.
    fn serve(&self, requests: usize) -> (Duration, u64) {
        let prompt = Lengths::try_uniform(1..=256).unwrap();
        let output = Lengths::try_uniform(1..=32).unwrap();
        let arrivals = Arrivals::try_poisson(60.0, 1).unwrap();
        let load = SyntheticLoad::new(arrivals, RequestMix::new(prompt, output), 1);
        let start = Instant::now();
        let used = allocation_counter::measure(|| {
            let mut digest = Digest::new();
            let totals = self.0.serve(&mut Stream::new(load.take(requests)), &mut digest).unwrap();
            let summary = digest.into_summary(&totals);
            assert_eq!(summary.completed, requests as u64);
            assert!(summary.ttft.unwrap().p99.0 < 1.0);
        });
        (start.elapsed(), used.bytes_max)
    }
}

#[test]
fn memory_does_not_grow_with_requests_that_have_left() {
    let server = Server::new();
    let (few, many) = (server.serve(50_000).1, server.serve(500_000).1);
    // A buffer may double once more for a higher peak.
    assert!(many < few + 20_000, "{few} -> {many} bytes");
}

/// `cargo test --release -p rooflut --test sim_many -- --ignored --nocapture`
#[test]
#[ignore = "slow: simulates ten million requests, and reads the wall clock"]
fn ten_million_requests_take_ten_times_as_long_as_a_million() {
    let server = Server::new();
    let is_linear = |_| {
        let one = (0..3).map(|_| server.serve(1_000_000)).min().unwrap();
        let ten = server.serve(10_000_000);
        let ratio = ten.0.as_secs_f64() / one.0.as_secs_f64() / 10.0;
        println!("10^6: {one:?}, 10^7: {ten:?} (bytes): {ratio:.3} of the time each");
        assert!(ten.1 < one.1 + 20_000);
        (0.8..1.2).contains(&ratio)
    };
    // A machine that does something else meanwhile gets another try.
    assert!((0..3).any(is_linear));
}
