//! `rooflut run --trace`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::io::Write;
use std::process::Stdio;

use crate::support::{file, json, number, rooflut, success};

const BURST_GPT: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                         5,ChatGPT,472,18,490,Conversation log\n\
                         45,ChatGPT,1087,0,1087,Conversation log\n\
                         118,GPT-4,417,27,444,API log\n";

#[test]
fn prompts_that_all_begin_with_one_block_are_spread_over_replicas() {
    // As in Mooncake's conversations, where a hash of the first block chose one replica for all.
    let line = |index: u32| {
        let (time, id) = (20 * index, index + 1);
        format!("{{\"timestamp\": {time}, \"input_length\": 1500, \"output_length\": 20, \"hash_ids\": [0, {id}]}}\n")
    };
    let (_folder, path) = file("trace.csv", (0..300).map(line).collect::<String>());
    let run = |router| {
        let line = format!("run --trace {path} --replicas 4 --router {router}");
        json(&line)
    };
    let affine = run("prefix-affinity");
    assert!(affine["busiest_replica_share"].is_null(), "{affine}");
    let ttft = |answer| number(answer, "/ttft_ms/p90");
    assert!(ttft(&affine) < 1.2 * ttft(&run("round-robin")), "{affine}");
}

#[test]
fn a_long_trace_has_histograms_in_place_of_records() {
    let rows: String = (0..100_001).map(|ms| format!("{ms},1,1\n")).collect();
    let (_folder, path) = file("trace.csv", format!("arrival_ms,prompt_tokens,output_tokens\n{rows}"));
    let answer = json(&format!("run --trace {path} --max-num-seqs 4096 --max-num-batched-tokens 8192"));
    assert_eq!(answer["completed"], 100_001);
    assert!(number(&answer, "/percentile_error") > 0.0);
}

/// Runs with `input` on standard input; returns code, standard output and error.
fn piped(line: &str, input: &[u8]) -> (Option<i32>, String, String) {
    let mut command = rooflut(line);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = streams.stderr(Stdio::piped()).spawn().expect("a process");
    // It may end before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("an end");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// An answer whose command is null: that of standard input cannot be repeated.
fn without_command(answer: &str) -> String {
    let lines = answer.split_inclusive('\n').map(|line| match line.split_once("\"command\": \"") {
        Some((before, _)) => format!("{before}\"command\": null,\n"),
        None => line.to_owned(),
    });
    lines.collect()
}

#[test]
fn standard_input_is_a_trace_too() {
    let (_folder, path) = file("trace.csv", BURST_GPT);
    let file = success(&format!("run --trace {path} --json"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(BURST_GPT.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let names = ["-", "/dev/stdin"];
    for name in &names[..1 + usize::from(cfg!(unix))] {
        for input in [BURST_GPT.as_bytes(), &gzip] {
            let (code, answer, error) = piped(&format!("run --trace {name} --json"), input);
            assert_eq!((code, error.as_str()), (Some(0), ""));
            assert_eq!(answer.replace(&format!("{name:?}"), &format!("{path:?}")), without_command(&file));
        }
    }
    let (_, answer, _) = piped("run --trace -", BURST_GPT.as_bytes());
    assert!(answer.contains("of standard input (BurstGPT trace"), "{answer}");
    // A trace is read twice for windows of a width that is not given, too.
    let windows = success(&format!("run --trace {path} --windows auto --json"));
    let (_, answer, _) = piped("run --trace - --windows auto --json", BURST_GPT.as_bytes());
    assert_eq!(answer.replace("\"-\"", &format!("{path:?}")), without_command(&windows));
}

#[test]
fn a_log_read_by_its_columns_gives_the_figures_of_the_same_requests_in_the_own_format() {
    let own = json("run --trace examples/chat_trace.csv --trace-requests 60");
    let columns = "arrival=created,prompt=usage.prompt_tokens,output=usage.completion_tokens,\
                   cached=usage.prompt_tokens_details.cached_tokens";
    let log = json(&format!("run --trace examples/gateway_log.jsonl --columns {columns}"));
    assert_eq!(log["load"]["columns"], columns);
    for figures in ["ttft_ms", "tpot_ms", "e2e_ms", "requests_per_s"] {
        assert_eq!(log[figures], own[figures], "{figures}");
    }
}

#[test]
fn several_plans_read_one_trace_of_standard_input() {
    let trace = std::fs::read(crate::support::workspace().join("examples/chat_trace.csv")).expect("the trace");
    let plan = "--goodput ttft:40@mean --trace-speed 1,2 --json";
    let (code, answer, error) = piped(&format!("plan --trace - {plan}"), &trace);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert_eq!(answer, without_command(&success(&format!("plan --trace examples/chat_trace.csv {plan}"))));
}

#[test]
fn a_sweep_depends_on_what_standard_input_has_and_reads_no_other_pipe() {
    let sweep = "sweep --trace - --tp 1,2";
    let grid = |input: &str| {
        let (code, csv, error) = piped(sweep, input.as_bytes());
        assert_eq!((code, error.as_str()), (Some(0), ""));
        crate::sweep::rows(&csv)[0]["grid"].clone()
    };
    assert_eq!(grid(BURST_GPT), grid(BURST_GPT));
    assert_ne!(grid(BURST_GPT), grid(BURST_GPT.trim_end()));
    let (code, _, error) = piped(&format!("{sweep} --out new.csv --shards 2 --submit slurm"), BURST_GPT.as_bytes());
    assert_eq!(code, Some(2));
    assert!(error.contains("--trace: expected a file that other processes can read, too, found -"), "{error}");
    if cfg!(unix) {
        let (code, _, error) = piped("sweep --trace /dev/stdin", BURST_GPT.as_bytes());
        assert_eq!(code, Some(2));
        assert!(error.contains("--trace: expected a file, which can be read again, found /dev/stdin"), "{error}");
    }
}
