//! Errors: one line each.

use crate::support::{failure, json};

#[test]
fn unknown_names_come_with_the_nearest_ones() {
    let message = failure("run --model lama-3.1-8b");
    assert!(message.contains("(nearest: llama-3.1-8b"), "{message}");
    assert!(message.contains("`rooflut models`"), "{message}");
    let message = failure("step --decode 1x1 --model Qwen/Qwen3-14");
    assert!(message.contains("(nearest: Qwen/Qwen3-14B"), "{message}");
    let message = failure("run --gpu h10");
    assert!(
        message.contains("use --gpu a100, b200, h100, h100-infersim, h200 or l40s"),
        "{message}"
    );
    let message = failure("run --engine vllm-0.15");
    assert!(message.contains("(nearest: vllm-0.15.1"), "{message}");
    assert!(message.contains("`rooflut engines`"), "{message}");
    assert!(failure("rum").contains("run"));
}

#[test]
fn a_missing_subcommand_lists_the_subcommands() {
    for (command, subcommand) in [("lookup", "gemm"), ("import", "vidur")] {
        let message = failure(command);
        assert!(message.contains("requires a subcommand"), "{message}");
        assert!(message.contains(subcommand), "{message}");
    }
}

#[test]
fn a_model_that_does_not_fit_says_by_how_much_and_what_would() {
    let message = failure("run --model llama-3.1-70b");
    assert!(message.contains("GiB too little"), "{message}");
    assert!(message.contains("use --tp 2, which leaves"), "{message}");
    // The suggested command works.
    crate::support::json("run --model llama-3.1-70b --tp 2 --requests 3");
    assert!(
        message.contains(", or --dtype fp8, which leaves"),
        "{message}"
    );
    crate::support::json("run --model llama-3.1-70b --dtype fp8 --requests 3");
    let message = failure("run --gpu-memory-utilization 0.15");
    assert!(
        message.contains(", or --gpu-memory-utilization 0.95, which"),
        "{message}"
    );
    let message = failure("run --model llama-3.1-405b --gpu l40s --gpu-memory-utilization 0.95");
    assert!(message.contains("no --tp would do"), "{message}");
    // The budget is too large, not the model.
    let message = failure("run --max-num-batched-tokens 4000000000");
    assert!(
        message.starts_with(
            "--max-num-batched-tokens 4000000000: the activations of such a step do not fit h100"
        ) && message.ends_with("use --max-num-batched-tokens 2048, which leaves 28,598 KV blocks"),
        "{message}"
    );
}

#[test]
fn a_tp_that_does_not_divide_names_those_that_do() {
    let message = failure("run --tp 3");
    assert!(
        message.contains("multiple of tp (3), found 32; use --tp 1, 2, 4 or 8"),
        "{message}"
    );
}

#[test]
fn a_set_without_the_kernels_is_refused_and_another_named() {
    for command in ["run", "step --decode 4x100"] {
        let message = failure(&format!("{command} --gpu h100-infersim"));
        assert!(message.contains("h100-infersim: gemm: expected one of fp8_block, found bf16"));
        assert!(
            message.ends_with("--gpu a100, b200, h100, h200 or l40s"),
            "{message}"
        );
    }
}

