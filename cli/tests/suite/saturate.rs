//! `rooflut saturate`: the highest rate within limits, as `rooflut run` simulates it.

use serde_json::Value;

use crate::support::{command, file, json, number, rooflut, success};

/// Few enough for short runs to overload a server.
const SEQS: &str = "--max-num-seqs 128 --max-num-batched-tokens 2048";

/// Whether a rate is served within 500 ms of TTFT with each of three seeds.
fn holds(rate: f64) -> bool {
    let run = json(&format!("run --rate {rate} --seeds 3 {SEQS}"));
    number(&run, "/seeds/ttft_ms/p99/highest") <= 500.0 && number(&run, "/seeds/overloaded") < 1.0
}

#[test]
fn limits_hold_in_runs_at_the_highest_rate_and_not_above() {
    let answer = json(&format!("saturate --goodput ttft:500 {SEQS}"));
    let highest = number(&answer, "/within_limits/rate");
    assert!(holds(highest), "{highest}");
    // Runs of a search end as soon as they seem to miss a limit, which may be early by a few percent of the rate.
    assert!(!holds(1.05 * highest), "{highest}");
    assert!(number(&answer, "/saturation/rate") >= highest);
    assert!(number(&answer, "/knee/rate") > 0.0);
    let curve = answer["curve"].as_array().expect("points");
    let overloaded = |point: &Value| number(point, "/overloaded") > 0.0;
    assert!(!overloaded(&curve[0]) && curve.last().is_some_and(overloaded));
}

#[test]
fn the_command_of_the_answer_gives_the_figures_of_the_highest_rate() {
    let answer = json(&format!("saturate --requests 600 --goodput ttft:500 {SEQS}"));
    let run = command(&answer);
    assert_eq!(run["seeds"]["ttft_ms"], answer["within_limits"]["ttft_ms"]);
    // The search simulates one of several servers, and a few of more under users.
    let answer = json(&format!("saturate --replicas 3 --goodput ttft:500 {SEQS}"));
    let run = command(&answer);
    for latency in ["ttft_ms", "tpot_ms", "e2e_ms"] {
        assert_eq!(run["seeds"][latency], answer["within_limits"][latency]);
    }
    let users = json(&format!("saturate --users 600 --replicas 18 --goodput tpot:20 {SEQS}"));
    let run = command(&users);
    assert_eq!(run["load"]["users"], users["users"]);
    let points = users["curve"].as_array().expect("points").iter();
    let most = points.clone().find(|point| point["users"] == users["users"]).expect("the most users");
    assert_eq!(run["tpot_ms"]["p99"], most["tpot_ms"]["p99"]["mean"]);
}

#[test]
fn without_limits_the_table_marks_saturation_and_the_knee() {
    let text = success(&format!("saturate --requests 500 {SEQS}"));
    let title = text.lines().next().expect("a title");
    assert!(title.starts_with("llama-3.1-8b on 1 h100 keeps up with "), "{title}");
    for mark in ["saturation", "knee", "overload"] {
        let marked = text.lines().filter(|line| line.ends_with(mark));
        assert!(marked.count() >= 1, "{mark}: {text}");
    }
}

#[test]
fn divisions_of_the_servers_are_compared() {
    let links = "--link-bandwidth 50 --link-latency 10";
    let line = format!("saturate --requests 500 --prefill-replicas 3 --decode-replicas 1 {links}");
    let answer = json(&line);
    let division = &answer["division"];
    assert_eq!(division["splits"].as_array().map(Vec::len), Some(3));
    assert!(number(division, "/best/rate") > number(&answer, "/saturation/rate"));
    let text = success(&line);
    assert!(text.contains("best of 4 servers: "), "{text}");
}

#[test]
fn limits_that_no_rate_meets_are_an_error_beside_the_curve() {
    let mut command = rooflut("saturate --goodput ttft:1 --requests 500 --json");
    let output = command.output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(3));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["within_limits"], Value::Null);
    assert!(number(&answer, "/lowest/ttft_ms/p99/lowest") > 1.0);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.contains("error: no rate meets ttft:1@p99, not even "), "{stderr}");
}

#[test]
fn a_trace_is_replayed_at_the_highest_speed_within_limits() {
    let rows: String = (0..1_000).map(|index| format!("{},512,64\n", 100 * index)).collect();
    let (_folder, trace) = file("trace.csv", format!("arrival_ms,prompt_tokens,output_tokens\n{rows}"));
    let answer = json(&format!("saturate --trace {trace} --goodput tpot:12@p95"));
    let own = number(&answer, "/trace_rate");
    assert!((own - 1_000.0 / 99.9).abs() < 1e-9, "{own}");
    let speed = number(&answer, "/within_limits/rate") / own;
    let p95 = |speed: f64| number(&json(&format!("run --trace {trace} --trace-speed {speed}")), "/tpot_ms/p95");
    assert!(speed > 1.0 && p95(speed) <= 12.0, "{speed}");
    assert!(p95(1.05 * speed) > 12.0, "{speed}");
    let text = success(&format!("saturate --trace {trace} --goodput tpot:12@p95"));
    assert!(text.contains("times within the limits, "), "{text}");
}
