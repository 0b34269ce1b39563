//! Results of clients, and what contradicts in them.

use super::*;

#[test]
fn a_result_tells_load_and_figures() {
    let measured = read(&[("a.json", &result().to_string())]).unwrap();
    let [run] = measured.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.load.completed, run.load.failed, run.load.users), (Some(10), Some(0), Some(4)));
    assert_eq!((run.load.asked_per_s, run.load.prompt_tokens.mean), (None, Some(100.0)));
    assert_eq!((run.ttft_ms.mean, run.ttft_ms.p90, run.e2e_ms.p99), (Some(30.0), None, Some(130.0)));
    assert_eq!(run.sources["ttft_ms"], "a.json");
    assert_eq!(measured.notes, Vec::<String>::new());
    assert_eq!(measured.missing, ["gpu", "engine", "tp"]);
}

#[test]
fn requests_tell_what_the_summary_leaves_out() {
    let measured = read(&[("a.json", &detailed(result()).to_string())]).unwrap();
    let run = &measured.runs[0];
    let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-6;
    assert!(close(run.ttft_ms.p90, 30.0) && close(run.itl_ms.p95, 10.0) && close(run.tpot_ms.p90, 10.0));
    assert!(close(run.e2e_ms.p50, 130.0) && close(run.load.sent_per_s, 2.0));
    assert_eq!(run.requests.len(), 10);
}

#[test]
fn a_load_becomes_a_scenario_that_a_file_can_hold() {
    let given = "gpu = 'h100'\ntp = 1\n";
    let measured = read_with(given, &[("a.json", &detailed(result()).to_string())]).unwrap();
    let scenario = measured.scenario(0).unwrap();
    let file = measured.scenario_file(0).unwrap();
    assert_eq!(ScenarioFile::read(file.as_bytes()).unwrap().scenario(), &scenario);
    let workload = &scenario.workload;
    assert_eq!((workload.users, workload.requests, workload.rate), (Some(4), Some(10), None));
    assert_eq!(workload.prompt.as_ref().unwrap().to_string(), "100");
    assert_eq!(workload.output.as_ref().unwrap().to_string(), "11");
    let error = measured.scenario(1).unwrap_err().to_string();
    assert!(error.contains("expected a run from 1 to 1, found 2"), "{error}");
}

#[test]
fn given_keys_replace_the_load() {
    let given = "gpu = 'h100'\n[workload]\nrate = 3\nprompt = 50\n";
    let measured = read_with(given, &[("a.json", &result().to_string())]).unwrap();
    let workload = measured.scenario(0).unwrap().workload;
    assert_eq!((workload.users, workload.rate), (None, Some(3.0)));
    assert_eq!(workload.prompt.unwrap().to_string(), "50");
}

#[test]
fn an_open_loop_with_start_times_is_replayed_as_it_was_sent() {
    let mut open = detailed(result());
    open["request_rate"] = json!(2.0);
    open["max_concurrency"] = Value::Null;
    let measured = read_with("gpu = 'h100'\n", &[("a.json", &open.to_string())]).unwrap();
    let workload = measured.scenario(0).unwrap().workload;
    assert_eq!((workload.trace, workload.rate), (Some("a.json".into()), None));
    let mut summary = result();
    summary["request_rate"] = json!(2.0);
    summary["max_concurrency"] = Value::Null;
    let measured = read_with("gpu = 'h100'\n", &[("a.json", &summary.to_string())]).unwrap();
    assert_eq!(measured.scenario(0).unwrap().workload.rate, Some(2.0));
}

#[test]
fn what_is_missing_is_asked_for() {
    let mut other = result();
    other["model_id"] = json!("my-own/model");
    let measured = read(&[("a.json", &other.to_string())]).unwrap();
    assert_eq!(measured.missing, ["model", "gpu", "engine", "tp"]);
    let error = measured.scenario(0).unwrap_err();
    assert_eq!(error.keys(), ["model", "gpu"]);
}

