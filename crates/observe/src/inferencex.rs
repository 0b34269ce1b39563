//! Results of InferenceX, as its sweeps publish them: JSON with times in seconds.

use rooflut_error::Error;
use serde_json::json;

use crate::contents::Contents;
use crate::distribution::Distribution;
use crate::json::{contents, count, number};
use crate::requests::Room;
use crate::run::{Load, Run};
use crate::value::Value;

/// Share of `isl` and `osl` from which lengths are drawn, evenly up to all of it.
const SHORTEST: f64 = 0.8;
/// Maximum number of characters of a value that a remark quotes.
const MAX_SHOWN: usize = 80;
/// Keys that tell a server apart.
const SERVER: [&str; 7] = ["hw", "model", "framework", "precision", "tp", "ep", "image"];

/// Settings that are not read, with their usual values.
const UNREAD: [(&str, &[&str]); 4] =
    [("ep", &["1"]), ("dp_attention", &["false"]), ("spec_decoding", &["none", "false"]), ("disagg", &["false"])];

pub(crate) fn read(results: impl Iterator<Item = Result<Value, Error>>, room: &mut Room) -> Result<Contents, Error> {
    let results = results.collect::<Result<Vec<Value>, Error>>()?;
    // A file of a sweep is a list.
    let results = results.iter().flat_map(|value| value.as_list().unwrap_or(std::slice::from_ref(value)));
    let results: Vec<&Value> = results.collect();
    let mut found = Contents::default();
    if let Some(first) = results.first() {
        check_one_server(first, &results)?;
        let tp = count(first, "/tp")?.map(|tp| ("tp", json!(tp)));
        let gpu = first.get("hw").and_then(Value::as_str).map(|gpu| ("gpu", json!(gpu.to_ascii_lowercase())));
        found.facts.extend([tp, gpu].into_iter().flatten());
        found.notes.extend(image(first));
        found.notes.extend(UNREAD.iter().filter_map(|(key, usual)| unread(first, key, usual)));
    }
    for result in results {
        room.take_one::<Run>()?;
        found.runs.push(run(result)?);
    }
    Ok(found)
}

fn check_one_server(first: &Value, results: &[&Value]) -> Result<(), Error> {
    for key in SERVER {
        if let Some(other) = results.iter().find(|result| result.get(key) != first.get(key)) {
            let shown = |result: &Value| result.get(key).map_or("nothing".to_owned(), |value| value.shown(MAX_SHOWN));
            return Err(contents(format!(
                "{key}: found {} and {}, so these are two servers; give the results of one",
                shown(first),
                shown(other)
            )));
        }
    }
    Ok(())
}

/// Returns a remark on the version of the server, which only the name of its image tells.
fn image(result: &Value) -> Option<String> {
    let image = result.get("image")?.as_str()?;
    Some(format!("the server is of the image {image}; give its version, as in --engine vllm-0.18.0"))
}

/// Returns a remark on a setting that changes the server and is not read.
fn unread(result: &Value, key: &str, usual: &[&str]) -> Option<String> {
    let value = result.get(key).filter(|value| !value.is_null())?;
    let shown = value.as_str().map_or_else(|| value.shown(MAX_SHOWN), str::to_owned);
    let is_usual = usual.iter().any(|usual| shown.eq_ignore_ascii_case(usual));
    (!is_usual).then(|| format!("{key} is {shown}, which is not read: describe the server by flags"))
}

fn run(result: &Value) -> Result<Run, Error> {
    let latency = |name: &str| -> Result<Distribution, Error> {
        let mut figures = Distribution::default();
        let Distribution { mean, p50, p90, p95, p99, sd, .. } = &mut figures;
        let all = [(mean, "mean"), (p50, "median"), (p90, "p90"), (p95, "p95"), (p99, "p99"), (sd, "std")];
        for (figure, prefix) in all {
            *figure = number(result, &format!("/{prefix}_{name}"))?.map(|seconds| seconds * 1e3);
        }
        Ok(figures)
    };
    let gpus = count(result, "/tp")?.unwrap_or(1) as f64;
    let rate = |name: &str| Ok::<_, Error>(number(result, &format!("/{name}_per_gpu"))?.map(|rate| rate * gpus));
    let output = lengths(number(result, "/osl")?);
    let output_tokens_per_s = rate("output_tput")?;
    Ok(Run {
        client: "InferenceX".to_owned(),
        model: result.get("model").and_then(Value::as_str).map(str::to_owned),
        load: Load {
            users: count(result, "/conc")?,
            prompt_tokens: lengths(number(result, "/isl")?),
            output_tokens: output,
            ..Load::default()
        },
        ttft_ms: latency("ttft")?,
        tpot_ms: latency("tpot")?,
        itl_ms: latency("itl")?,
        e2e_ms: latency("e2el")?,
        output_tokens_per_s,
        // No key has it.
        requests_per_s: output_tokens_per_s.zip(output.mean).map(|(tokens, mean)| tokens / mean),
        total_tokens_per_s: rate("tput")?,
        ..Run::default()
    })
}

/// Returns the lengths that are drawn below a longest one.
fn lengths(longest: Option<f64>) -> Distribution {
    let Some(longest) = longest else {
        return Distribution::default();
    };
    let shortest = SHORTEST * longest;
    let mut lengths = Distribution::default();
    (lengths.min, lengths.max) = (Some(shortest), Some(longest));
    lengths.mean = Some((shortest + longest) / 2.0);
    lengths.sd = Some((longest - shortest) / 12_f64.sqrt());
    lengths
}
