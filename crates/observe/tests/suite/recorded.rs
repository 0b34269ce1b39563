//! Files that clients wrote, and logs and metrics written after the sources of servers (`tests/files/README.md`).

use std::fs;
use std::path::{Path, PathBuf};

use rooflut_observe::{Distribution, File, Measured, Run};
use rooflut_scenario::Scenario;
use serde_json::Value;

/// The model of the mock server.
const MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

fn read(names: &[&str]) -> Measured {
    let contents: Vec<Vec<u8>> = names.iter().map(|name| bytes(name)).collect();
    let files: Vec<File<'_>> = names.iter().zip(&contents).map(|(name, bytes)| File { name, bytes }).collect();
    Measured::read(&files, &Scenario::default()).unwrap()
}

fn alone(bytes: &[u8]) -> Result<Measured, rooflut_scenario::Error> {
    Measured::read(&[File { name: "file", bytes }], &Scenario::default())
}

/// The recorded and written files that can be read.
fn all() -> Vec<String> {
    let mut names = Vec::new();
    for folder in fs::read_dir(folder()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            let (folder, file) = (folder.file_name(), file.file_name());
            names.push(format!("{}/{}", folder.to_string_lossy(), file.to_string_lossy()));
        }
    }
    let is_read = |name: &String| [".json", ".jsonl", ".log", ".txt"].iter().any(|ending| name.ends_with(ending));
    names.retain(|name| is_read(name) && !name.ends_with("written_after.json"));
    names.sort();
    names
}

fn close(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= 1e-6 * expected)
}

/// The summary of a client as it wrote it.
fn summary(name: &str) -> Value {
    let text = String::from_utf8(bytes(name)).unwrap();
    serde_json::from_str(&text.replace("Infinity", "null")).unwrap()
}

/// Checks the figures of a run against those of the client's own summary, at `path(latency, figure)`.
fn assert_as_written(name: &str, run: &Run, path: impl Fn(&str, &str) -> String) {
    let own = summary(name);
    for (latency, found) in run.latencies() {
        for (figure, found) in [("mean", found.mean), ("p50", found.p50), ("p99", found.p99)] {
            if let Some(expected) = own.pointer(&path(latency, figure)).and_then(Value::as_f64) {
                assert!(close(found, expected), "{name}: {latency} {figure}: {found:?}, {expected} in the file");
            }
        }
    }
}

/// The path of a latency in the results of `vllm bench serve` and of SGLang.
fn in_bench(e2e: &'static str) -> impl Fn(&str, &str) -> String {
    move |latency, figure| {
        let latency = latency.replace("e2e", e2e);
        format!("/{}_{latency}", figure.replace("p50", "median"))
    }
}

/// The path of a latency in the reports of AIPerf and GenAI-Perf.
fn in_report(latency: &str, figure: &str) -> String {
    let latency = match latency {
        "ttft_ms" => "time_to_first_token",
        "tpot_ms" => "inter_token_latency",
        "itl_ms" => "inter_chunk_latency",
        _ => "request_latency",
    };
    format!("/{latency}/{}", figure.replace("mean", "avg"))
}

#[test]
fn a_result_a_log_and_metrics_of_vllm_are_one_server() {
    let measured =
        read(&["vllm-0.11.0/concurrency-4.json", "vllm-0.11.0-written/startup.log", "vllm-0.11.0-written/metrics.txt"]);
    let [run] = measured.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.load.completed, run.load.failed, run.load.users), (Some(12), Some(0), Some(4)));
    assert!(close(run.ttft_ms.mean, 70.992_737_584) && close(run.tpot_ms.p99, 7.682_503_513_9));
    assert!(run.e2e_ms.is_empty(), "0.11.0 leaves E2E out");
    assert!(close(run.load.prompt_tokens.mean, 256.0) && close(run.load.output_tokens.mean, 32.0));
    let keys = |key: &str| measured.deployment[key].value.clone();
    assert_eq!((keys("engine"), keys("max_num_batched_tokens")), ("vllm-0.11.0".into(), 8192.into()));
    assert_eq!((keys("max_model_len"), keys("kv_blocks")), (8192.into(), (450_384 / 16).into()));
    assert_eq!(measured.facts["kv_memory_gib"].value, 54.98);
    assert!((measured.metrics["ttft_ms"] - 30.5).abs() < 1e-9 && (measured.metrics["itl_ms"] - 7.1).abs() < 1e-9);
    assert!((measured.metrics["prefix_hit_rate"] - 0.2).abs() < 1e-12);
    assert!(measured.notes.iter().any(|note| note.contains("the server counts 20 requests, the clients 12")));
}

