//! `rooflut fits`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use serde_json::Value;

use crate::support::json;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn memory_is_that_of_a_run() {
    for flags in [
        "--model llama-3.1-70b --tp 4",
        "--model gemma-3-27b --gpu h200",
        "--model gemma-4-26b-a4b --gpu h200 --kv-dtype fp8",
        "--model qwen3.5-35b-a3b --gpu h200 --tp 2",
        "--model qwen3-30b-a3b --dp 2 --expert-parallel",
        "--model llama-3.1-70b --tp 2 --gpu-memory-utilization 0.95 --block-size 32",
    ] {
        let run = json(&format!("run {flags} --requests 2 --users 1 --output 2"));
        let gpu = if flags.contains("--gpu ") {
            ""
        } else {
            "--gpu h100"
        };
        let tp = if flags.contains("--tp") { "" } else { "--tp 1" };
        let fits = json(&format!("fits {flags} {gpu} {tp}"));
        let held = &fits["deployments"][0]["holds"];
        assert_eq!(held["kv_blocks"], run["kv_blocks"], "{flags}");
        assert_eq!(held["longest_request"], run["max_model_len"], "{flags}");
    }
}

#[test]
fn requests_are_those_of_the_whole_kv_cache() {
    let fits = json("fits --gpu h100 --tp 1 --context 1000 --batch 400");
    let held = &fits["deployments"][0]["holds"];
    // 1,000 tokens take 63 blocks of 16.
    let requests = number(&held["kv_blocks"]) / 63.0;
    assert!((number(&held["requests"]) - requests).abs() < 1e-9);
    assert_eq!(held["kv_tokens"], (requests * 1000.0) as u64);
    assert_eq!(fits["deployments"][0]["missing"], Value::Null);
    let more = json("fits --gpu h100 --tp 1 --context 1000 --batch 500");
    assert_eq!(more["deployments"][0]["missing"], "batch");
    assert!(requests > 400.0 && requests < 500.0);
}

#[test]
fn each_gpu_is_listed_once_with_the_ranks_that_share_the_model() {
    let fits = json("fits --model llama-3.1-8b");
    let deployments = fits["deployments"].as_array().expect("deployments");
    let of = |gpu: &str| {
        let of_gpu = deployments.iter().filter(|it| it["gpu"] == gpu);
        of_gpu
            .map(|it| it["tp"].as_u64().expect("ranks"))
            .collect::<Vec<_>>()
    };
    for gpu in ["a100", "b200", "b300", "h100", "h200", "l40s"] {
        assert_eq!(of(gpu), [1, 2, 4, 8, 16], "{gpu}");
    }
    assert_eq!(deployments.len(), 30);
}