#[test]
fn remarks_name_what_the_figures_do_not_show() {
    let notes = |change: &dyn Fn(&mut Value)| {
        let mut changed = detailed(result());
        change(&mut changed);
        read(&[("a.json", &changed.to_string())]).unwrap().notes
    };
    assert_eq!(notes(&|_| ()), Vec::<String>::new());
    for (change, expected) in [
        (&(|it: &mut Value| it["failed"] = json!(2)) as &dyn Fn(&mut Value), "2 of 12 requests failed"),
        (&|it| it["ttfts"][0] = json!(3.0), "a cold start: the first request waited 3000 ms"),
        (&|it| it["request_throughput"] = json!(9.0), "requests: 10 in"),
        (&|it| it["output_throughput"] = json!(3.0), "output tokens: "),
        (&|it| it["mean_tpot_ms"] = json!(20.0), "token counts: TTFT and TPOT of 11 output tokens make 230 ms"),
        (
            &|it| {
                it["request_rate"] = json!(20.0);
                it["max_concurrency"] = Value::Null;
            },
            "the client sent 2.00 requests per second where 20.00 were asked for",
        ),
        (&|it| it["request_rate"] = json!(2.0), "the client kept at most 4 requests in flight"),
    ] {
        let notes = notes(change);
        assert!(notes.len() == 1 && notes[0].starts_with(expected), "{notes:?}");
    }
}

#[test]
fn failed_requests_are_no_samples() {
    let mut failed = detailed(result());
    failed["errors"][3] = json!("Service Unavailable");
    failed["output_lens"][3] = json!(0);
    failed["ttfts"][3] = json!(9.0);
    failed["completed"] = json!(9);
    failed["failed"] = json!(1);
    let measured = read(&[("a.json", &failed.to_string())]).unwrap();
    let run = &measured.runs[0];
    assert_eq!((run.requests.len(), run.load.failed), (9, Some(1)));
    assert!(run.ttft_ms.max.unwrap() < 31.0);
    let mut all = result();
    all["completed"] = json!(0);
    assert!(message(&[("a.json", &all.to_string())]).contains("all requests of this result failed"));
}

#[test]
fn wrong_values_are_errors_with_their_key() {
    for (key, value, expected) in [
        ("mean_ttft_ms", json!(-1), "mean_ttft_ms: expected a number of at least 0, found -1"),
        ("completed", json!("ten"), "completed: expected a number of at least 0, found \"ten\""),
        ("completed", json!(1.5), "completed: expected a whole number, found 1.5"),
        ("request_rate", json!("fast"), "request_rate: expected requests per second, or inf"),
        ("itls", json!([]), "itls: expected 10 elements as in input_lens, found 0"),
    ] {
        let mut wrong = detailed(result());
        wrong[key] = value;
        let message = message(&[("a.json", &wrong.to_string())]);
        assert!(message.starts_with("a.json: ") && message.contains(expected), "{message}");
    }
    // NaN of Python is no figure.
    let nan = result().to_string().replace("\"mean_ttft_ms\":30.0", "\"mean_ttft_ms\":NaN");
    assert_eq!(read(&[("a.json", &nan)]).unwrap().runs[0].ttft_ms.mean, None);
}

#[test]
fn sglang_writes_a_line_for_each_run() {
    let line = json!({
        "backend": "sglang", "dataset_name": "random", "request_rate": 0, "max_concurrency": 4, "duration": 5.0,
        "completed": 10, "total_input_tokens": 1000, "total_output_tokens": 110, "request_throughput": 2.0,
        "mean_e2e_latency_ms": 130.0, "mean_ttft_ms": 30.0, "mean_tpot_ms": 10.0, "p95_itl_ms": 11.0, "concurrency": 3.5,
    });
    let inf = line.to_string().replace("\"request_rate\":0", "\"request_rate\":Infinity");
    let measured = read(&[("a.jsonl", &format!("{inf}\n{line}\n"))]).unwrap();
    let [first, second] = measured.runs.as_slice() else { panic!("two runs") };
    assert_eq!((first.load.asked_per_s, first.load.users, first.itl_ms.p95), (None, Some(4), Some(11.0)));
    assert_eq!((second.load.asked_per_s, second.load.concurrency), (Some(0.0), Some(3.5)));
}

