//! `rooflut fits`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use serde_json::{Value, json};

use crate::support::{LLAMA, failure, file, json, text};

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
        let gpu = if flags.contains("--gpu ") { "" } else { "--gpu h100" };
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
        of_gpu.map(|it| it["tp"].as_u64().expect("ranks")).collect::<Vec<_>>()
    };
    for gpu in ["a100", "b200", "b300", "gb200", "gb300", "h100", "h200", "l40s", "rtx-pro-6000"] {
        assert_eq!(of(gpu), [1, 2, 4, 8, 16], "{gpu}");
    }
    assert_eq!(deployments.len(), 45);
}

/// Sources: logs of vLLM 0.19.0, which name 19,776 KV tokens of Kimi-Dev-72B and 476,016 of Llama-3.1-8B.
#[test]
fn memory_is_that_of_the_engine_and_its_limits() {
    let tokens = |flags: &str| {
        let line = format!("fits --gpu h100 --context 8192 {flags}");
        number(&json(&line)["deployments"][0]["holds"]["kv_tokens"])
    };
    let served = "--engine vllm-0.19.0 --gpu-memory-utilization 0.95 --max-num-batched-tokens 8192";
    let llama = |more: &str| tokens(&format!("--model llama-3.1-8b --tp 1 {served} {more}"));
    let found = llama("--max-num-seqs 1024");
    assert!((found / 476_016.0 - 1.0).abs() < 0.001, "{found}");
    // With 256 requests the layers have the peak: 0.95 GiB less, at 131,072 bytes a token.
    let more = llama("--max-num-seqs 256") - found;
    assert!((more / 7_757.0 - 1.0).abs() < 0.02, "{more}");
    let kimi = format!("--model kimi-dev-72b --tp 2 {served} --max-num-seqs 1024");
    let found = tokens(&kimi);
    assert!((found / 19_776.0 - 1.0).abs() < 0.03, "{found}");
}

#[test]
fn weights_in_a_format_without_kernels_count_for_memory_alone() {
    let mut config: Value = serde_json::from_str(LLAMA).expect("JSON");
    config["quantization_config"] = json!({"quant_method": "gptq", "bits": 4, "group_size": 128});
    let (_folder, path) = file("config.json", config.to_string());
    let fits = json(&format!("fits --model {path} --gpu a100 --tp 1"));
    let deployment = &fits["deployments"][0];
    assert_eq!(deployment["missing"], Value::Null);
    // Source: a log of vLLM 0.19.0, 5.38 GiB.
    let weights = number(&deployment["holds"]["weight_bytes"]) / f64::from(1 << 30);
    assert!((weights - 5.38).abs() < 0.3, "{weights}");
    let note = text(&fits, "/notes/0");
    assert!(
        note.starts_with("quantization_config.quant_method: gptq weights count as int4")
            && note.ends_with("their times are not known"),
        "{note}"
    );
    let refused = failure(&format!("run --model {path}"));
    assert!(refused.contains("gptq weights cannot be modelled"), "{refused}");
}