#[test]
fn the_versions_of_a_log_tell_the_same() {
    let [old, new] = ["0.11.0", "0.33.0"].map(|version| read(&[&format!("vllm-{version}-written/startup.log")]));
    for key in ["kv_blocks", "max_num_batched_tokens", "max_model_len", "model"] {
        assert_eq!(old.deployment[key].value, new.deployment[key].value, "{key}");
    }
    assert_eq!(new.deployment["engine"].value, "vllm-0.33.0");
    let [old, new] = ["0.11.0", "0.33.0"].map(|version| read(&[&format!("vllm-{version}-written/metrics.txt")]));
    assert_eq!(old.metrics, new.metrics);
}

#[test]
fn guidellm_counts_tpot_by_request() {
    let measured = read(&["guidellm-0.8.1/concurrency-4.json"]);
    let [run] = measured.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.load.completed, run.load.users, run.client_version.as_deref()), (Some(16), Some(4), Some("0.8.1")));
    assert_eq!((run.requests.len(), run.model.as_deref()), (16, Some("meta-llama/Llama-3.1-8B-Instruct")));
    assert_eq!(run.url.as_deref(), Some("http://127.0.0.1:8000"));
    assert!(run.itl_ms.is_empty());
    let tpot = |request: &rooflut_observe::Request| {
        (request.e2e_ms.unwrap() - request.ttft_ms.unwrap()) / (request.output_tokens - 1) as f64
    };
    // The client ends the last token before the request.
    let highest = run.requests.iter().map(tpot).sum::<f64>() / 16.0;
    assert!(run.tpot_ms.mean.unwrap() <= highest && run.tpot_ms.mean.unwrap() > 0.5 * highest);
    let error = alone(&bytes("guidellm-0.8.1/concurrency-4.csv")).unwrap_err().to_string();
    assert!(error.contains("use the JSON beside it"), "{error}");
}

#[test]
fn the_reports_of_inference_perf_are_one_load() {
    let folder = "inference-perf-0.7.0";
    let names = ["summary", "stage_0", "per_request"].map(|name| format!("{folder}/{name}_lifecycle_metrics.json"));
    let measured = read(&names.each_ref().map(String::as_str));
    let [run] = measured.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.load.completed, run.load.failed, run.load.asked_per_s), (Some(16), Some(4), Some(5.0)));
    assert!(close(run.load.sent_per_s, 5.285_587_660_1) && close(run.ttft_ms.mean, 150.276_963_375));
    assert_eq!((run.requests.len(), run.trace.as_deref()), (16, Some(names[2].as_str())));
    assert_eq!(run.model.as_deref(), Some("meta-llama/Llama-3.1-8B-Instruct"));
    let [failed] = measured.notes.as_slice() else { panic!("{:?}", measured.notes) };
    assert!(failed.starts_with("4 of 20 requests failed"), "{failed}");
    // The summary of the client is that of its requests.
    let requests = &read(&[&names[2]]).runs[0];
    for (summary, own) in run.latencies().into_iter().zip(requests.latencies()) {
        assert!(close(own.1.mean, summary.1.mean.unwrap()), "{}: {:?}", own.0, own.1);
        assert!(close(own.1.p99, summary.1.p99.unwrap()), "{}: {:?}", own.0, own.1);
    }
}

#[test]
fn details_tell_what_the_client_summed_up() {
    let name = "vllm-0.11.0/rate-10-detailed-failures.json";
    let run = read(&[name]).runs[0].clone();
    assert_eq!((run.load.completed, run.load.failed, run.load.asked_per_s), (Some(16), Some(4), Some(10.0)));
    let text = String::from_utf8(bytes(name)).unwrap();
    let mut result: Value = serde_json::from_str(&text).unwrap();
    // Only the lists are left.
    let keys = result.as_object_mut().unwrap();
    keys.retain(|key, _| !["mean_", "median_", "std_", "p50_", "p9"].iter().any(|start| key.starts_with(start)));
    let details = alone(result.to_string().as_bytes()).unwrap().runs[0].clone();
    for (summary, own) in run.latencies().into_iter().zip(details.latencies()) {
        for (summary, own) in [(summary.1.mean, own.1.mean), (summary.1.p50, own.1.p50), (summary.1.p99, own.1.p99)] {
            // The client's clock read the last token apart from its gap.
            assert!((own.unwrap() / summary.unwrap() - 1.0).abs() < 1e-3, "{own:?} {summary:?}");
        }
    }
}

