//! Results of SGLang's `bench_serving --output-file`: a line of JSON for each run.

use rooflut_error::Error;

use crate::contents::Contents;
use crate::distribution::Distribution;
use crate::json::{contents, count, find, number};
use crate::lists;
use crate::requests::Room;
use crate::run::{Load, Run};
use crate::value::Value;
use crate::vllm::{latency, mean, request_rate, shared};

pub(crate) fn read(results: impl Iterator<Item = Result<Value, Error>>, room: &mut Room) -> Result<Contents, Error> {
    let mut found = Contents::default();
    for result in results {
        let mut result = result?;
        found.runs.push(run(&mut result, room)?);
        found.facts.extend(facts(&result));
    }
    Ok(found)
}

fn run(result: &mut Value, room: &mut Room) -> Result<Run, Error> {
    room.take_one::<Run>()?;
    let completed = count(result, "/completed")?;
    if completed == Some(0) {
        return Err(contents("all requests of this result failed; run the benchmark again"));
    }
    let asked_per_s = match result.get("request_rate") {
        // `--use-trace-timestamps`.
        Some(Value::Text(trace)) if &**trace == "trace" => None,
        _ => request_rate(result)?,
    };
    let samples = lists::samples(result, room)?;
    let result = &*result;
    let prompt_tokens = match samples.as_slice() {
        // The sum is of the lengths that were asked for; the server may count others, which the details have.
        [] => mean(result, "/total_input_tokens", completed)?,
        _ => Distribution::default(),
    };
    let mut run = Run {
        client: "SGLang bench_serving".to_owned(),
        model: result.pointer("/server_info/model_path").and_then(Value::as_str).map(str::to_owned),
        load: Load {
            completed,
            asked_per_s,
            arrival: asked_per_s.map(|_| "poisson".to_owned()),
            users: count(result, "/max_concurrency")?,
            concurrency: number(result, "/concurrency")?,
            prompt_tokens,
            output_tokens: mean(result, "/total_output_tokens", completed)?,
            ..Load::default()
        },
        e2e_ms: latency(result, "e2e_latency")?,
        total_tokens_per_s: number(result, "/total_throughput")?,
        samples,
        ..shared(result)?
    };
    run.sum_up();
    Ok(run)
}

/// Returns what the server says of itself in newer versions.
fn facts(result: &Value) -> Vec<(&'static str, serde_json::Value)> {
    let Some(server) = result.get("server_info").filter(|server| server.is_object()) else {
        return Vec::new();
    };
    let named = [
        ("sglang_version", "version"),
        ("kv_tokens", "max_total_num_tokens"),
        ("tp", "tp_size"),
        ("dp", "dp_size"),
        ("max_num_seqs", "max_running_requests"),
    ];
    let found = named.into_iter().filter_map(|(name, key)| Some((name, find(server, key)?.fact()?)));
    found.collect()
}
