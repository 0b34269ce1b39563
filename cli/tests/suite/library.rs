//! The library and the command line give the same answer to the same question.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "test code outside of test functions")]

#[allow(dead_code, reason = "the test calls what its main calls")]
#[path = "../../../examples/simulate.rs"]
mod simulate;

use rooflut::engine::stacks;
use rooflut::hardware::Dtype;
use rooflut::sim::load::Arrivals;
use rooflut::sim::{PrefixCaching, Request, SchedulingPolicy, SimReport};
use rooflut::table::sets;
use rooflut::{Deployment, model};

use crate::support::success;

/// The flags of `rooflut run` that match the example.
const FLAGS: &str = "run --model llama-3.1-8b --requests 200 --rate 10 --prompt 512 --output=128";

#[test]
fn the_readme_shows_the_example() {
    let readme = include_str!("../../../README.md");
    let example = include_str!("../../../examples/simulate.rs");
    let (_, code) = example.split_once("\n\n").expect("a header and code");
    assert!(readme.contains(code), "README.md does not have the code of examples/simulate.rs");
}

#[test]
fn the_readmes_example_gives_each_request_the_nanoseconds_of_the_command_line() {
    let report = simulate::simulate().expect("a report");
    assert_agrees(FLAGS, &report);
    // The time of the API server is part of it.
    let ttft = report.summary.ttft.expect("served");
    assert!(ttft.p50.ms() > 5.7, "{}", ttft.p50);
}

#[test]
fn a_deployment_with_options_gives_each_request_the_nanoseconds_of_the_same_flags() {
    let flags = "run --model llama-3.1-70b --gpu h200 --tp 4 --dtype fp8 --kv-dtype fp8 --engine vllm-0.11.0 \
                 --max-num-seqs 24 --max-num-batched-tokens 1024 --max-model-len 4096 \
                 --gpu-memory-utilization 0.8 --policy shortest-prompt --prefix-caching off \
                 --watermark 0.1 --requests 200 --rate 10 --prompt 512 --output 128";
    let llama = model::find("llama-3.1-70b").expect("in the catalogue");
    let deployment = Deployment::builder(llama.spec, &sets::H200)
        .tp(4)
        .weight_dtype(Dtype::Fp8)
        .kv_dtype(Dtype::Fp8)
        .engine(&stacks::VLLM_0_11_0)
        .max_num_seqs(24)
        .max_num_batched_tokens(1024)
        .max_model_len(4096)
        .gpu_memory_utilization(0.8)
        .policy(SchedulingPolicy::ShortestPrompt)
        .prefix_caching(PrefixCaching::Disabled)
        .watermark(0.1);
    let requests: Vec<Request> = Arrivals::try_poisson(10.0, 0)
        .expect("a rate")
        .take(200)
        .map(|arrival_ns| Request::new(512, 128).at_ns(arrival_ns))
        .collect();
    let simulator = deployment.build().expect("kernels").simulator();
    let report = simulator.expect("memory").run(&requests);
    assert_agrees(flags, &report.expect("valid times"));
}

/// Asserts that the command line gives each request of `report` its times.
#[track_caller]
fn assert_agrees(flags: &str, report: &SimReport) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.csv");
    let file = path.to_str().expect("UTF-8");
    success(&format!("{flags} --requests-out {file}"));
    let mut rows = csv::Reader::from_path(&path).expect("a file of requests");
    let header = rows.headers().expect("a header").clone();
    let column = |name| header.iter().position(|column| column == name).expect(name);
    let (arrival, ttft, e2e) = (column("arrival_ms"), column("ttft_ms"), column("e2e_ms"));
    assert_eq!(report.records.len(), 200);
    for (record, row) in report.records.iter().zip(rows.records()) {
        let row = row.expect("a row");
        let nanos = |column: usize| -> u64 { (row[column].parse::<f64>().expect("a number") * 1e6).round() as u64 };
        let (expected, timing) = (&record.request, record.timing().expect("served"));
        assert_eq!(nanos(arrival), expected.arrival_ns);
        let since_arrival = |at_ns| at_ns + timing.api_output_ns - expected.arrival_ns;
        assert_eq!(nanos(ttft), since_arrival(timing.first_token_ns));
        assert_eq!(nanos(e2e), since_arrival(timing.finish_ns));
    }
    assert_eq!(rows.position().line(), 202, "a row for each request");
}