fn inferencex() -> Value {
    json!({
        "hw": "h200", "conc": 64, "image": "vllm/vllm-openai:v0.15.1", "model": "openai/gpt-oss-120b",
        "framework": "vllm", "precision": "fp4", "isl": 1024, "osl": 1024, "tp": 2, "ep": 1, "dp_attention": "false",
        "tput_per_gpu": 3_650.0, "output_tput_per_gpu": 1_825.0, "input_tput_per_gpu": 1_825.0,
        "mean_ttft": 0.15, "median_ttft": 0.12, "p99_ttft": 0.5, "mean_tpot": 0.0166, "mean_intvty": 60.2,
    })
}

#[test]
fn inferencex_writes_seconds_and_rates_of_a_gpu() {
    let measured = read(&[("a.json", &inferencex().to_string())]).unwrap();
    let run = &measured.runs[0];
    assert_eq!((run.ttft_ms.mean, run.ttft_ms.p50, run.tpot_ms.mean), (Some(150.0), Some(120.0), Some(16.6)));
    assert_eq!((run.output_tokens_per_s, run.load.users), (Some(3_650.0), Some(64)));
    assert!((run.requests_per_s.unwrap() - 3_650.0 / 921.6).abs() < 1e-9);
    let scenario = measured.scenario(0).unwrap();
    assert_eq!((scenario.target.gpu(), scenario.target.tp()), ("h200", 2));
    assert_eq!(scenario.workload.prompt().to_string(), "uniform:819..1024");
}

#[test]
fn settings_of_inferencex_that_are_not_read_are_named() {
    let named = |result: &Value| read(&[("a.json", &result.to_string())]).unwrap().notes.join("; ");
    let mut result = inferencex();
    assert!(!named(&result).contains("is not read"));
    (result["dp_attention"], result["ep"]) = (json!("true"), json!(8));
    let notes = named(&result);
    assert!(notes.contains("ep is 8, which is not read") && notes.contains("dp_attention is true"), "{notes}");
}

#[test]
fn a_sweep_of_inferencex_is_one_server_with_several_loads() {
    let (one, mut other) = (inferencex(), inferencex());
    other["conc"] = json!(128);
    let both = json!([one, other]).to_string();
    assert_eq!(read(&[("a.json", &both)]).unwrap().runs.len(), 2);
    other["tp"] = json!(4);
    let message = message(&[("a.json", &json!([one, other]).to_string())]);
    assert!(message.contains("tp: found 2 and 4, so these are two servers"), "{message}");
}

fn aiperf(unit: &str) -> Value {
    let times = |ms: f64| {
        let time = if unit == "s" { ms / 1e3 } else { ms };
        json!({
            "unit": unit, "avg": time, "p50": time, "p90": time, "p95": time, "p99": time, "min": time, "max": time,
        })
    };
    let count = |count: f64| json!({"unit": "tokens", "avg": count});
    json!({
        "schema_version": "1.0", "aiperf_version": "0.13.0",
        "input_config": {"endpoint": {"model_names": ["llama-3.1-8b"], "urls": ["localhost:8000"]}, "loadgen": {"concurrency": 4}},
        "request_throughput": {"unit": "requests/sec", "avg": 2.0}, "request_count": {"unit": "requests", "avg": 2.0},
        "time_to_first_token": times(30.0), "inter_token_latency": times(10.0), "request_latency": times(130.0),
        "input_sequence_length": count(100.0), "output_sequence_length": count(11.0),
    })
}

#[test]
fn the_load_of_aiperf_is_that_of_its_measured_phase() {
    let mut report = aiperf("ms");
    let warm_up = json!({"name": "warmup", "kind": "warmup", "type": "concurrency", "concurrency": 9});
    let mut measured =
        json!({"name": "profiling", "kind": "profiling", "type": "gamma", "rate": 5.0, "smoothness": 2.0});
    let mut load = |phases: Value| {
        report["input_config"] = json!({"models": {"items": [{"name": "llama-3.1-8b"}]}, "phases": phases});
        read(&[("a.json", &report.to_string())]).unwrap().runs[0].load.clone()
    };
    let gamma = load(json!([warm_up, measured]));
    assert_eq!((gamma.users, gamma.asked_per_s, gamma.burstiness), (None, Some(5.0), Some(2.0)));
    assert_eq!(gamma.arrival.as_deref(), Some("gamma"));
    measured["type"] = json!("poisson");
    assert_eq!(load(json!([measured])).arrival.as_deref(), Some("poisson"));
    let closed = load(json!([warm_up, {"kind": "profiling", "type": "concurrency", "concurrency": 4}]));
    assert_eq!((closed.users, closed.asked_per_s, closed.arrival), (Some(4), None, None));
}

