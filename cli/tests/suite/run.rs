//! `rooflut` and `rooflut run`.

use std::path::Path;

use crate::support::run_files::columns;
use crate::support::{LLAMA, command, failure_with_answer, file, json, new_path, number, success, text};
use serde_json::Value;

#[test]
fn alone_it_shows_a_newcomer_what_is_served_and_where_it_comes_from() {
    let text = success("");
    // Equal to `rooflut run`, except for the hint.
    assert!(text.starts_with(&success("run")));
}

#[test]
fn the_answer_is_consistent() {
    let answer = json("run --requests 500");
    for name in ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "queue_ms"] {
        let at = |key: &str| number(&answer, &format!("/{name}/{key}"));
        assert!(at("p50") <= at("p90") && at("p90") <= at("p95"), "{answer}");
        assert!(at("p95") <= at("p99"), "{answer}");
        assert!(at("mean") > 0.0 && at("mean") <= at("p99"), "{answer}");
    }
    assert!(number(&answer, "/ttft_ms/p50") <= number(&answer, "/e2e_ms/p50"));
    assert_eq!(answer["completed"], 500);
    assert_eq!(answer["rejected"], 0);
    assert_eq!(answer["preemptions"], 0);
    assert!(number(&answer, "/kv_blocks_peak") <= number(&answer, "/kv_blocks"));
    // 256 output tokens of each 768.
    let rates = number(&answer, "/throughput/total_tokens_per_s") / number(&answer, "/throughput/output_tokens_per_s");
    assert!((rates - 3.0).abs() < 1e-9);
    let per_second = number(&answer, "/throughput/requests_per_s");
    assert!((per_second * number(&answer, "/makespan_s") - 500.0).abs() < 1e-6);
    // All requests have the same number of gaps.
    let means = number(&answer, "/itl_ms/mean") / number(&answer, "/tpot_ms/mean");
    assert!((means - 1.0).abs() < 1e-9, "{answer}");
    for by in ["source", "part", "binding"] {
        let shares = answer[format!("time_share_by_{by}")].as_object();
        let shares: f64 = shares.expect("shares").values().filter_map(Value::as_f64).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{by}");
    }
    assert!(number(&answer, "/time_share_by_part/gate_up") > 0.2);
    assert!(number(&answer, "/time_share_by_binding/memory") > 0.5);
    assert!(number(&answer, "/time_share_by_source/smoothed") > 0.5);
    assert!(number(&answer, "/time_share_by_source/fitted") > 0.1);
}

#[test]
fn a_seed_fixes_every_byte_and_another_changes_them() {
    let run = |seed| success(&format!("run --requests 100 --json --seed {seed}"));
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7").replace("\"seed\": 7", "\"seed\": 8"), run("8"));
}

#[test]
fn options_reach_the_simulator() {
    let base = "run --requests 200 --arrival constant";
    let with = |more: &str| json(&format!("{base} {more}"));
    let ttft = |answer: &Value| number(answer, "/ttft_ms/mean");
    let plain = with("");
    assert!(ttft(&with("--cached-prompt 500")) < ttft(&plain));
    assert!(ttft(&with("--scheduling sync")) < ttft(&plain));
    let blocks = number(&plain, "/kv_blocks");
    assert!(number(&with("--gpu-memory-utilization 0.5"), "/kv_blocks") < blocks);
    // 8-bit KV entries take half of the memory.
    let fp8 = number(&with("--kv-dtype fp8"), "/kv_blocks");
    assert!((fp8 / blocks - 2.0).abs() < 1e-3);
    assert_eq!(with("--kv-blocks 500")["kv_blocks"], 500);
    let short = number(&with("--kv-blocks 200"), "/preemptions");
    let kept_free = with("--kv-blocks 200 --watermark 0.5");
    assert!(number(&kept_free, "/preemptions") < short);
    assert_eq!(kept_free["watermark"], 0.5);
    let newer = "--engine vllm-0.33.0 --kv-blocks 200 --max-num-seqs 128 --max-num-batched-tokens 2048";
    let whole = with(newer);
    let parts = with(&format!("{newer} --scheduler-reserve-full-isl=false"));
    assert!(number(&whole, "/preemptions") < number(&parts, "/preemptions"));
    assert_eq!(whole["scheduler_reserve_full_isl"], true);
    assert_eq!(parts["scheduler_reserve_full_isl"], false);
    let large = with("--block-size 64");
    assert_eq!(large["block_size"], 64);
    assert!((blocks / number(&large, "/kv_blocks") - 4.0).abs() < 1e-3);
    let two = with("--tp 2");
    assert!(number(&two, "/tpot_ms/mean") < number(&plain, "/tpot_ms/mean"));
    let one_slot = with("--max-num-seqs 1");
    assert!(ttft(&one_slot) > 10.0 * ttft(&plain));
}

