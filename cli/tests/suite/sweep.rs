//! `rooflut sweep`. (Its messages are on `tests/pages/sweep.md`.)
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{LLAMA, failure, file, json, new_path, rooflut, success};

const TINY_SET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny-set");

/// The rows of a sweep, by the names of their columns.
pub(crate) fn rows(csv: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

/// Checks cells of a row against the report of `rooflut run`.
fn check(row: &HashMap<String, String>, report: &Value, cells: &[(&str, &str)]) {
    for (name, pointer) in cells {
        let expected = match report.pointer(pointer).expect(pointer) {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        assert_eq!(row.get(*name), Some(&expected), "{name}");
    }
}

#[test]
fn each_row_is_the_report_of_run() {
    let flags = "--model qwen3-8b --requests 120 --interval 0.8 --seeds 2 --goodput ttft:40 tpot:9";
    let csv = success(&format!("sweep {flags} --gpu h100,h200 --rate 4..12:8 --tp 1,2"));
    let rows = rows(&csv);
    assert_eq!(rows.len(), 8);
    for row in rows {
        let of = |key: &str| row.get(key).expect(key).clone();
        let point = format!("--gpu {} --rate {} --tp {}", of("gpu"), of("rate"), of("tp"));
        let report = json(&format!("run {flags} {point}"));
        let mut cells = vec![
            ("model", "/model"),
            ("requests_per_s", "/throughput/requests_per_s"),
            ("goodput_met", "/goodput/met"),
            ("goodput_requests_per_s", "/goodput/requests_per_s"),
            ("requests_low_per_s", "/interval/requests_per_s/low"),
            ("output_tokens_highest_per_s", "/seeds/output_tokens_per_s/highest"),
            ("seeds_overloaded", "/seeds/overloaded"),
            ("usd_per_gpu_hour", "/cost/usd_per_gpu_hour"),
            ("usd_per_million_output_tokens", "/cost/usd_per/million_output_tokens"),
            ("wh_per_request", "/energy_bound/wh_per/request"),
            ("class", "/class"),
            ("extent", "/extent"),
            ("time_share_outside", "/time_share_outside"),
            ("time_share_measured", "/time_share_by_source/measured"),
        ];
        cells.extend([
            ("ttft_mean_ms", "/ttft_ms/mean"),
            ("ttft_p99_ms", "/ttft_ms/p99"),
            ("itl_p95_ms", "/itl_ms/p95"),
            ("queue_p50_ms", "/queue_ms/p50"),
            ("tpot_p90_low_ms", "/interval/tpot_ms/p90/low"),
            ("e2e_mean_high_ms", "/interval/e2e_ms/mean/high"),
            ("itl_p50_lowest_ms", "/seeds/itl_ms/p50/lowest"),
        ]);
        check(&row, &report, &cells);
    }
}

#[test]
fn a_scenario_file_has_lists_and_flags_replace_them() {
    let text = "tp = 2\n[workload]\nrequests = 20\n[sweep]\nrate = '2..6:2'\nprompt = [256, 'lognormal:200,0.8']\n";
    let (_folder, path) = file("sweep.toml", text);
    let flags = "--tp 2 --requests 20 --rate 2,4,6";
    let of_flags = success(&format!("sweep {flags} --prompt 256 --prompt lognormal:200,0.8"));
    assert_eq!(success(&format!("sweep --scenario {path}")), of_flags);
    assert_eq!(rows(&of_flags).len(), 6);
    let replaced = success(&format!("sweep --scenario {path} --prompt 100 --tp 1"));
    assert_eq!(replaced, success("sweep --tp 1 --requests 20 --rate 2,4,6 --prompt 100"));
    let message = failure(&format!("run --scenario {path}"));
    assert!(message.ends_with("found lists in [sweep]; use `rooflut sweep`"), "{message}");
}

#[test]
fn what_is_there_is_kept() {
    const GRID: &str = "sweep --requests 30 --tp 1,2,4 --rate 1..5";
    let whole = success(GRID);
    let (_folder, out) = new_path("out.csv");
    let answer = success(&format!("{GRID} --out {out}"));
    assert!(answer.ends_with("out.csv: 15 deployments simulated\n"), "{answer}");
    assert_eq!(fs::read_to_string(&out).expect("a file"), whole);
    // It is refused without --resume, and with that in another grid.
    let message = failure(&format!("{GRID} --out {out}"));
    assert!(message.contains("already exists; continue it with --resume"), "{message}");
    let message = failure(&format!("{GRID} --seed 3 --out {out} --resume"));
    assert!(message.contains("out.csv:2: expected a row of this grid"), "{message}");
    assert_eq!(fs::read_to_string(&out).expect("a file"), whole);
    // A torn row is written anew, by one process.
    fs::write(&out, &whole[..whole.len() / 2]).expect("a file");
    let other = fs::File::open(&out).expect("a file");
    fs4::FileExt::lock(&other).expect("a lock");
    let message = failure(&format!("{GRID} --out {out} --resume"));
    assert!(message.contains("another process writes to it"), "{message}");
    drop(other);
    success(&format!("{GRID} --out {out} --resume"));
    assert_eq!(fs::read_to_string(&out).expect("a file"), whole);
}

#[test]
fn keys_of_a_scenario_that_change_nothing_are_named() {
    let text = "[workload]\ntrace = 'examples/chat_trace.csv'\n[output]\nwindows = '5s'\n";
    let (_folder, path) = file("scenario.toml", text);
    let (_folder, out) = new_path("out.csv");
    let said = success(&format!("sweep --scenario {path} --requests 5 --rate 2,3 --out {out}"));
    let words: Vec<&str> = said.split_whitespace().collect();
    let said = words.join(" ");
    assert!(said.contains("flags of the command line exclude trace"), "{said}");
    assert!(said.contains("a sweep has only rows, and leaves out windows"), "{said}");
}

#[test]
fn rows_before_and_after_a_change_of_a_file_are_not_mixed() {
    let trace = "arrival_ms,prompt_tokens,output_tokens\n0,100,10\n5,200,20\n";
    let (_folder, path) = file("trace.csv", trace);
    let grid = format!("sweep --trace {path} --tp 1,2");
    let (_folder, out) = new_path("out.csv");
    success(&format!("{grid} --out {out}"));
    fs::write(&path, trace.replace("200", "300")).expect("a file");
    let message = failure(&format!("{grid} --out {out} --resume"));
    assert!(message.contains("other files"), "{message}");
}

#[test]
fn all_files_that_are_read_tell_grids_apart_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write("model/config.json", LLAMA);
    let tiny = |name: &str| fs::read_to_string(format!("{TINY_SET}/{name}")).expect("a file");
    let (header, gemm) = (tiny("set.toml"), tiny("gemm.csv"));
    let decode = tiny("attention_decode.csv").replace("bf16,fp8,", "bf16,bf16,");
    // The sections before one, of a set of another name.
    let header = |section: &str, name: &str| {
        let (header, _) = header.split_once(section).expect("a section");
        header.replace("\"tiny\"", name)
    };
    write("base/set.toml", &header("[allreduce]", "'base'"));
    write("base/attention_prefill.csv", &tiny("attention_prefill.csv"));
    write("base/attention_decode.csv", &decode);
    write("own/set.toml", &header("[prefill]", "'own'").replace("[gemm]", "inherits = 'base'\n[gemm]"));
    write("own/vllm-0.31/set.toml", &header("[prefill]", "'own'"));
    for name in ["base/gemm.csv", "own/gemm.csv", "own/vllm-0.31/gemm.csv"] {
        write(name, &gemm);
    }
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let grid = || {
        let of = |model: &str, tables: &str| {
            let csv = success(&format!("sweep --requests 1 --model {} --tables {}", path(model), path(tables)));
            rows(&csv)[0]["grid"].clone()
        };
        (of("model", "own"), of("model/config.json", "own"))
    };
    let mut before = grid();
    for (name, text) in [
        ("model/hf_quant_config.json", r#"{"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}"#),
        ("model/generation_config.json", r#"{"top_k": 20}"#),
        ("own/vllm-0.31/gemm.csv", &gemm.replace("bf16,1024,1024,256,7.5,0.072\n", "")),
        ("base/attention_decode.csv", &decode.replace("11.5", "11.75")),
    ] {
        write(name, text);
        let after = grid();
        assert!(after.0 != before.0 && after.1 != before.1, "{name}");
        before = after;
    }
    // Weights are no part of what is read, and may take minutes.
    for name in ["model/model.safetensors", "own/notes.txt", "base/notes.txt"] {
        write(name, "other");
        assert_eq!(grid(), before, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn more_shards_join_than_files_may_be_open() {
    const GRID: &str = "sweep --requests 2 --tp 1,2 --rate 1..20";
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let shards: Vec<String> = (1..=40).map(|shard| at(&format!("{shard}.csv"))).collect();
    for (shard, path) in (1..).zip(&shards) {
        success(&format!("{GRID} --shard {shard}/40 --out {path}"));
    }
    let merge = rooflut(&format!("sweep --merge {} --out {}", shards.join(" "), at("out.csv")));
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -n 30; exec \"$0\" \"$@\""]).arg(merge.get_program()).args(merge.get_args());
    let output = limited.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(at("out.csv")).expect("a file"), success(GRID));
}

#[cfg(unix)]
#[test]
fn a_chart_that_cannot_be_written_leaves_a_join_to_be_done_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    success(&format!("sweep --requests 20 --rate 1..3 --out {}", at("1.csv")));
    // The chart's path is that of a folder.
    fs::create_dir(at("out.tpot_mean-rate.svg")).expect("a folder");
    let merge = format!("sweep --merge {} --out {} --plot tpot_mean:rate", at("1.csv"), at("out.csv"));
    failure(&merge);
    assert!(!folder.path().join("out.csv").exists());
    fs::remove_dir(at("out.tpot_mean-rate.svg")).expect("a folder");
    success(&merge);
    assert_eq!(fs::read(at("out.csv")).expect("a file"), fs::read(at("1.csv")).expect("a file"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_before_the_header_ends_a_sweep_in_silence() {
    let sweep = rooflut("sweep --requests 20 --rate 1,2");
    let mut piped = Command::new("bash");
    // The reader has left when the sweep starts.
    piped.args(["-c", "(sleep 0.2; exec \"$0\" \"$@\"; ) | true; exit ${PIPESTATUS[0]}"]);
    let output = piped.arg(sweep.get_program()).args(sweep.get_args()).output().expect("it starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn a_signal_keeps_whole_rows_with_which_a_sweep_goes_on() {
    use std::process::Stdio;
    use std::thread::yield_now;

    const GRID: &str = "sweep --requests 2000 --tp 1,2,4 --rate 1..100";
    let (_folder, out) = new_path("out.csv");
    let mut command = rooflut(&format!("{GRID} --out {out}"));
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    while fs::read(&out).unwrap_or_default().len() < 3_000 {
        yield_now();
    }
    let mut kill = Command::new("kill");
    kill.args(["-INT".to_owned(), child.id().to_string()]);
    assert!(kill.status().expect("kill starts").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let kept = fs::read_to_string(&out).expect("a file");
    let whole = success(GRID);
    let (lines, torn) = kept.rsplit_once('\n').expect("lines");
    assert!(whole.starts_with(lines) && kept.len() < whole.len());
    assert!(whole[lines.len() + 1..].starts_with(torn));
    let answer = success(&format!("{GRID} --out {out} --resume"));
    let new = whole.lines().count() - lines.lines().count();
    assert!(answer.contains(&format!("{new} deployments simulated")), "{answer}");
    assert_eq!(fs::read_to_string(&out).expect("a file"), whole);
}

#[test]
fn shards_join_to_the_file_of_one_run_with_its_chart() {
    const GRID: &str = "sweep --requests 30 --tp 1,2 --rate 1..5 --interval 0.8";
    let (folder, out) = new_path("whole.csv");
    let plot = "--plot ttft_mean:rate";
    let answer = success(&format!("{GRID} --out {out} {plot}"));
    assert!(answer.ends_with("whole.ttft_mean-rate.svg\n"), "{answer}");
    let shard = |number: u32| {
        let path = folder.path().join(format!("{number}.csv")).display().to_string();
        success(&format!("{GRID} --shard {number}/3 --out {path}"));
        path
    };
    let shards = [3, 1, 2].map(shard).join(" ");
    let joined = folder.path().join("joined.csv").display().to_string();
    let answer = success(&format!("sweep --merge {shards} --out {joined} {plot}"));
    assert!(answer.contains("joined.csv: 10 rows of 3 files"), "{answer}");
    let read = |name: &str| fs::read(folder.path().join(name)).expect("a file");
    assert_eq!(read("joined.csv"), read("whole.csv"));
    let chart = read("whole.ttft_mean-rate.svg");
    assert_eq!(read("joined.ttft_mean-rate.svg"), chart);
    let chart = String::from_utf8(chart).expect("UTF-8");
    assert!(chart.contains("tp 1") && chart.contains("tp 2"));
    // Every row has the same.
    assert!(!chart.contains("schema_version"), "{chart}");
    // A point for each row, and a band for each line.
    assert_eq!(chart.matches("<circle").count(), 10);
    assert_eq!(chart.matches("<polygon").count(), 2);
}
