//! `rooflut run --trace`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::io::Write;
#[cfg(unix)]
use std::process::Command;
use std::process::Stdio;
#[cfg(unix)]
use std::time::{Duration, Instant};

use crate::support::{failure, json, number, rooflut, success};
use tempfile::TempDir;

fn file(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.csv");
    fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

const TWO: &str = "experiment,user,arrival_ms,output_tokens,prompt_tokens\n\
                   first,a,0,10,100\n\
                   second,a,0,20,100\n\
                   first,b,5,30,100\n";

#[test]
fn the_example_trace_runs_through() {
    let answer = json("run --trace examples/chat_trace.csv");
    assert_eq!(answer["completed"], 200);
    assert_eq!(answer["rejected"], 0);
    assert!(number(&answer, "/ttft_ms/p50") < 100.0);
    assert!(success("run --trace examples/chat_trace.csv").contains("chat_trace.csv"));
}

#[test]
fn one_of_several_experiments_has_to_be_picked() {
    let (_folder, path) = file(TWO);
    let message = failure(&format!("run --trace {path}"));
    assert!(message.contains("2 values (first, second)"), "{message}");
    assert!(message.contains("--where experiment=NAME"), "{message}");
    let run = |conditions: &str| json(&format!("run --trace {path} {conditions}"));
    assert_eq!(run("--where experiment=first")["completed"], 2);
    assert_eq!(run("--where experiment=second")["completed"], 1);
    assert_eq!(
        run("--where experiment=first --where user=b")["completed"],
        1
    );
    let message = failure(&format!("run --trace {path} --where experiment=third"));
    assert!(
        message.ends_with("column experiment has first, second"),
        "{message}"
    );
    let message = failure(&format!("run --trace {path} --where experment=first"));
    assert!(
        message.contains("(nearest: experiment); use one of experiment, user, arrival_ms"),
        "{message}"
    );
}

#[test]
fn a_bad_line_is_named_by_its_number_and_nothing_is_written() {
    let (folder, path) = file("arrival_ms,prompt_tokens,output_tokens\n0,5,5\n1,five,5\n");
    let out = folder.path().join("out.csv");
    let out = out.to_str().expect("UTF-8");
    let message = failure(&format!("run --trace {path} --requests-out {out}"));
    assert!(
        message.contains("trace.csv:3: prompt_tokens: expected a whole number"),
        "{message}"
    );
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
}

#[test]
fn missing_columns_and_files_are_named() {
    let (_folder, path) = file("arrival_ms,prompt,output_tokens\n0,5,5\n");
    let message = failure(&format!("run --trace {path}"));
    assert!(
        message.contains("no column prompt_tokens; rename prompt?"),
        "{message}"
    );
    let message = failure("run --trace no/such.csv");
    assert!(message.starts_with("cannot read no/such.csv"), "{message}");
    let (_folder, empty) = file("arrival_ms,prompt_tokens,output_tokens\n");
    assert!(failure(&format!("run --trace {empty}")).contains("no rows"));
}

#[test]
fn the_trace_itself_is_not_replaced() {
    let (_folder, path) = file(TWO);
    let arguments = format!("run --trace {path} --where user=b --requests-out {path}");
    assert!(failure(&arguments).contains("is the trace itself"));
    assert_eq!(fs::read_to_string(&path).expect("a file"), TWO);
}

const BURST_GPT: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                         5,ChatGPT,472,18,490,Conversation log\n\
                         45,ChatGPT,1087,0,1087,Conversation log\n\
                         118,GPT-4,417,27,444,API log\n";

#[test]
fn a_published_trace_is_recognised_and_what_is_left_out_told() {
    let (_folder, path) = file(BURST_GPT);
    let answer = json(&format!("run --trace {path}"));
    assert_eq!(answer["completed"], 2);
    assert_eq!(answer["load"]["format"], "burstgpt");
    assert_eq!(answer["load"]["arrivals"], "recorded");
    let left_out = &answer["load"]["left_out"][0];
    assert_eq!(left_out["reason"], "failed, 0 response tokens");
    assert_eq!(left_out["requests"], 1);
    // Wrapped where the name of the file ends.
    let text = success(&format!("run --trace {path}"));
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    assert!(text.contains("load 2 requests of "), "{text}");
    assert!(
        text.contains("trace.csv (BurstGPT trace); left out: 1 failed, 0 response tokens server"),
        "{text}"
    );
    let picked = json(&format!("run --trace {path} --where Model=GPT-4"));
    assert_eq!(picked["completed"], 1);
}

#[test]
fn a_format_can_be_named() {
    let (_folder, path) = file(BURST_GPT);
    let run = |format: &str| failure(&format!("run --trace {path} --trace-format {format}"));
    let message = run("azure");
    assert!(
        message.contains(
            "trace.csv:1: no column TIMESTAMP, which is a date and time; Timestamp is in seconds: convert"
        ),
        "{message}"
    );
    let message = run("mooncake");
    assert!(
        message.contains("trace.csv:1: expected JSON, found \"Timestamp,Model"),
        "{message}"
    );
    let message = run("csv");
    assert!(
        message
            .contains("expected one of rooflut, azure, burstgpt, vidur, splitwise, mooncake, qwen-bailian, vllm, inference-perf"),
        "{message}"
    );
    let message = failure("run --trace-format azure");
    assert!(message.contains("--trace"), "{message}");
}

#[test]
fn a_benchmark_without_start_times_says_what_its_arrivals_are() {
    let (_folder, path) = file(
        r#"{"request_rate": 2.5, "burstiness": 1.0, "max_concurrency": null,
            "input_lens": [100, 200, 300], "output_lens": [10, 0, 5]}"#,
    );
    let answer = json(&format!("run --trace {path}"));
    assert_eq!(answer["completed"], 2);
    assert_eq!(answer["load"]["format"], "vllm");
    assert_eq!(answer["load"]["arrivals"], "poisson");
    let text = success(&format!("run --trace {path}"));
    let text: Vec<&str> = text.split_whitespace().collect();
    let expected = "(vLLM or SGLang benchmark result, Poisson arrivals at its 2.5 per second); left out: 1 failed";
    assert!(text.join(" ").contains(expected), "{text:?}");
}

