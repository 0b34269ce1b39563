//! Results of `vllm bench serve --save-result`.

use rooflut_error::Error;

use crate::contents::Contents;
use crate::distribution::{Distribution, Names};
use crate::json::{contents, count, list, number, text, wrong};
use crate::lists;
use crate::requests::Room;
use crate::run::{Load, Run};
use crate::value::Value;

/// The beginnings of the keys of figures, as in `p99_ttft_ms`. The client has no minimum and maximum.
pub(crate) const NAMES: Names = ["mean", "median", "p90", "p95", "p99", "min", "max", "std"];

/// Reads one result, or several of `--append-result`.
pub(crate) fn read(results: impl Iterator<Item = Result<Value, Error>>, room: &mut Room) -> Result<Contents, Error> {
    let runs = results.map(|result| run(&mut result?, room)).collect::<Result<Vec<_>, _>>()?;
    Ok(Contents { runs, ..Contents::default() })
}

/// Reads the latency of this name, as in `mean_ttft_ms`.
pub(crate) fn latency(result: &Value, name: &str) -> Result<Distribution, Error> {
    Distribution::read(NAMES, 1.0, |figure| number(result, &format!("/{figure}_{name}_ms")))
}

/// Reads `request_rate`, which is a number, `"inf"` for requests at once, or another text.
pub(crate) fn request_rate(result: &Value) -> Result<Option<f64>, Error> {
    match result.get("request_rate") {
        Some(Value::Text(rate)) if rate.eq_ignore_ascii_case("inf") => Ok(None),
        Some(Value::Text(rate)) => rate
            .parse()
            .map(Some)
            .map_err(|_| wrong("/request_rate", "requests per second, or inf", &Value::Text(rate.clone()))),
        _ => number(result, "/request_rate"),
    }
}

/// Returns a run with the figures whose keys are those of SGLang's client, too.
pub(crate) fn shared(result: &Value) -> Result<Run, Error> {
    Ok(Run {
        duration_s: number(result, "/duration")?,
        ttft_ms: latency(result, "ttft")?,
        tpot_ms: latency(result, "tpot")?,
        itl_ms: latency(result, "itl")?,
        requests_per_s: number(result, "/request_throughput")?,
        output_tokens_per_s: number(result, "/output_throughput")?,
        ..Run::default()
    })
}

/// Returns the mean of a total over the completed requests.
pub(crate) fn mean(result: &Value, total: &str, completed: Option<u64>) -> Result<Distribution, Error> {
    let mean = number(result, total)?.zip(completed).map(|(total, completed)| total / completed as f64);
    Ok(Distribution { mean, ..Distribution::default() })
}

fn run(result: &mut Value, room: &mut Room) -> Result<Run, Error> {
    room.take_one::<Run>()?;
    let completed = count(result, "/completed")?;
    let sent = count(result, "/num_prompts")?;
    if completed == Some(0) {
        return Err(contents("all requests of this result failed; run the benchmark again"));
    }
    let samples = lists::samples(result, room)?;
    let result = &*result;
    let asked_per_s = request_rate(result)?.filter(|_| result.get("ramp_up_strategy").is_none_or(Value::is_null));
    let burstiness = number(result, "/burstiness")?;
    let has_starts = samples.iter().any(|sample| sample.start_s.is_some());
    let failed = count(result, "/failed")?;
    let mut run = Run {
        client: "vllm bench serve".to_owned(),
        model: text(result, "/model_id"),
        load: Load {
            completed,
            failed: failed.or_else(|| Some(sent?.saturating_sub(completed?))),
            asked_per_s,
            arrival: asked_per_s.map(|_| if burstiness.is_none_or(is_one) { "poisson" } else { "gamma" }.to_owned()),
            burstiness: burstiness.filter(|shape| !is_one(*shape) && asked_per_s.is_some()),
            users: count(result, "/max_concurrency")?,
            prompt_tokens: mean(result, "/total_input_tokens", completed)?,
            output_tokens: mean(result, "/total_output_tokens", completed)?,
            ..Load::default()
        },
        e2e_ms: latency(result, "e2el")?,
        total_tokens_per_s: number(result, "/total_token_throughput")?,
        samples,
        ..shared(result)?
    };
    // Replayed at the times of the requests, where they are in the file.
    run.trace = has_starts.then(String::new);
    run.sum_up();
    if run.samples.is_empty() {
        // Newer versions have these without details, too; that of a failed request is 0.
        let latencies_s = list(result, "/latencies")?.into_iter().flatten().filter_map(Value::as_f64);
        run.e2e_ms.fill(Distribution::of(latencies_s.filter(|latency_s| *latency_s > 0.0).map(|s| 1e3 * s).collect()));
    }
    Ok(run)
}

/// Whether arrivals of this burstiness are a Poisson process.
fn is_one(burstiness: f64) -> bool {
    burstiness.total_cmp(&1.0).is_eq()
}