#[test]
fn weights_that_a_set_cannot_multiply_are_refused_and_another_named() {
    for (arguments, words, end) in [
        (
            "--gpu a100 --dtype fp8",
            "llama-3.1-8b (fp8 weights): qkv: GPU a100: no peak for fp8",
            "use another dtype or use --gpu b200, h100, h200 or l40s",
        ),
        (
            "--dtype nvfp4",
            "llama-3.1-8b (nvfp4 weights): qkv: GPU h100: no peak for nvfp4",
            "use another dtype or use --gpu b200",
        ),
        (
            "--gpu h100-infersim --dtype fp8",
            "gemm: expected one of fp8_block, found fp8",
            ": --gpu b200, h100, h200 or l40s",
        ),
        // No set reduces over 16 GPUs.
        (
            "--gpu a100 --dtype fp8 --tp 16 --model llama-2-7b",
            "llama-2-7b (fp8 weights): ",
            "; no compiled-in set can answer for this model",
        ),
    ] {
        for command in ["run", "step --decode 4x100"] {
            let message = failure(&format!("{command} {arguments}"));
            assert!(
                message.contains(words) && message.ends_with(end),
                "{message}"
            );
        }
    }
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    for (flag, values) in [
        ("--requests", &["1.5", "1k", "1,00", "1e99"][..]),
        ("--prompt", &["4294967296"]),
        ("--gpu-memory-utilization", &["1.1"]),
        ("--dtype", &["int4", "auto"]),
        ("--kv-dtype", &["int4", "int8", "fp8_block"]),
        ("--arrival", &["bursty"]),
    ] {
        for value in values {
            let message = failure(&format!("run {flag} {value}"));
            assert!(
                message.contains(flag) && !message.contains("unexpected"),
                "{message}"
            );
        }
    }
    let message = failure("run --max-num-batched-tokens 64");
    assert!(
        message.contains("expected at least --max-num-seqs 128, found 64"),
        "{message}"
    );
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let plain =
        json("run --requests 1000 --rate 1000 --prompt 1000 --dtype fp8 --goodput ttft:500");
    for forms in [
        "run --requests 1e3 --rate 1e3 --prompt 1e3 --dtype FP8 --goodput ttft:500ms",
        "run --requests 1_000 --rate 1,000 --prompt 1,000 --dtype fp8_e4m3 --goodput ttft:0.5s",
    ] {
        assert_eq!(json(forms), plain, "{forms}");
    }
    let users = "run --requests 40 --users 4 --think-time";
    assert_eq!(
        json(&format!("{users} 500ms")),
        json(&format!("{users} 0.5"))
    );
    let lookup = "lookup gemm --k 4096 --n 4096";
    assert_eq!(
        json(&format!("{lookup} --m 1,000 --dtype bfloat16")),
        json(&format!("{lookup} --m 1000"))
    );
    assert_eq!(
        json("step --decode 64x1_000"),
        json("step --decode 64x1000")
    );
    let message = failure("run --requests 128k");
    assert!(
        message.contains("1000, 1_000, 1,000 or 1e3 (not 1k, which"),
        "{message}"
    );
    assert!(failure("run --think-time 2parsecs").contains("as in 500ms"));
    assert!(failure("run --dtype auto").contains("auto is the default"));
}

#[test]
fn more_of_a_prompt_cached_than_there_is_is_refused() {
    let base = "run --requests 3 --prompt 512 --cached-prompt";
    assert_eq!(
        failure(&format!("{base} 600")),
        "--cached-prompt: expected at most the shortest --prompt, 512, found 600"
    );
    crate::support::success(&format!("{base} 512"));
}

#[test]
fn a_rate_that_the_clock_cannot_hold_is_refused() {
    for arrival in ["poisson", "constant"] {
        let message = failure(&format!("run --rate 1e-300 --arrival {arrival}"));
        assert!(
            message.starts_with(
                "--rate: expected arrivals within 292 years, found 1e-300 requests per second"
            ),
            "{message}"
        );
    }
    let slow = "run --rate 1e-9 --arrival constant --requests";
    assert!(failure(&format!("{slow} 12")).contains("request 11 comes later"));
    crate::support::success(&format!("{slow} 10"));
}

#[test]
fn a_config_that_cannot_be_modelled_is_refused_by_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    let path = path.to_str().expect("UTF-8");
    for (text, words) in [
        (
            r#"{"model_type": "deepseek_v3", "hidden_size": 4096}"#,
            "model_type: deepseek_v3 has multi-head latent attention, which cannot be modelled yet",
        ),
        ("no JSON", "config.json"),
    ] {
        std::fs::write(path, text).expect("a file");
        let message = failure(&format!("run --model {path}"));
        assert!(message.contains(words), "{message}");
    }
    assert!(failure("run --model no/config.json").starts_with("cannot read"));
}

