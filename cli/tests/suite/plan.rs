//! `rooflut plan`: the cheapest deployment within limits, as `rooflut run` simulates it.
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use serde_json::Value;

use crate::support::{command, json, number, rooflut, success, text};

const QUESTION: &str = "--model llama-3.1-70b --rate 30";

#[test]
fn the_best_deployment_meets_the_limit_with_each_seed_of_a_run() {
    let plan = json(&format!(
        "plan {QUESTION} --gpu h100 --goodput ttft:500 --count 1 --max-num-seqs 128 --max-num-batched-tokens 2048"
    ));
    assert!((number(&plan, "/gpus") - 12.0).abs() < f64::EPSILON);
    let best = &plan["deployments"][0];
    assert_eq!(best["gpus"], plan["gpus"]);
    assert_eq!(best["binding"], "ttft:500@p99");
    let (tp, replicas) = (&best["tp"], &best["replicas"]);
    let flags = format!("--gpu h100 --tp {tp} --replicas {replicas} --seeds 3");
    let flags = format!("{flags} --max-num-seqs 128 --max-num-batched-tokens 2048");
    let run = json(&format!("run {QUESTION} {flags}"));
    let highest = number(&run, "/seeds/ttft_ms/p99/highest");
    // The run is shorter than those of the plan.
    assert!(highest <= 500.0, "{highest}");
    let planned = number(best, "/figures/0/highest");
    assert!((planned / highest - 1.0).abs() < 0.2, "{planned} {highest}");
    assert!((number(best, "/headroom") - (1.0 - planned / 500.0)).abs() < 1e-9);
    assert_eq!(run["seeds"]["overloaded"], 0);
}

#[test]
fn the_table_shows_the_command_that_simulates_the_best_deployment() {
    let line = "plan --rate 60 --prompt uniform:100..900 --max-num-seqs 64 --requests 1000 \
                --goodput ttft:200 tpot:20@p95 --count 1";
    let people = success(line);
    let (_, command) = people.split_once("  command  rooflut ").expect("a command");
    let words = command
        .lines()
        .scan(true, |continues, line| {
            let line = continues.then_some(line)?;
            *continues = line.ends_with('\\');
            Some(line.trim_end_matches('\\'))
        })
        .flat_map(str::split_whitespace);
    let command = words.collect::<Vec<_>>().join(" ");
    let run = json(&command);
    let best = &json(line)["deployments"][0];
    assert_eq!(run["gpus"], best["gpus"]);
    assert_eq!(text(best, "/command"), format!("rooflut {command}"));
    for (index, figure) in ["/seeds/ttft_ms/p99/highest", "/seeds/tpot_ms/p95/highest"].into_iter().enumerate() {
        let planned = number(best, &format!("/figures/{index}/highest"));
        assert!((planned - number(&run, figure)).abs() < 1e-9, "{command}");
    }
}

/// The figures that an answer limits, as the run of its command has them, each with the lowest and the highest.
fn limited(answer: &Value, run: &Value) -> Vec<[f64; 2]> {
    let figures = answer["figures"].as_array().expect("figures").iter();
    let of_run = figures.map(|figure| {
        let limit = text(figure, "/limit");
        let (latency, figure) = limit.split_once('@').expect("a figure");
        let (latency, _) = latency.split_once(':').expect("a limit");
        ["lowest", "highest"].map(|end| number(run, &format!("/seeds/{latency}_ms/{figure}/{end}")))
    });
    of_run.collect()
}

#[test]
fn the_command_of_each_answer_gives_its_figures_to_the_digit() {
    for question in [
        "--tp 1 --rate 22.7 --goodput ttft:200 tpot:15",
        "--tp 1 --rate 8 --goodput ttft:200 tpot:15 --price h100=2.5",
        // The search simulates one of these servers.
        "--tp 1,2 --rate 90 --goodput ttft:200 tpot:14",
        "--tp 1 --users 900 --think-time exponential:3 --goodput ttft:400@p95 tpot:14@mean",
        "--tp 1 --rate 30 --prompt 2000 --output 200 --goodput ttft:400 tpot:12 --max-gpus 8 --link-bandwidth 50 \
         --link-latency 10",
    ] {
        let plan = json(&format!("plan {question} --count 2"));
        let answers = plan["deployments"].as_array().expect("deployments");
        assert!(!answers.is_empty(), "{question}");
        for answer in answers {
            let run = command(answer);
            let planned: Vec<[f64; 2]> = answer["figures"]
                .as_array()
                .expect("figures")
                .iter()
                .map(|figure| ["/lowest", "/highest"].map(|end| number(figure, end)))
                .collect();
            assert_eq!(planned, limited(answer, &run), "{question}");
            for (of_answer, of_run) in [
                ("/requests_per_s", "/throughput/requests_per_s"),
                ("/output_tokens_per_s", "/throughput/output_tokens_per_s"),
                ("/hourly_cost/usd_per/million_output_tokens", "/cost/usd_per/million_output_tokens"),
            ] {
                let [planned, found] = [number(answer, of_answer), number(&run, of_run)];
                assert!((planned / found - 1.0).abs() < 1e-9, "{question}: {of_answer} {planned} {found}");
            }
            assert!(number(answer, "/headroom") >= 0.0, "{question}");
            if !question.contains('@') {
                success(&format!("{} --require", text(answer, "/command").trim_start_matches("rooflut ")));
            }
        }
    }
}