#[test]
fn a_trace_of_blocks_runs_through() {
    let (_folder, path) = file(
        "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, 1]}\n\
         {\"timestamp\": 9, \"input_length\": 700, \"output_length\": 6, \"hash_ids\": [0, 2]}\n",
    );
    assert_eq!(json(&format!("run --trace {path}"))["completed"], 2);
}

#[test]
fn prompts_that_all_begin_with_one_block_are_spread_over_replicas() {
    // As in Mooncake's conversations, where a hash of the first block chose one replica for all.
    let line = |index: u32| {
        let (time, id) = (20 * index, index + 1);
        format!(
            "{{\"timestamp\": {time}, \"input_length\": 1500, \"output_length\": 20, \"hash_ids\": [0, {id}]}}\n"
        )
    };
    let (_folder, path) = file(&(0..300).map(line).collect::<String>());
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
    let (_folder, path) = file(&format!("arrival_ms,prompt_tokens,output_tokens\n{rows}"));
    let answer = json(&format!(
        "run --trace {path} --max-num-seqs 4096 --max-num-batched-tokens 8192"
    ));
    assert_eq!(answer["completed"], 100_001);
    assert!(number(&answer, "/percentile_error") > 0.0);
}

#[test]
fn what_is_not_read_is_told() {
    let (_folder, path) = file(
        "TIMESTAMP,ContextTokens,GeneratedTokens,NumImages,Region\n\
         2024-11-11 00:00:00,100,5,2,x\n2024-11-11 00:00:01,100,5,0,y\n",
    );
    let answer = json(&format!("run --trace {path}"));
    assert_eq!(answer["load"]["ignored"], serde_json::json!(["Region"]));
    assert_eq!(answer["load"]["requests_with_images"], 1);
    let text = success(&format!("run --trace {path}"));
    let text: Vec<&str> = text.split_whitespace().collect();
    let expected = "; not read: Region; without the images of 1 request, which are not modelled";
    assert!(text.join(" ").contains(expected), "{text:?}");
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
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn standard_input_is_a_trace_too() {
    let (_folder, path) = file(BURST_GPT);
    let file = success(&format!("run --trace {path} --json"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(BURST_GPT.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let names = ["-", "/dev/stdin"];
    for name in &names[..1 + usize::from(cfg!(unix))] {
        for input in [BURST_GPT.as_bytes(), &gzip] {
            let (code, answer, error) = piped(&format!("run --trace {name} --json"), input);
            assert_eq!((code, error.as_str()), (Some(0), ""));
            assert_eq!(
                answer.replace(&format!("{name:?}"), &format!("{path:?}")),
                file
            );
        }
    }
    let (_, answer, _) = piped("run --trace -", BURST_GPT.as_bytes());
    assert!(
        answer.contains("of standard input (BurstGPT trace"),
        "{answer}"
    );
    for (input, message) in [
        ("", "error: standard input: the file is empty"),
        ("{\n", "error: standard input:2: "),
    ] {
        let (code, _, error) = piped("run --trace -", input.as_bytes());
        assert_eq!(code, Some(2));
        assert!(error.starts_with(message), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nothing_writes_to_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let path = path.to_str().expect("UTF-8");
    let start = Instant::now();
    let message = failure(&format!("run --trace {path}"));
    assert!(
        message.ends_with("no program writes to this pipe; start the one that does first"),
        "{message}"
    );
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn special_files_and_folders_are_refused_on_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("UTF-8");
    let message = failure(&format!("run --trace {folder}"));
    assert!(
        message.contains("check the path") && message.lines().count() == 1,
        "{message}"
    );
    #[cfg(unix)]
    for (path, cause) in [
        ("/dev/null", "the file is empty"),
        ("/dev/zero", "more bytes than one can have"),
    ] {
        let message = failure(&format!("run --trace {path}"));
        assert!(
            message.contains(cause) && message.lines().count() == 1,
            "{message}"
        );
    }
}
