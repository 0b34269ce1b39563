//! `rooflut` and `rooflut run`.

use crate::support::{failure, failure_with_answer, json, number, rooflut, success, text};
use serde_json::Value;

#[test]
fn alone_it_shows_a_newcomer_what_is_served_and_where_it_comes_from() {
    let text = success("");
    assert!(text.lines().count() <= 29, "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    for word in [
        "llama-3.1-8b",
        "h100",
        "TTFT",
        "TPOT",
        "ITL",
        "E2E",
        "batch ",
        "queue",
        "p95 ms",
        "p99 ms",
        "requests/s",
        "KV cache",
        "preemptions",
        "aiconfigurator",
        "interpolated",
        "bound by",
        "% gate_up",
        "Try next",
    ] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    // Equal to `rooflut run`, except for the hint.
    assert!(text.starts_with(&success("run")));
}

#[test]
fn the_readme_shows_what_it_prints() {
    let readme = include_str!("../../../README.md");
    let shown = readme
        .split("```text\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let shown = shown.expect("a block of output");
    let output = rooflut("").env_remove("COLUMNS").output();
    let output = String::from_utf8(output.expect("it starts").stdout).expect("UTF-8");
    assert_eq!(
        shown, output,
        "replace the block in README.md by the output of `rooflut`"
    );
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
    let rates = number(&answer, "/throughput/total_tokens_per_s")
        / number(&answer, "/throughput/output_tokens_per_s");
    assert!((rates - 3.0).abs() < 1e-9);
    let per_second = number(&answer, "/throughput/requests_per_s");
    assert!((per_second * number(&answer, "/makespan_s") - 500.0).abs() < 1e-6);
    // All requests have the same number of gaps.
    let means = number(&answer, "/itl_ms/mean") / number(&answer, "/tpot_ms/mean");
    assert!((means - 1.0).abs() < 1e-9, "{answer}");
    for by in ["source", "part", "binding"] {
        let shares = answer[format!("time_share_by_{by}")].as_object();
        let shares: f64 = shares
            .expect("shares")
            .values()
            .filter_map(Value::as_f64)
            .sum();
        assert!((shares - 1.0).abs() < 1e-9, "{by}");
    }
    assert!(number(&answer, "/time_share_by_part/gate_up") > 0.2);
    assert!(number(&answer, "/time_share_by_binding/memory") > 0.5);
    assert!(number(&answer, "/time_share_by_source/smoothed") > 0.5);
    assert!(number(&answer, "/time_share_by_source/fitted") > 0.1);
}

#[test]
fn strictness_refuses_a_run_by_the_part_that_is_worse() {
    let run = "run --tp 2 --requests 20 --prompt 4000 --strict";
    success(&format!("{run} transferred"));
    // Known before any step.
    let message = failure(&format!("{run} interpolated"));
    assert!(message.contains("qkv: table set h100"), "{message}");
    // Known after them: prompts in chunks have a context, which was not measured.
    let message = failure(&format!("{run} smoothed"));
    let expected = "prefill_attention: expected smoothed or better, found transferred";
    assert!(message.contains(expected), "{message}");
    assert!(
        message.contains("; accept transferred answers (--strict transferred)"),
        "{message}"
    );
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
    let people = success(&format!("{base} --dtype fp8"));
    let heading = "llama-3.1-8b (fp8 weights) on 1 h100 GPU, simulated as vllm-0.15.1 serves it\n";
    assert!(people.starts_with(heading), "{people}");
    // 16-bit weights need two GPUs.
    let large = "run --model llama-3.1-70b --dtype fp8 --requests 3";
    assert_eq!(json(large)["completed"], 3);
}

#[test]
fn requests_that_cannot_fit_are_counted_with_their_reason() {
    let base = "run --requests 5 --prompt 600";
    let long = format!("{base} --max-model-len 512 --json");
    let (answer, message) = failure_with_answer(&long);
    assert_eq!(
        message,
        "all requests were rejected: 5 because prompt and output exceed the 512 tokens of --max-model-len; use \
         shorter requests or a larger --max-model-len"
    );
    let long: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(long["rejected"], 5);
    assert_eq!(long["rejected_by_reason"]["too_long"], 5);
    assert_eq!(long["completed"], 0);
    assert_eq!(long["ttft_ms"]["p50"], Value::Null);
    assert_eq!(long["queue_growth"], Value::Null);
    assert!(number(&long, "/throughput/requests_per_s").abs() < f64::EPSILON);
    // The limit of the model is not the user's flag.
    let (_, message) = failure_with_answer("run --requests 5 --prompt 200000");
    assert!(
        message.contains("exceed the model's limit of 131,072 tokens")
            && !message.contains("--max"),
        "{message}"
    );
}

#[test]
fn outputs_that_vllm_0_33_cuts_are_counted() {
    let base = "run --engine vllm-0.33.0 --requests 5 --prompt 600 --max-model-len 700 --output";
    let cut = json(&format!("{base} 200"));
    assert_eq!(
        (&cut["completed"], &cut["truncated"]),
        (&5.into(), &5.into())
    );
    let text = success(&format!("{base} 200"));
    assert!(
        text.contains("truncated    5: prompt and output end at 700 tokens"),
        "{text}"
    );
    let whole = json(&format!("{base} 100"));
    assert_eq!(whole["truncated"], 0);
    // Both serve the same tokens.
    assert_eq!(cut["throughput"], whole["throughput"]);
}

#[test]
fn one_request_that_is_served_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.csv");
    let rows = "arrival_ms,prompt_tokens,output_tokens\n0,5,5\n0,0,5\n0,5,0\n";
    std::fs::write(&path, rows).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let answer = json(&format!("run --trace {path}"));
    assert_eq!(
        (&answer["completed"], &answer["rejected"]),
        (&1.into(), &2.into())
    );
    std::fs::write(path, rows.replace("0,5,5\n", "")).expect("a file");
    let (_, message) = failure_with_answer(&format!("run --trace {path}"));
    assert_eq!(
        message,
        "all requests were rejected: 1 because the prompt is empty, 1 because no output token is \
         asked for; correct the trace"
    );
}