fn aiperf_request(start_ns: u64, prompt: u64) -> Value {
    let value = |value: f64, unit: &str| json!({"value": value, "unit": unit});
    json!({
        "metadata": {"request_start_ns": start_ns, "benchmark_phase": "profiling"}, "error": null,
        "metrics": {
            "time_to_first_token": value(30.0, "ms"), "request_latency": value(130.0, "ms"),
            "inter_token_latency": value(10.0, "ms"), "input_sequence_length": {"value": prompt, "unit": "tokens"},
            "output_sequence_length": {"value": 11, "unit": "tokens"},
        },
    })
}

#[test]
fn a_summary_and_its_requests_are_one_run() {
    let requests = format!("{}\n{}\n", aiperf_request(1_000_000_000, 100), aiperf_request(2_000_000_000, 100));
    let files = [("requests.jsonl", requests.as_str()), ("summary.json", &aiperf("ms").to_string())];
    let measured = read(&files).unwrap();
    let [run] = measured.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.load.users, run.load.sent_per_s), (Some(4), Some(1.0)));
    assert_eq!((run.tpot_ms.mean, run.requests.len()), (Some(10.0), 2));
    assert_eq!((measured.files.len(), measured.notes.as_slice()), (2, &[][..]));
    assert_eq!(run.model.as_deref(), Some("llama-3.1-8b"));

    let more = format!("{}\n{}\n{}\n", aiperf_request(1, 300), aiperf_request(2, 300), aiperf_request(3, 300));
    let notes = read(&[("r.jsonl", &more), ("s.json", &aiperf("ms").to_string())]).unwrap().notes;
    assert_eq!(notes[0], "completed requests: 2.0 in s.json, 3.0 in r.jsonl; the first counts");
    assert_eq!(notes[1], "prompt tokens: 100.0 in s.json, 300.0 in r.jsonl; the first counts");
}

#[test]
fn times_have_units() {
    let seconds = read(&[("a.json", &aiperf("s").to_string())]).unwrap();
    assert_eq!(seconds.runs[0].ttft_ms.mean, Some(30.0));
    let wrong = message(&[("a.json", &aiperf("furlongs").to_string())]);
    assert!(wrong.contains("expected a unit of time, found \"furlongs\""), "{wrong}");
}

#[test]
fn files_of_two_servers_are_refused() {
    let mut other = result();
    other["model_id"] = json!("meta-llama/Llama-3.1-70B-Instruct");
    let error = message(&[("a.json", &result().to_string()), ("b.json", &other.to_string())]);
    assert!(error.contains("so these are two servers"), "{error}");
    let mut elsewhere = aiperf("ms");
    elsewhere["input_config"]["endpoint"]["urls"] = json!(["http://10.0.0.2:8000/v1"]);
    elsewhere["request_count"]["avg"] = json!(3.0);
    let error = message(&[("a.json", &aiperf("ms").to_string()), ("b.json", &elsewhere.to_string())]);
    assert!(error.contains("found loads on 127.0.0.1:8000 and on 10.0.0.2:8000"), "{error}");
}

#[test]
fn other_files_are_refused() {
    for (text, expected) in [
        ("arrival_ms,prompt_tokens,output_tokens\n0,1,1\n", "found another file"),
        ("{\"a\": 1}", "found another file"),
        ("version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        ("{\"request_throughput\": 1, \"tokenizer_id\": \"m\", ", "invalid JSON: EOF"),
        ("", "found another file"),
    ] {
        let message = message(&[("a", text)]);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn times_in_another_unit_are_refused() {
    for (unit, factor) in [("s", 1e-3), ("us", 1e3)] {
        let mut result = result();
        for (key, value) in result.as_object_mut().unwrap() {
            if let Some(ms) = value.as_f64().filter(|_| key.ends_with("_ms")) {
                *value = json!(factor * ms);
            }
        }
        let error = message(&[("a.json", &result.to_string())]);
        assert!(error.contains("a request takes 2000.00 ms on average, found"), "{unit}: {error}");
    }
}