#[test]
fn what_has_no_effect_is_refused() {
    for (flags, expected) in [
        (
            "--router least-tokens",
            "--router needs --replicas or --prefill-replicas; add it",
        ),
        (
            "--policy priority",
            "--policy priority needs --priorities or --trace; add it",
        ),
        (
            "--priorities 0.5,0.5",
            "--priorities needs --policy priority; add it",
        ),
        (
            "--goodput ttft:200 tpot:9 ttft:300",
            "--goodput: expected one limit on a latency, found two on ttft",
        ),
        (
            "--kv-blocks 500 --gpu-memory-utilization 0.8",
            "--kv-blocks cannot be used with --gpu-memory-utilization: it determines the number of KV blocks; \
             leave one of them out",
        ),
    ] {
        assert_eq!(failure(&format!("run {flags}")), expected);
    }
    for (flags, expected) in [
        (
            "--router least-tokens --replicas 1",
            "--router has no effect: there is one server",
        ),
        (
            "--replicas 2 --router prefix-affinity --prefix-caching off",
            "--router prefix-affinity has no effect: servers without prefix caching have no",
        ),
        (
            "--turns 1 --think-time 5",
            "--think-time has no effect: no turn follows",
        ),
        (
            "--arrival constant --seeds 3",
            "--seeds has no effect: nothing is drawn",
        ),
        (
            "--assume-llama",
            "--assume-llama has no effect: the model is known without it",
        ),
        ("--force", "--force has no effect: no file is written"),
        (
            "--force --steps-out -",
            "--force has no effect: no file is written",
        ),
        (
            "--trace examples/chat_trace.csv --policy priority",
            "--policy priority has no effect: the trace has no priorities",
        ),
    ] {
        let message = failure(&format!("run {flags}"));
        assert!(
            message.starts_with(expected) && message.ends_with("; leave it out"),
            "{message}"
        );
    }
    assert!(failure("step --decode 1x1 --assume-llama").starts_with("--assume-llama has no"));
    let message = failure("run --policy priority --priorities 0.8,0.3");
    assert!(
        message.contains("expected shares whose sum is 1, found the sum 1.1"),
        "{message}"
    );
}

#[test]
fn advice_fits_the_cause() {
    for (line, expected) in [
        (
            "run --tp 16",
            "llama-3.1-8b: --tp: expected at most 8 ranks, the most over which table set h100 has an all-reduce, \
             found 16; use --tp 8",
        ),
        (
            "run --kv-dtype fp4",
            "invalid value 'fp4' for '--kv-dtype <DTYPE>': expected one of bf16, fp8; see --help",
        ),
        (
            "run --pp 2",
            "--pp: expected 1, found 2: pipeline parallelism is not modelled; use --tp, which divides a model over the \
             GPUs of one node",
        ),
        (
            "run --prefill-replicas 2 --link-latency 10",
            "--prefill-replicas needs --decode-replicas and --link-bandwidth; add them",
        ),
        (
            "run --requests 20000000",
            "--requests: expected a whole number from 1 to 10,000,000, found 20000000",
        ),
        (
            "run --requests 10.5",
            "invalid value '10.5' for '--requests <COUNT>': expected a whole number of at least 0, as in 1000, 1_000, \
             1,000 or 1e3 (not 1k, which may be 1,024); see --help",
        ),
        (
            "step --decode 10000000000x1",
            "invalid value '10000000000x1' for '--decode <REQUESTSxKV>': expected REQUESTSxKV, both from 1 to \
             4,294,967,295: requests and the KV length of each with its new token, as in 64x1000; see --help",
        ),
        (
            "--rate 5",
            "--rate is a flag of `rooflut run`; use rooflut run --rate ...",
        ),
        (
            "--gpu h200 step --decode 1x1",
            "--gpu stands before the command; use rooflut step --gpu ...",
        ),
    ] {
        assert_eq!(failure(line), expected);
    }
    assert!(failure("--nothing").contains("unexpected argument '--nothing'"));
}