#[test]
fn the_command_of_a_share_or_a_confidence_gives_its_figures() {
    let plan = json("plan --tp 1 --rate 60 --goodput ttft:150 tpot:14 --attainment 0.95 --count 1");
    let best = &plan["deployments"][0];
    let words = text(best, "/command");
    assert!(words.ends_with("--require=true --attainment 0.95"), "{words}");
    success(words.trim_start_matches("rooflut "));
    assert_eq!(best["requests_per_s"], command(best)["throughput"]["requests_per_s"]);
    let plan = json("plan --tp 1 --rate 60 --goodput tpot:14 --confidence 0.8 --count 1");
    let best = &plan["deployments"][0];
    let high = number(&command(best), "/interval/tpot_ms/p99/high");
    let [lowest, highest] = ["/lowest", "/highest"].map(|end| number(&best["figures"][0], end));
    assert!(lowest <= high && high <= highest, "{lowest} {high} {highest}");
}

#[test]
fn the_limits_of_a_command_are_one_row_of_a_sweep() {
    let plan = json("plan --tp 1 --rate 10 --goodput ttft:200 tpot:20 --count 1 --requests 1000 --seed 3");
    let words = text(&plan["deployments"][0], "/command").trim_start_matches("rooflut run ");
    let rows = success(&format!("sweep {words}"));
    assert_eq!(rows.lines().count(), 2, "{rows}");
}

#[test]
fn prefill_and_decode_servers_may_be_of_different_gpus() {
    let load = "--model llama-3.1-8b --rate 30 --prompt 2000 --output 200 --link-bandwidth 50 --link-latency 10";
    let limits = "--goodput ttft:400 tpot:15 --max-gpus 16 --count 1";
    let plan = json(&format!("plan {load} --gpu h100,l40s --tp 1 {limits} --price h100=6 l40s=1.5"));
    let best = &plan["deployments"][0];
    assert_eq!((&best["prefill"]["gpu"], &best["gpu"]), (&"l40s".into(), &"h100".into()));
    let [prefill, decode] = ["prefill_replicas", "decode_replicas"].map(|key| number(best, &format!("/{key}")));
    assert!((number(best, "/gpus") - prefill - decode).abs() < 1e-9);
    assert!((number(best, "/hourly_cost/usd") - 1.5 * prefill - 6.0 * decode).abs() < 1e-9);
    assert_eq!(plan["break_even"], Value::Array(Vec::new()));
    // It costs less than equal servers, and holds its limits in a run that is longer than those of the plan.
    let equal = json(&format!("plan {load} --gpu h100 --tp 1 {limits} --price h100=6"));
    assert!(number(best, "/hourly_cost/usd") < number(&equal, "/deployments/0/hourly_cost/usd"));
    let servers =
        format!("--prefill-replicas {prefill} --decode-replicas {decode} --prefill gpu=l40s --decode gpu=h100");
    let run = json(&format!("run {load} {servers} --requests 20000"));
    assert!(number(&run, "/ttft_ms/p99") < 400.0 && number(&run, "/tpot_ms/p99") < 15.0);
}

#[test]
fn kinds_that_are_left_out_for_one_reason_share_a_paragraph_with_flags() {
    let text = success(
        "plan --model llama-3.1-70b --gpu h100 --rate 5 --goodput ttft:800 --dtype bf16,fp8 \
         --max-num-seqs 128 --max-num-batched-tokens 2048",
    );
    let left_out = text.matches("left out").count();
    assert_eq!(left_out, 1, "{text}");
    assert!(text.contains("tp 1 bf16 on h100: does not fit h100"), "{text}");
    assert!(text.contains("--gpu-memory-utilization 0.9"), "{text}");
}

#[test]
fn a_limit_that_nothing_meets_is_an_error_with_the_nearest_deployment() {
    let line = "plan --rate 5 --goodput ttft:1 --max-gpus 8 --json";
    let output = rooflut(line).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(3));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(plan["gpus"], Value::Null);
    assert_eq!(plan["nearest"]["binding"], "ttft:1@p99");
    assert!(number(&plan, "/nearest/headroom") < 0.0);
    let reason = plan["excluded"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("an idle server takes at least"), "{reason}");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.contains("the nearest, ") && stderr.contains("misses ttft:1@p99 by"), "{stderr}");
}

#[test]
fn a_share_of_requests_and_a_confidence_ask_for_more() {
    let gpus = |flags: &str| {
        let line = format!("plan --rate 60 --goodput ttft:150 {flags} --count 1");
        number(&json(&line), "/gpus")
    };
    let plain = gpus("");
    assert!(gpus("--attainment 0.999") >= plain);
    assert!(gpus("--attainment 0.5") <= plain);
    assert!(gpus("--confidence 0.9") >= plain);
}

#[test]
fn several_speeds_of_a_trace_get_the_plans_that_each_gets_alone() {
    let plan = |flags: &str| {
        json(&format!("plan --trace examples/chat_trace.csv --goodput ttft:40@mean tpot:20@mean {flags}"))
    };
    let several = plan("--trace-speed 1,16..24:8");
    let plans = several["plans"].as_array().expect("plans");
    let speeds = ["1", "16", "24"];
    assert_eq!(plans.len(), speeds.len());
    for (found, speed) in plans.iter().zip(speeds) {
        let alone = plan(&format!("--trace-speed {speed}"));
        assert_eq!(found["deployments"], alone["deployments"], "{speed}");
        assert_eq!(found["trace_speed"].as_f64().map(|found| found.to_string()).as_deref(), Some(speed));
    }
    assert_ne!(plans[0]["deployments"][0]["figures"], plans[2]["deployments"][0]["figures"]);
}
