//! GuideLLM's `benchmarks.json`: a report of several loads.
//!
//! GuideLLM's `inter_token_latency_ms` is a mean for each request, the project's TPOT; its `time_per_output_token_ms`
//! counts the first token and is not read.

use rooflut_error::Error;

use crate::contents::Contents;
use crate::distribution::{Distribution, Names};
use crate::json::{contents, count, find, list, number, text};
use crate::requests::{Room, Sample};
use crate::run::{Load, Run};
use crate::value::Value;

const NAMES: Names =
    ["mean", "median", "percentiles/p90", "percentiles/p95", "percentiles/p99", "min", "max", "std_dev"];

pub(crate) fn read(reports: impl Iterator<Item = Result<Value, Error>>, room: &mut Room) -> Result<Contents, Error> {
    let mut found = Contents::default();
    for report in reports {
        let report = &report?;
        let benchmarks = list(report, "/benchmarks")?.filter(|benchmarks| !benchmarks.is_empty());
        let benchmarks =
            benchmarks.ok_or_else(|| contents("benchmarks: expected at least one, found none; run it again"))?;
        found.version = text(report, "/metadata/guidellm_version");
        for benchmark in benchmarks {
            found
                .runs
                .extend(run(report, benchmark, room)?.map(|run| Run { client_version: found.version.clone(), ..run }));
        }
        if found.runs.len() < benchmarks.len() {
            found.notes.push("loads without a completed request are left out".to_owned());
        }
    }
    Ok(found)
}

/// Reads a load; `None` if no request was completed.
fn run(report: &Value, benchmark: &Value, room: &mut Room) -> Result<Option<Run>, Error> {
    room.take_one::<Run>()?;
    let metrics = benchmark.get("metrics").filter(|metrics| metrics.is_object());
    let metrics = metrics.ok_or_else(|| contents("benchmarks: expected metrics of each, found none; run it again"))?;
    let of = |name: &str, unit| {
        Distribution::read(NAMES, unit, |figure| number(metrics, &format!("/{name}/successful/{figure}")))
    };
    let completed = count(metrics, "/request_totals/successful")?;
    let (e2e, mean_of_rate) =
        (of("request_latency", 1e3)?, |name: &str| number(metrics, &format!("/{name}/successful/mean")));
    if completed == Some(0) {
        return Ok(None);
    }
    let strategy = find(benchmark, "strategy").unwrap_or(&Value::Null);
    let kind = strategy.get("type_").and_then(Value::as_str).unwrap_or_default();
    let is_rate = kind.contains("constant") || kind.contains("poisson");
    let concurrency = mean_of_rate("request_concurrency")?;
    let unfinished = |name: &str| count(metrics, &format!("/request_totals/{name}"));
    let duration_s = number(benchmark, "/duration")?;
    let mut run = Run {
        client: "GuideLLM".to_owned(),
        model: text(benchmark, "/config/backend/model").or_else(|| text(report, "/args/model")),
        url: text(benchmark, "/config/backend/target").or_else(|| text(report, "/args/target")),
        load: Load {
            completed,
            failed: unfinished("errored")?,
            asked_per_s: if is_rate { number(strategy, "/rate")? } else { None },
            arrival: is_rate.then(|| if kind.contains("poisson") { "poisson" } else { "constant" }.to_owned()),
            users: match kind {
                "synchronous" => Some(1),
                _ => count(strategy, "/streams")?.or(count(strategy, "/max_concurrency")?),
            },
            concurrency,
            prompt_tokens: of("prompt_token_count", 1.0)?,
            output_tokens: of("output_token_count", 1.0)?,
            ..Load::default()
        },
        duration_s,
        ttft_ms: of("time_to_first_token_ms", 1.0)?,
        e2e_ms: e2e,
        requests_per_s: mean_of_rate("requests_per_second")?,
        output_tokens_per_s: mean_of_rate("output_tokens_per_second")?,
        total_tokens_per_s: mean_of_rate("tokens_per_second")?,
        // A sample of the requests would tell another rate.
        samples: Some(samples(benchmark, room)?)
            .filter(|all| all.len() as u64 >= completed.unwrap_or(1))
            .unwrap_or_default(),
        ..Run::default()
    };
    run.sum_up();
    // The client weighs each request by its tokens.
    run.tpot_ms.fill(of("inter_token_latency_ms", 1.0)?);
    Ok(Some(run))
}

/// Reads the requests, which some settings leave out or sample.
fn samples(benchmark: &Value, room: &mut Room) -> Result<Vec<Sample>, Error> {
    let of = |status: &str| list(benchmark, &format!("/requests/{status}")).map(Option::unwrap_or_default);
    let (successful, errored) = (of("successful")?, of("errored")?);
    let requests =
        successful.iter().map(|request| (request, false)).chain(errored.iter().map(|request| (request, true)));
    room.collect(requests.map(|(request, has_failed)| sample(request, has_failed)))
}

fn sample(request: &Value, has_failed: bool) -> Result<Sample, Error> {
    Ok(Sample {
        has_failed,
        start_s: number(request, "/request_start_time")?,
        prompt_tokens: count(request, "/prompt_tokens")?,
        output_tokens: count(request, "/output_tokens")?,
        ttft_ms: number(request, "/time_to_first_token_ms")?,
        tpot_ms: number(request, "/inter_token_latency_ms")?,
        e2e_ms: number(request, "/request_latency")?.map(|seconds| seconds * 1e3),
        gaps_ms: Vec::new(),
    })
}
