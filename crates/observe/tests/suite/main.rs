//! Files as clients and servers write them, read as one measured scenario.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests fail as tests do")]

mod compared;
mod files;
mod recorded;
mod server;

use rooflut_observe::{File, Measured};
use rooflut_scenario::{Error, Scenario, ScenarioFile};
use serde_json::{Value, json};

/// Reads files without further keys.
fn read(files: &[(&str, &str)]) -> Result<Measured, Error> {
    read_with("", files)
}

/// Reads files and the keys of a scenario file.
fn read_with(given: &str, files: &[(&str, &str)]) -> Result<Measured, Error> {
    let given: Scenario = ScenarioFile::read(given.as_bytes()).unwrap().scenario().clone();
    let files: Vec<File<'_>> = files.iter().map(|(name, text)| File { name, bytes: text.as_bytes() }).collect();
    Measured::read(&files, &given)
}

fn message(files: &[(&str, &str)]) -> String {
    read(files).unwrap_err().to_string()
}

/// A result of `vllm bench serve` with ten requests, four at a time.
fn result() -> Value {
    json!({
        "date": "20261129-120000", "backend": "openai", "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "tokenizer_id": "tokenizer", "num_prompts": 10, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 4,
        "duration": 5.0, "completed": 10, "failed": 0, "total_input_tokens": 1000, "total_output_tokens": 110,
        "request_throughput": 2.0, "output_throughput": 22.0, "total_token_throughput": 222.0,
        "mean_ttft_ms": 30.0, "median_ttft_ms": 30.0, "std_ttft_ms": 0.0, "p99_ttft_ms": 30.0,
        "mean_tpot_ms": 10.0, "median_tpot_ms": 10.0, "p99_tpot_ms": 10.0,
        "mean_e2el_ms": 130.0, "p99_e2el_ms": 130.0, "a_key_of_a_later_version": [1, {"b": null}],
    })
}

/// Adds the details of `--save-detailed`: equal requests, sent every half second.
fn detailed(mut result: Value) -> Value {
    let count = result["num_prompts"].as_u64().unwrap() as usize;
    result["input_lens"] = json!(vec![100; count]);
    result["output_lens"] = json!(vec![11; count]);
    result["ttfts"] = json!(vec![0.03; count]);
    result["itls"] = json!(vec![vec![0.01; 10]; count]);
    result["errors"] = json!(vec![""; count]);
    result["start_times"] = json!((0..count).map(|index| 100.0 + 0.5 * index as f64).collect::<Vec<_>>());
    result
}
