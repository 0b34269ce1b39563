//! Reports of AIPerf and GenAI-Perf, and AIPerf's requests.
//!
//! The `inter_token_latency` of both is a mean for each request, the project's TPOT; the gaps are AIPerf's
//! `inter_chunk_latency`.

use rooflut_error::Error;
use rooflut_traces::Measurement;

use crate::contents::Contents;
use crate::distribution::{Distribution, Names};
use crate::json::{contents, count, find, list, number, only, text};
use crate::requests::{Room, Sample};
use crate::run::{Load, Run};
use crate::value::Value;

const NAMES: Names = ["avg", "p50", "p90", "p95", "p99", "min", "max", "std"];

const CLIENT: &str = "AIPerf";

/// Reads a report.
pub(crate) fn read(kind: Measurement, reports: impl Iterator<Item = Result<Value, Error>>) -> Result<Contents, Error> {
    let report = &only(reports)?;
    // Some versions have the figures of all metrics under one key.
    let report_of = report.get("records").filter(|records| records.is_object()).unwrap_or(report);
    let figure = |name: &str, factor: fn(&str) -> Option<f64>| {
        let unit = match report_of.get(name) {
            Some(metric) => unit(name, metric, factor)?,
            None => return Ok(Distribution::default()),
        };
        Distribution::read(NAMES, unit, |figure| number(report_of, &format!("/{name}/{figure}")))
    };
    let mean = |name: &str| number(report_of, &format!("/{name}/avg"));
    let completed = count(report_of, "/request_count/avg")?;
    let settings = report.get("input_config").unwrap_or(&Value::Null);
    let asked = load_asked(settings);
    let asked_per_s = positive(asked, "request_rate").or_else(|| positive(asked, "rate"));
    let arrival = find(asked, "arrival_pattern").or_else(|| find(asked, "request_rate_mode"));
    let arrival = arrival.or_else(|| asked.get("type")).and_then(Value::as_str).map(str::to_ascii_lowercase);
    let arrival = arrival.filter(|arrival| ["poisson", "constant", "gamma"].contains(&arrival.as_str()));
    Ok(Contents::of_run(Run {
        client: if kind == Measurement::AiPerf { CLIENT } else { "GenAI-Perf" }.to_owned(),
        client_version: text(report, "/aiperf_version"),
        model: model(settings),
        url: url(settings),
        load: Load {
            completed,
            // AIPerf leaves it out where it is 0; GenAI-Perf does not count failures.
            failed: count(report_of, "/error_request_count/avg")?.or((kind == Measurement::AiPerf).then_some(0)),
            asked_per_s,
            burstiness: asked_per_s.and_then(|_| positive(asked, "smoothness")),
            arrival: asked_per_s.and(arrival),
            users: positive(asked, "concurrency").map(|users| users as u64),
            concurrency: mean("effective_concurrency")?,
            prompt_tokens: figure("input_sequence_length", |_| Some(1.0))?,
            output_tokens: figure("output_sequence_length", |_| Some(1.0))?,
            ..Load::default()
        },
        duration_s: duration_s(report_of)?,
        ttft_ms: figure("time_to_first_token", ms)?,
        tpot_ms: figure("inter_token_latency", ms)?,
        itl_ms: figure("inter_chunk_latency", ms)?,
        e2e_ms: figure("request_latency", ms)?,
        requests_per_s: mean("request_throughput")?,
        output_tokens_per_s: mean("output_token_throughput")?,
        total_tokens_per_s: mean("total_token_throughput")?,
        ..Run::default()
    }))
}

/// Reads the lines of requests. Those of a warm-up are left out.
pub(crate) fn read_requests(
    lines: impl Iterator<Item = Result<Value, Error>>,
    room: &mut Room,
) -> Result<Contents, Error> {
    let is_warm_up = |line: &Value| text(line, "/metadata/benchmark_phase").as_deref() == Some("warmup");
    let samples = lines.filter(|line| !line.as_ref().is_ok_and(is_warm_up)).map(|line| sample(&line?));
    let samples = room.collect(samples)?;
    if samples.iter().all(|sample| sample.has_failed) {
        return Err(contents("expected completed requests, found none; run the benchmark again"));
    }
    let mut run = Run { client: CLIENT.to_owned(), samples, ..Run::default() };
    run.sum_up();
    Ok(Contents::of_run(run))
}