#[test]
fn weights_of_another_format_leave_more_memory_and_serve_faster() {
    let base = "run --requests 50";
    let with = |more: &str| json(&format!("{base} {more}"));
    let (own, fp8) = (with(""), with("--dtype fp8"));
    assert!(number(&fp8, "/tpot_ms/mean") < 0.9 * number(&own, "/tpot_ms/mean"));
    // 7.0 billion weights of a byte less, in blocks of 2 MiB.
    let more = number(&fp8, "/kv_blocks") - number(&own, "/kv_blocks");
    assert!((more - 3328.0).abs() < 2.0, "{more}");
    assert_eq!(own["weight_dtype"], "bf16");
    assert_eq!(fp8["weight_dtype"], "fp8");
    assert_eq!(fp8["expert_dtype"], Value::Null);
    assert_eq!(fp8["model"], own["model"]);
    let people = success("run --dtype fp8");
    let heading = "llama-3.1-8b (fp8 weights) on 1 h100 GPU, simulated as vllm-0.25.0 serves it\n";
    assert!(people.starts_with(heading), "{people}");
    // 16-bit weights need two GPUs.
    let large = "run --model llama-3.1-70b --dtype fp8 --requests 3 --max-num-seqs 64";
    assert_eq!(json(large)["completed"], 3);
}

#[test]
fn requests_that_cannot_fit_are_counted_with_their_reason() {
    let base = "run --requests 5 --prompt 600";
    let long = format!("{base} --max-model-len 512 --json");
    let (answer, _) = failure_with_answer(&long);
    let long: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(long["rejected"], 5);
    assert_eq!(long["rejected_by_reason"]["too_long"], 5);
    assert_eq!(long["completed"], 0);
    assert_eq!(long["ttft_ms"]["p50"], Value::Null);
    assert_eq!(long["queue_growth"], Value::Null);
    assert!(number(&long, "/throughput/requests_per_s").abs() < f64::EPSILON);
}

#[test]
fn outputs_that_vllm_0_33_cuts_are_counted() {
    let base = "run --engine vllm-0.33.0 --requests 5 --prompt 600 --max-model-len 700 --output";
    let cut = json(&format!("{base} 200"));
    assert_eq!((&cut["completed"], &cut["truncated"]), (&5.into(), &5.into()));
    let text = success(&format!("{base} 200"));
    assert!(text.contains("truncated    5: prompt and output end at 700 tokens"), "{text}");
    let whole = json(&format!("{base} 100"));
    assert_eq!(whole["truncated"], 0);
    // Both serve the same tokens.
    assert_eq!(cut["throughput"], whole["throughput"]);
}

#[test]
fn layers_with_a_window_have_kv_cache_groups_of_their_own() {
    let config = LLAMA.replace("\"llama\"", "\"gemma3_text\", \"sliding_window\": 512");
    let (_folder, path) = file("config.json", config);
    let people = success(&format!("run --requests 5 --model {path}"));
    let words: Vec<&str> = people.split_whitespace().collect();
    let people = words.join(" ");
    // 27 layers with a window and 5 without.
    assert!(people.contains("shared by 7 groups of 5 layers"), "{people}");
    assert!(people.contains("5 of 5 requests"), "{people}");
}

#[test]
fn requests_out_has_a_line_per_request_and_can_be_replayed() {
    let (folder, path) = new_path("requests.csv");
    let arguments = format!("run --requests 50 --requests-out {path}");
    let answer = json(&arguments);
    let rows = columns(Path::new(&path));
    let ttft: Vec<f64> = rows["ttft_ms"].iter().flatten().copied().collect();
    assert_eq!(ttft.len(), 50);
    let mean = ttft.iter().sum::<f64>() / 50.0;
    assert!((mean - number(&answer, "/ttft_ms/mean")).abs() < 1e-6);
    // Nothing but the file: no temporary one.
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);

    let replayed = json(&format!("run --trace {path}"));
    assert_eq!(replayed["e2e_ms"], answer["e2e_ms"]);
    assert_eq!(text(&replayed, "/load/kind"), "trace");
    assert_eq!(replayed["seed"], Value::Null);
}

#[test]
fn a_model_can_be_named_by_its_id_or_its_config() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.json"), LLAMA).expect("a file");
    let run = |model: &str| json(&format!("run --requests 20 --sampler top-p --model {model}"));
    let built_in = run("llama-3.1-8b");
    let folder_name = folder.path().to_str().expect("UTF-8");
    let file = format!("{folder_name}/config.json");
    for name in ["meta-llama/llama-3.1-8b-instruct", folder_name, &file] {
        assert_eq!(run(name)["e2e_ms"], built_in["e2e_ms"], "{name}");
    }
}

#[test]
fn the_command_of_a_report_repeats_it() {
    let (_folder, path) = file("fleet.toml", "[[fleet]]\ngpu = \"h200\"\n[[fleet]]\ngpu = \"l40s\"\nreplicas = 2\n");
    for line in [
        "run --requests 100",
        "run --tp 2 --requests 100 --rate 2.5 --prompt lognormal:512,0.6@16..4096 --windows auto --quantiles",
        "run --requests 100 --users 8 --think-time exponential:0.5 --goodput ttft:200 tpot:20 --price h100=2.5",
        "run --vllm 'vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2 --max-num-seqs 64' --requests 100",
        "run --prefill-replicas 1 --decode-replicas 1 --prefill gpu=h200 --link-bandwidth 50 --link-latency 10 \
         --requests 100",
        "run --replicas 2 --lose 1@2s..5s --requests 200",
        "run --trace examples/chat_trace.csv --trace-requests 60",
        "run --scenario examples/scenario.toml --requests 100",
        &format!("run --fleet {path} --requests 100"),
    ] {
        let report = json(line);
        let again = command(&report);
        assert_eq!(again["command"], report["command"], "{line}");
        for key in ["ttft_ms", "tpot_ms", "throughput", "load", "gpus", "cost", "windows", "quantiles", "server"] {
            assert_eq!(again[key], report[key], "{line}: {key}");
        }
    }
}