#[test]
fn a_report_of_aiperf_and_its_requests_are_one_load() {
    let names = ["json", "jsonl"].map(|ending| format!("aiperf-0.13.0/concurrency-4.{ending}"));
    let measured = read(&names.each_ref().map(String::as_str));
    let [run] = measured.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.load.completed, run.load.failed, run.requests.len()), (Some(16), Some(0), 16));
    assert_eq!((run.load.users, run.load.asked_per_s, run.load.arrival.as_deref()), (Some(4), None, None));
    assert_eq!((run.client_version.as_deref(), run.load.prompt_tokens.mean), (Some("0.13.0"), Some(128.0)));
    assert_eq!((run.model.as_deref(), run.load.output_tokens.mean), (Some(MODEL), Some(32.0)));
    assert_as_written(&names[0], run, in_report);
    // The report of the client is that of its requests.
    let requests = &read(&[&names[1]]).runs[0];
    assert_as_written(&names[0], requests, in_report);
    assert_eq!((requests.load.completed, requests.load.failed), (Some(16), Some(0)));
    let own = summary(&names[0]);
    let mean = |name: &str| own[name]["avg"].as_f64().unwrap();
    assert!(close(run.requests_per_s, mean("request_throughput")));
    assert!(close(run.output_tokens_per_s, mean("output_token_throughput")));
    assert!(close(run.load.concurrency, mean("effective_concurrency")));
    assert!(close(run.duration_s, mean("benchmark_duration")));
}

#[test]
fn loads_of_genai_perf_are_not_those_of_its_sweeps() {
    for (load, users, asked) in [("concurrency-4", Some(4), None), ("rate-5", None, Some(5.0))] {
        let name = format!("genai-perf-0.0.16/{load}.json");
        let run = read(&[&name]).runs[0].clone();
        assert_eq!((run.load.completed, run.load.failed), (Some(16), None), "{load}");
        assert_eq!((run.load.users, run.load.asked_per_s, run.load.arrival.as_deref()), (users, asked, None));
        assert_eq!((run.load.prompt_tokens.mean, run.load.output_tokens.mean), (Some(128.0), Some(32.0)));
        assert_eq!((run.model.as_deref(), run.url.as_deref()), (Some(MODEL), Some("http://127.0.0.1:8000")));
        assert!(run.itl_ms.is_empty() && run.tpot_ms.p99.is_some());
        assert_as_written(&name, &run, in_report);
        assert!(close(run.requests_per_s, summary(&name)["request_throughput"]["avg"].as_f64().unwrap()));
    }
}

#[test]
fn sglang_counts_failures_in_its_details_alone() {
    let closed = read(&["sglang-0.5.23/concurrency-4.jsonl"]).runs[0].clone();
    assert_eq!((closed.load.completed, closed.load.failed, closed.load.users), (Some(16), None, Some(4)));
    let open = read(&["sglang-0.5.23/rate-5-detailed-failures.jsonl"]).runs[0].clone();
    assert_eq!((open.load.completed, open.load.failed, open.load.users), (Some(16), Some(4), None));
    assert_eq!((open.load.asked_per_s, open.load.arrival.as_deref()), (Some(5.0), Some("poisson")));
    assert_eq!(open.requests.len(), 16);
    // The details have the lengths that the server counted, the sum those that were asked for.
    let own = summary("sglang-0.5.23/rate-5-detailed-failures.jsonl");
    let (prompts, answers) = (own["input_lens"].as_array().unwrap(), own["output_lens"].as_array().unwrap());
    let completed = prompts.iter().zip(answers).filter(|(_, answer)| **answer != 0);
    let sum: f64 = completed.map(|(prompt, _)| prompt.as_f64().unwrap()).sum();
    assert_eq!((closed.load.prompt_tokens.mean, open.load.prompt_tokens.mean), (Some(128.0), Some(sum / 16.0)));
    assert!(sum > own["total_input_tokens"].as_f64().unwrap());
    for (name, run) in [("concurrency-4", closed), ("rate-5-detailed-failures", open)] {
        let name = format!("sglang-0.5.23/{name}.jsonl");
        assert_eq!((run.model.as_deref(), run.load.output_tokens.mean), (Some(MODEL), Some(32.0)), "{name}");
        assert_as_written(&name, &run, in_bench("e2e_latency"));
        assert!(close(run.requests_per_s, summary(&name)["request_throughput"].as_f64().unwrap()));
        assert!(close(run.load.concurrency, summary(&name)["concurrency"].as_f64().unwrap()));
    }
}