#[test]
fn a_window_that_limits_requests_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    let config = r#"{"model_type": "gemma3_text", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128256, "max_position_embeddings": 131072, "sliding_window": 512}"#;
    std::fs::write(&path, config).expect("a file");
    let base = format!("run --requests 5 --model {}", path.display());
    let (people, message) = failure_with_answer(&base);
    assert!(
        people.contains("at most 512 a request (sliding_window, as windows"),
        "{people}"
    );
    assert_eq!(
        message,
        "all requests were rejected: 5 because prompt and output exceed the 512 tokens of sliding_window \
         (windows are not modelled); use shorter requests, or give --max-model-len to have \
         full attention beyond the window"
    );
    // The suggested command works.
    let beyond = success(&format!("{base} --max-model-len 1024"));
    assert!(
        beyond.contains("1,024 a request (beyond sliding_window"),
        "{beyond}"
    );
    assert!(beyond.contains("5 of 5 requests"), "{beyond}");
}

#[test]
fn a_server_that_does_not_keep_up_is_told() {
    const OVERLOAD: &str = "the server does not keep up with this rate: ";
    let run = |rate: &str| {
        let arguments = format!("run --rate {rate}");
        let answer = json(&arguments);
        let quarter = |name| number(&answer, &format!("/queue_growth/{name}_quarter_ms"));
        (success(&arguments), quarter("first"), quarter("last"))
    };
    let (people, first, last) = run("2");
    assert!(!people.contains(OVERLOAD), "{people}");
    assert!(last < 2.0 * first, "{first} {last}");
    let (people, first, last) = run("100");
    assert!(people.contains(OVERLOAD), "{people}");
    assert!(people.lines().all(|line| line.len() <= 100), "{people}");
    assert!(last > 3.0 * first, "{first} {last}");
    assert!(!success("run").contains(OVERLOAD));
}

#[test]
fn numbers_are_written_as_one_reads_them() {
    let text = success("run --rate 1e300 --requests 1");
    assert!(text.contains("1 request, 1e300 per second"), "{text}");
    assert!(text.contains("1 of 1 request in"), "{text}");
    assert!(text.contains("queue  to scheduling"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[test]
fn requests_out_has_a_line_per_request_and_can_be_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.csv");
    let path = path.to_str().expect("UTF-8");
    let arguments = format!("run --requests 50 --requests-out {path}");
    let answer = json(&arguments);
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let header = reader.headers().expect("a header").clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|found| found == name)
            .expect("a column")
    };
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 50);
    let ttft: f64 = rows
        .iter()
        .map(|row| row[column("ttft_ms")].parse::<f64>().expect("ms"))
        .sum();
    assert!((ttft / 50.0 - number(&answer, "/ttft_ms/mean")).abs() < 1e-6);
    assert!(
        rows.iter()
            .all(|row| &row[column("outcome")] == "completed")
    );
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
    let config = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}"#;
    std::fs::write(folder.path().join("config.json"), config).expect("a file");
    let run = |model: &str| {
        json(&format!(
            "run --requests 20 --sampler top-p --model {model}"
        ))
    };
    let built_in = run("llama-3.1-8b");
    let folder_name = folder.path().to_str().expect("UTF-8");
    let file = format!("{folder_name}/config.json");
    for name in ["meta-llama/llama-3.1-8b-instruct", folder_name, &file] {
        assert_eq!(run(name)["e2e_ms"], built_in["e2e_ms"], "{name}");
    }
    let message = failure(&format!("run --tp 3 --model {file}"));
    assert!(
        message.contains("num_attention_heads: expected a multiple of tp (3)"),
        "{message}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = rooflut("tables")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
