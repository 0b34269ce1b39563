//! Files that clients wrote, and logs and metrics written after the sources of servers (`tests/files/README.md`).

use std::fs;
use std::path::{Path, PathBuf};

use rooflut_observe::{Distribution, File, Measured};
use rooflut_scenario::Scenario;

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
    found.is_some_and(|found| (found - expected).abs() < 1e-6 * expected)
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
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
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