#[test]
fn versions_of_vllm_bench_serve_agree() {
    for version in ["0.15.1", "0.33.0"] {
        let name = format!("vllm-{version}/concurrency-4.json");
        let run = read(&[&name]).runs[0].clone();
        assert_eq!((run.load.completed, run.load.failed, run.load.users), (Some(16), Some(0), Some(4)), "{name}");
        assert_eq!((run.model.as_deref(), run.load.asked_per_s), (Some(MODEL), None));
        assert!(close(run.load.prompt_tokens.mean, 128.25) && close(run.load.output_tokens.mean, 32.0));
        assert_as_written(&name, &run, in_bench("e2el"));
        // Newer versions write the latency of each request without details.
        let latencies = summary(&name)["latencies"].as_array().map(|all| all.iter().filter_map(Value::as_f64).sum());
        let mean = latencies.map(|sum: f64| 1e3 * sum / 16.0);
        assert_eq!(mean.is_some(), version == "0.33.0");
        assert!(mean.map_or(run.e2e_ms.is_empty(), |mean| close(run.e2e_ms.mean, mean)));

        let name = format!("vllm-{version}/rate-5-detailed-failures.json");
        let run = read(&[&name]).runs[0].clone();
        assert_eq!((run.load.completed, run.load.failed, run.requests.len()), (Some(16), Some(4), 16), "{name}");
        assert_eq!((run.load.asked_per_s, run.load.arrival.as_deref()), (Some(5.0), Some("gamma")));
        assert_eq!((run.load.burstiness, run.load.users), (Some(2.0), None));
        assert!(run.e2e_ms.p95.is_some() && run.itl_ms.p99.is_some());
        assert_as_written(&name, &run, in_bench("e2el"));
        assert!(run.load.sent_per_s.is_some());
    }
}

#[test]
fn every_recorded_load_is_consistent() {
    let ascending = |figures: &Distribution| {
        let Distribution { p50, p90, p95, p99, max, .. } = *figures;
        let all: Vec<f64> = [p50, p90, p95, p99, max].into_iter().flatten().collect();
        all.is_sorted()
    };
    let mut loads = 0;
    for name in all() {
        let measured = alone(&bytes(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for run in &measured.runs {
            loads += 1;
            assert!(run.latencies().into_iter().all(|(_, figures)| ascending(figures)), "{name}");
            assert!(run.load.completed.is_some_and(|completed| completed > 0), "{name}");
            assert!(run.ttft_ms.mean.is_some() && run.load.output_tokens.mean.is_some(), "{name}");
            if let Some((e2e, ttft)) = run.e2e_ms.mean.zip(run.ttft_ms.mean) {
                assert!(e2e > ttft, "{name}");
            }
            if let Some((count, (duration, rate))) = run.load.completed.zip(run.duration_s.zip(run.requests_per_s)) {
                assert!((rate * duration / count as f64 - 1.0).abs() < 0.1, "{name}: {rate} {duration} {count}");
            }
            assert!(run.sources.values().all(|source| source == "file"), "{name}");
        }
    }
    assert!(loads >= 2);
}

#[test]
fn a_file_that_is_cut_anywhere_is_an_error_or_the_same_kind() {
    for name in all() {
        let whole = bytes(&name);
        let kind = alone(&whole).unwrap().files[0].kind.clone();
        // A parse each: a hundred cuts, and all near the ends, where values begin and are complete.
        let step = (whole.len() / 40).max(1);
        let cuts = (0..whole.len()).filter(|at| at % step == 0 || *at < 60 || whole.len() - at < 10);
        for cut in cuts {
            match alone(&whole[..cut]) {
                Ok(measured) => assert_eq!(measured.files[0].kind, kind, "{name} up to {cut}"),
                Err(error) => assert!(
                    error.to_string().starts_with("file: ") || error.to_string().starts_with("file:"),
                    "{error}"
                ),
            }
        }
    }
}

#[test]
fn bytes_that_change_anywhere_do_not_panic() {
    for name in all() {
        let whole = bytes(&name);
        let step = (whole.len() / 8).max(1);
        for at in (0..whole.len()).step_by(step) {
            for byte in [b'0', b'"', b'-', 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = alone(&changed);
            }
        }
    }
}
