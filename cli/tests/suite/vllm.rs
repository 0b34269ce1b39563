//! The `vllm serve` commands of answers, read back by `--vllm`.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use serde_json::Value;

use crate::support::success;

fn json(arguments: &str) -> Value {
    serde_json::from_str(&success(arguments)).unwrap()
}

/// The answer of a command to a `vllm serve` command, which has spaces.
fn json_with(arguments: &str, command: &Value) -> Value {
    let mut arguments: Vec<&str> = arguments.split(' ').collect();
    arguments.extend(["--json", "--vllm", command.as_str().unwrap()]);
    let output = std::process::Command::new(crate::PROGRAM).args(&arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn each_deployment_of_fits_is_the_one_of_its_command() {
    for arguments in [
        "--model llama-3.3-70b --gpu h100 --context 16384",
        "--model llama-3.1-8b --gpu h100 --kv-dtype fp8 --dtype fp8",
        "--model deepseek-v3 --gpu h200 --expert-parallel --max-num-seqs 64 --gpu-memory-utilization 0.95",
        "--model qwen3-32b --gpu a100 --pp 2 --block-size 32 --max-num-batched-tokens 4096",
    ] {
        let fits = json(&format!("fits --json {arguments}"));
        for fit in fits["deployments"].as_array().unwrap() {
            let gpu = fit["gpu"].as_str().unwrap();
            let again = json_with(&format!("fits --gpu {gpu}"), &fit["vllm_command"]);
            assert_eq!(again["deployments"].as_array().unwrap(), std::slice::from_ref(fit));
        }
    }
}

#[test]
fn the_servers_of_plan_and_saturate_are_those_of_their_commands() {
    let plan = "plan --requests 20 --rate 2 --goodput ttft:100000@mean --max-gpus 8 --json";
    for arguments in [
        "--model llama-3.1-8b --dtype bf16,fp8 --kv-dtype fp8 --max-num-seqs 16,32",
        "--model llama-3.1-70b --prefix-caching off --scheduling sync --max-num-batched-tokens 4096",
    ] {
        let plan = json(&format!("{plan} {arguments}"));
        let deployments = plan["deployments"].as_array().unwrap();
        assert!(!deployments.is_empty());
        for deployment in deployments {
            let report = json_with("run --requests 5", &deployment["vllm_command"]);
            for key in [
                "tp",
                "dp",
                "pp",
                "expert_parallel",
                "kv_dtype",
                "max_num_seqs",
                "max_num_batched_tokens",
                "kv_blocks",
                "weight_dtype",
            ] {
                assert_eq!(report[key], deployment[key], "{key} of {}", deployment["vllm_command"]);
            }
        }
    }
    let given = "--model llama-3.1-8b --tp 2 --kv-dtype fp8 --block-size 32";
    let saturation = json(&format!("saturate --requests 20 --json {given}"));
    let mut again = json_with("saturate --requests 20", &saturation["vllm_command"]);
    // Flags say what vLLM's command says in other words.
    again["command"] = saturation["command"].clone();
    assert_eq!(again, saturation);
}

#[test]
fn a_plan_chooses_among_flags_beside_those_of_the_command() {
    let command = Value::from("vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2 --max-num-seqs 8");
    let plan = "plan --requests 20 --rate 2 --goodput ttft:100000@mean --max-gpus 8";
    let servers = |plan: &Value| {
        let deployments = plan["deployments"].as_array().unwrap().clone();
        let keys = deployments.into_iter().map(|it| (it["tp"].as_u64().unwrap(), it["max_num_seqs"].as_u64().unwrap()));
        keys.collect::<Vec<_>>()
    };
    assert_eq!(servers(&json_with(plan, &command)), [(2, 8)]);
    let mut chosen = servers(&json_with(&format!("{plan} --tp 1,4"), &command));
    chosen.sort_unstable();
    assert_eq!(chosen, [(1, 8), (4, 8)]);
}
