//! Reports of inference-perf, and its requests. Times are seconds.

use rooflut_error::Error;
use serde::Deserialize;

use crate::contents::Contents;
use crate::distribution::{Distribution, Names};
use crate::json::{contents, count, list, number, only};
use crate::requests::{Room, Sample};
use crate::run::{Load, Run};
use crate::value::Value;

const NAMES: Names = ["mean", "median", "p90", "p95", "p99", "min", "max", "sd"];

const CLIENT: &str = "inference-perf";

/// Reads the summary of all stages, or of one.
pub(crate) fn read(reports: impl Iterator<Item = Result<Value, Error>>) -> Result<Contents, Error> {
    let report = &only(reports)?;
    let of = |path: &str, unit| {
        Distribution::read(NAMES, unit, |figure| number(report, &format!("/successes/{path}/{figure}")))
    };
    let completed = count(report, "/successes/count")?;
    if completed == Some(0) {
        return Err(contents("all requests of this report failed; run the benchmark again"));
    }
    let throughput = |name: &str| number(report, &format!("/successes/throughput/{name}"));
    let users = count(report, "/load_summary/concurrency")?;
    let tokens = |names: [&str; 2]| {
        let [first, second] = names.map(|name| of(name, 1.0));
        Ok::<_, Error>(Some(first?).filter(|found| !found.is_empty()).unwrap_or(second?))
    };
    // Versions before 0.7 have the times of a request one level higher.
    let time = |name: &str| {
        let [nested, own] = [format!("latency/{name}"), name.to_owned()].map(|path| of(&path, 1e3));
        Ok::<_, Error>(Some(nested?).filter(|found| !found.is_empty()).unwrap_or(own?))
    };
    Ok(Contents::of_run(Run {
        client: CLIENT.to_owned(),
        load: Load {
            completed,
            failed: count(report, "/failures/count")?,
            asked_per_s: number(report, "/load_summary/requested_rate")?.filter(|_| users.is_none()),
            sent_per_s: number(report, "/load_summary/achieved_rate")?.filter(|_| users.is_none()),
            users,
            prompt_tokens: tokens(["prompt_tokens", "prompt_len"])?,
            output_tokens: tokens(["output_tokens", "output_len"])?,
            ..Load::default()
        },
        duration_s: number(report, "/benchmark_time_seconds")?.filter(|seconds| *seconds > 0.0),
        ttft_ms: time("time_to_first_token")?,
        tpot_ms: time("time_per_output_token")?,
        itl_ms: time("inter_token_latency")?,
        e2e_ms: time("request_latency")?,
        requests_per_s: throughput("requests_per_sec")?,
        output_tokens_per_s: throughput("output_tokens_per_sec")?,
        total_tokens_per_s: throughput("total_tokens_per_sec")?,
        ..Run::default()
    }))
}

/// The body of a request.
#[derive(Deserialize)]
struct Sent {
    model: Option<String>,
}

/// Reads the requests: a list, or an object each.
pub(crate) fn read_requests(
    values: impl Iterator<Item = Result<Value, Error>>,
    room: &mut Room,
) -> Result<Contents, Error> {
    let (mut samples, mut first) = (Vec::new(), None);
    for value in values {
        let value = value?;
        let requests = value.as_list().unwrap_or(std::slice::from_ref(&value));
        first = first.or_else(|| requests.first().map(model));
        samples.extend(room.collect(requests.iter().map(sample))?);
    }
    if samples.iter().all(|sample| sample.has_failed) {
        return Err(contents("expected completed requests, found none; run the benchmark again"));
    }
    let model = first.flatten();
    let mut run = Run { client: CLIENT.to_owned(), model, samples, trace: Some(String::new()), ..Run::default() };
    run.sum_up();
    Ok(Contents::of_run(run))
}

/// Returns the model that a request asked for.
fn model(request: &Value) -> Option<String> {
    let sent: Option<Sent> = serde_json::from_str(request.get("request")?.as_str()?).ok();
    sent?.model
}

fn sample(request: &Value) -> Result<Sample, Error> {
    let (start_s, end_s) = (number(request, "/start_time")?, number(request, "/end_time")?);
    // Versions differ in the places of counts and times.
    let tokens = |paths: [&str; 3]| {
        let found = paths.into_iter().find(|path| request.pointer(path).is_some_and(|value| !value.is_null()));
        found.map_or(Ok(None), |path| count(request, path))
    };
    let times = ["/info/response_metrics/output_token_times", "/info/output_token_times"];
    let mut arrivals = Vec::new();
    for path in times {
        for (index, _) in list(request, path)?.into_iter().flatten().enumerate() {
            arrivals.extend(number(request, &format!("{path}/{index}"))?);
        }
    }
    let since = |time: Option<f64>| Some((time? - start_s?) * 1e3);
    let computed = |name: &str| Ok::<_, Error>(number(request, &format!("/computed_metrics/{name}"))?.map(|s| s * 1e3));
    let output_tokens =
        tokens(["/info/response_metrics/output_tokens", "/info/output_tokens", "/computed_metrics/output_tokens"])?;
    // The tokens alone count: a request ends later than its last token.
    let span_s = arrivals.last().zip(arrivals.first()).map(|(last, first)| last - first);
    let after_first = output_tokens.filter(|tokens| *tokens > 1).map(|tokens| (tokens - 1) as f64);
    let tpot_ms = span_s.zip(after_first).map(|(span_s, tokens)| 1e3 * span_s / tokens);
    let gaps = arrivals.windows(2).filter_map(|pair| Some((pair.last()? - pair.first()?) * 1e3));
    Ok(Sample {
        has_failed: request.get("error").is_some_and(|error| !error.is_null()),
        prompt_tokens: tokens([
            "/info/request_metrics/text/input_tokens",
            "/info/input_tokens",
            "/computed_metrics/input_tokens",
        ])?,
        output_tokens,
        ttft_ms: computed("time_to_first_token")?.or(since(arrivals.first().copied())),
        tpot_ms: computed("time_per_output_token")?.or(tpot_ms),
        e2e_ms: since(end_s),
        gaps_ms: gaps.collect(),
        start_s,
    })
}
