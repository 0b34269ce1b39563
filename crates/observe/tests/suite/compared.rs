//! Measured loads beside predictions.

use super::*;

/// A report of `rooflut run --interval 0.8 --json`, as far as it is compared.
fn report(ttft: f64, tpot: f64) -> Value {
    let around = |ms: f64| json!({"mean": {"low": 0.9 * ms, "high": 1.1 * ms}, "p99": null});
    let e2e = ttft + 10.0 * tpot;
    json!({
        "ttft_ms": {"mean": ttft, "p50": null, "p99": ttft}, "tpot_ms": {"mean": tpot}, "itl_ms": {"mean": tpot},
        "e2e_ms": {"mean": e2e}, "queue_ms": {"mean": 6.0}, "kv_blocks": 500, "running_mean": 4.0,
        "throughput": {"requests_per_s": 2.0, "output_tokens_per_s": 22.0},
        "interval": {"coverage": 0.8, "ttft_ms": around(ttft), "tpot_ms": around(tpot), "e2e_ms": around(e2e)},
    })
}

#[test]
fn figures_stand_beside_their_interval() {
    let measured = read(&[("a.json", &result().to_string())]).unwrap();
    let compared = measured.compared(0, &report(31.0, 13.0)).unwrap();
    let found: Vec<_> = compared.figures.iter().map(|it| (it.name.as_str(), it.is_inside)).collect();
    let expected = [
        ("TTFT mean", Some(true)),
        ("TTFT p99", None),
        ("TPOT mean", Some(false)),
        ("E2E mean", Some(false)),
        ("requests", None),
        ("output tokens", None),
    ];
    assert_eq!(found, expected);
    assert!((compared.figures[2].error_percent - 30.0).abs() < 1e-9);
}

#[test]
fn terms_add_up_and_the_largest_comes_first() {
    let measured = read(&[("a.json", &result().to_string())]).unwrap();
    let compared = measured.compared(0, &report(25.0, 13.0)).unwrap();
    let names: Vec<_> = compared.terms.iter().map(|term| term.name).collect();
    assert_eq!(names, ["time per output token", "time to first token"]);
    let sum: f64 = compared.terms.iter().map(|term| term.difference_ms).sum();
    // 25 + 130 predicted, 130 measured.
    assert!((sum - 25.0).abs() < 1e-9, "{sum}");
}

#[test]
fn metrics_tell_the_queue_apart_and_what_differs() {
    let scrapes = [1.0, 2.0].map(|time| {
        let (requests, sum) = (10.0 * time, 0.02 * time);
        format!(
            "vllm:cache_config_info{{num_gpu_blocks=\"1000\"}} 1\nvllm:request_queue_time_seconds_sum {sum}\n\
             vllm:request_queue_time_seconds_count {requests}\nvllm:request_success_total {requests}\n"
        )
    });
    let files = [("b", scrapes[0].as_str()), ("c", scrapes[1].as_str()), ("a.json", &result().to_string())];
    let compared = read(&files).unwrap().compared(0, &report(25.0, 10.0)).unwrap();
    let terms: Vec<_> = compared.terms.iter().map(|term| (term.name, term.difference_ms.round())).collect();
    assert_eq!(terms, [("prompts and API server", -9.0), ("queue", 4.0)]);
    assert_eq!(compared.remarks, ["KV blocks: 1000.0 measured, 500.0 predicted"]);
}

#[test]
fn other_json_is_no_report() {
    let measured = read(&[("a.json", &result().to_string())]).unwrap();
    assert!(measured.compared(0, &json!({"a": 1})).is_err());
    assert!(measured.compared(1, &report(25.0, 10.0)).is_err());
}
