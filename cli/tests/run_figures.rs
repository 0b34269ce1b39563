//! `rooflut run`: goodput, use of the server, percentiles without records.
#![allow(clippy::expect_used, reason = "test code outside of test functions")]

mod support;

use serde_json::Value;
use support::{failure, json, number, success};

#[test]
fn the_server_is_as_busy_as_its_load() {
    let run = |rate| json(&["run", "--requests", "200", "--rate", rate]);
    let (idle, busy) = (run("0.1"), run("18"));
    // 256 tokens of 6 ms every 10 s.
    assert!((0.1..0.3).contains(&number(&idle, "/busy_share")), "{idle}");
    assert!(
        (0.9..=1.0).contains(&number(&busy, "/busy_share")),
        "{busy}"
    );
    for answer in [idle, busy] {
        // Little's law; queue and API server hold no slot.
        let rate = number(&answer, "/throughput/requests_per_s");
        let time_s = (number(&answer, "/e2e_ms/mean") - number(&answer, "/queue_ms/mean")) / 1e3;
        let running = number(&answer, "/running_mean");
        assert!((running / (rate * time_s) - 1.0).abs() < 0.02, "{answer}");
        assert!(number(&answer, "/kv_blocks_mean") < number(&answer, "/kv_blocks_peak"));
    }
}

#[test]
fn goodput_counts_requests_within_all_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.csv");
    let path = path.to_str().expect("UTF-8");
    let base = ["run", "--requests", "300", "--requests-out", path];
    let with = |limits: &[&str]| json(&[&base[..], limits].concat());
    assert_eq!(with(&[])["goodput"], Value::Null);
    // As vLLM's benchmark takes them, and one by one.
    let answer = with(&["--goodput", "ttft:45", "tpot:10.5"]);
    let again = with(&["--goodput", "ttft:45", "--goodput", "tpot:10.5"]);
    assert_eq!(answer, again);
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let header = reader.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|found| found == name).expect(name);
    let (ttft, tpot) = (place("ttft_ms"), place("tpot_ms"));
    let ms = |text: &str| text.parse::<f64>().expect("ms");
    let met = reader
        .records()
        .map(|row| row.expect("a row"))
        .filter(|row| ms(&row[ttft]) <= 45.0 && ms(&row[tpot]) <= 10.5)
        .count();
    assert!((50..250).contains(&met), "{met}");
    assert_eq!(answer["goodput"]["met"], met);
    assert_eq!(answer["goodput"]["ttft_ms"], 45.0);
    assert_eq!(answer["goodput"]["e2e_ms"], Value::Null);
    let per_s = number(&answer, "/goodput/requests_per_s") * number(&answer, "/makespan_s");
    assert!((per_s - met as f64).abs() < 1e-6);
    let people = success(&[
        "run",
        "--requests",
        "300",
        "--goodput",
        "ttft:45",
        "e2e:1e5",
    ]);
    let told = "requests/s with TTFT <= 45 ms, E2E <= 100000 ms (";
    assert!(people.contains(told), "{people}");
    let message = failure(&["run", "--goodput", "itl:5"]);
    assert!(
        message.contains("expected ttft:MS, tpot:MS or e2e:MS"),
        "{message}"
    );
}

#[test]
fn many_requests_have_their_percentiles_from_histograms_and_say_so() {
    const SAID: &str = "percentiles from histograms, within 0.05 %";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.csv");
    let path = path.to_str().expect("UTF-8");
    let base = ["run", "--output", "3", "--requests", "100001"];
    let goodput = ["--goodput", "ttft:20"];
    let streamed = json(&[&base[..], &goodput].concat());
    let exact = json(&[&base[..], &["--requests-out", path], &goodput].concat());
    assert_eq!(number(&exact, "/percentile_error").to_bits(), 0);
    let error = number(&streamed, "/percentile_error");
    assert!(error > 0.0 && error < 0.001);
    for name in ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"] {
        for key in ["mean", "p50", "p90", "p95", "p99"] {
            let pointer = format!("/{name}/{key}");
            let (a, b) = (number(&streamed, &pointer), number(&exact, &pointer));
            assert!((a - b).abs() <= error * b + 1e-6, "{pointer} {a} {b}");
        }
    }
    let [streamed, exact] = [streamed, exact].map(without_sketches);
    assert_eq!(streamed, exact);
    assert!(success(&base).contains(SAID));
    assert!(success(&base).lines().all(|line| line.len() <= 100));
    let few = success(&["run", "--output", "3", "--requests", "100000"]);
    assert!(!few.contains(SAID), "{few}");
}

/// What of an answer does not depend on whether there are records.
fn without_sketches(mut answer: Value) -> Value {
    let keys = answer.as_object_mut().expect("an object");
    for key in [
        "ttft_ms",
        "tpot_ms",
        "e2e_ms",
        "queue_ms",
        "percentile_error",
        "queue_growth",
    ] {
        keys.remove(key).expect(key);
    }
    answer
}