fn sample(line: &Value) -> Result<Sample, Error> {
    let figure = |name: &str| {
        let Some(metric) = line.pointer(&format!("/metrics/{name}")) else {
            return Ok(None);
        };
        Ok::<_, Error>(number(metric, "/value")?.zip(Some(unit(name, metric, ms)?)).map(|(value, unit)| value * unit))
    };
    let start_ns = number(line, "/metadata/request_start_ns")?;
    let tokens = |name: &str| count(line, &format!("/metrics/{name}/value"));
    let gaps = list(line, "/metrics/inter_chunk_latency/value")?;
    let gap_unit = line.pointer("/metrics/inter_chunk_latency").map(|metric| unit("inter_chunk_latency", metric, ms));
    let gap_unit = gap_unit.transpose()?.unwrap_or(1.0);
    let gaps = gaps.into_iter().flatten().filter_map(Value::as_f64).map(|gap| gap * gap_unit);
    Ok(Sample {
        has_failed: line.get("error").is_some_and(|error| !error.is_null()),
        start_s: start_ns.map(|ns| ns / 1e9),
        prompt_tokens: tokens("input_sequence_length")?,
        output_tokens: tokens("output_sequence_length")?,
        ttft_ms: figure("time_to_first_token")?,
        tpot_ms: figure("inter_token_latency")?,
        e2e_ms: figure("request_latency")?,
        gaps_ms: gaps.collect(),
    })
}

/// Returns the factor from the unit of a metric.
fn unit(name: &str, metric: &Value, factor: fn(&str) -> Option<f64>) -> Result<f64, Error> {
    let unit = metric.get("unit").and_then(Value::as_str).unwrap_or("none");
    factor(unit).ok_or_else(|| {
        contents(format!("{name}: expected a unit of time, found {unit:?}; check which version wrote the file"))
    })
}

/// Milliseconds of a unit of time.
fn ms(unit: &str) -> Option<f64> {
    match unit.to_ascii_lowercase().as_str() {
        "ms" | "milliseconds" => Some(1.0),
        "s" | "sec" | "seconds" => Some(1e3),
        "us" | "microseconds" => Some(1e-3),
        "ns" | "nanoseconds" => Some(1e-6),
        _ => None,
    }
}

fn duration_s(report: &Value) -> Result<Option<f64>, Error> {
    let Some(duration) = report.get("benchmark_duration") else {
        return Ok(None);
    };
    let unit = unit("benchmark_duration", duration, ms)?;
    Ok(number(duration, "/avg")?.map(|duration| duration * unit / 1e3))
}

/// Returns the settings of the load: in AIPerf of the phase that is measured, in GenAI-Perf beside those of sweeps. Older
/// versions of AIPerf have no phases.
fn load_asked(settings: &Value) -> &Value {
    let mut phases = settings.get("phases").and_then(Value::as_list).into_iter().flatten();
    let measured = phases.find(|phase| phase.get("kind").and_then(Value::as_str) == Some("profiling"));
    measured.or_else(|| settings.pointer("/perf_analyzer/stimulus")).unwrap_or(settings)
}

/// Returns a positive number of the settings, wherever this version has it.
fn positive(settings: &Value, key: &str) -> Option<f64> {
    let found = find(settings, key)?;
    let number = found.as_f64().or_else(|| found.as_list()?.first()?.as_f64());
    number.filter(|number| *number > 0.0)
}

fn model(settings: &Value) -> Option<String> {
    let names = find(settings, "model_names").or_else(|| find(settings, "models")).or_else(|| find(settings, "model"));
    first_text(names?)
}

fn url(settings: &Value) -> Option<String> {
    find(settings, "urls").or_else(|| find(settings, "url")).and_then(first_text)
}

/// Returns a text, the first one of a list, or the name of an object.
fn first_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        Value::List(values) => first_text(values.first()?),
        value => ["name", "items"].iter().find_map(|key| first_text(value.get(key)?)),
    }
}
