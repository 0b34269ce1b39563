//! Simulates a server under a constant or random load.

use rooflut::Deployment;
use rooflut::engine::EngineStack;
use rooflut::interval::Interval;
use rooflut::sim::figures::Stats;
use rooflut::sim::load::Arrivals;
use rooflut::sim::{Outcome, Request, Simulator};
use rooflut::step::{AtEnd, End, LatencyModel};
use rooflut::units::Seconds;

use super::{Predicted, ResolvedServer, cached};
use crate::compare::Metric;
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{Latencies, LoadStage, Row};

/// Limit on simulated requests.
const MAX_REQUESTS: f64 = 1e7;
/// Limit on the output tokens of all requests together.
const MAX_TOKENS: f64 = 2e9;

/// Simulates a load stage from an empty server and compares the means over its requests, as timed at the client: the
/// time of the API server is included.
///
/// # Errors
/// An unknown name, a server that cannot run or that rejects the requests, no request, or too many.
pub(super) fn load_stage(
    row: &Row,
    stage: &LoadStage,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Predicted {
    let resolved = ResolvedServer::find(&row.server)?;
    let requests = requests(stage, predictor.longest_stage_s)?;
    let server = resolved.serve(&row.limits, engine)?;
    let model = server.step_model();
    let predicted = simulated(model, &server, &requests)?;
    let mut pairs = Pair::latencies(&predicted, &stage.measured);
    if let Some(coverage) = predictor.coverage {
        let at = |end| simulated(AtEnd::new(model, coverage, end), &server, &requests);
        let (low, high) = (at(End::Low)?, at(End::High)?);
        let tpot = engine.tpot_half_width(coverage);
        let ttft = engine.ttft_half_width(&resolved.spec.ffn, coverage);
        for pair in &mut pairs {
            let (of, half_width): (fn(&Latencies) -> Option<f64>, f64) = match pair.metric {
                Metric::Ttft => (|latencies| latencies.ttft_ms, ttft),
                Metric::Tpot => (|latencies| latencies.tpot_ms, tpot),
                _ => (|latencies| latencies.e2e_ms, tpot),
            };
            let ends = [&low, &predicted, &high].map(of);
            if let [Some(low), Some(predicted), Some(high)] = ends {
                let [low, predicted, high] = [low, predicted, high].map(Seconds);
                let interval = Interval { low, high }.widened(predicted, half_width);
                pair.interval = Some([interval.low.0, interval.high.0]);
            }
        }
    }
    Ok(pairs)
}

/// Returns the means over the requests on a server whose steps take the time of `model`.
fn simulated(
    model: impl LatencyModel,
    server: &Deployment,
    requests: &[Request],
) -> Result<Latencies, Reason> {
    let report = Simulator::try_new(model, server.server_config()?)?.run(requests);
    // The requests differ only in their arrival.
    for record in &report.records {
        if let Outcome::Rejected(rejection) = record.outcome {
            return Err(rejection.into());
        }
    }
    let summary = &report.summary;
    let mean_ms = |stats: Option<Stats>| stats.map(|stats| stats.mean.ms());
    Ok(Latencies {
        ttft_ms: mean_ms(summary.ttft),
        tpot_ms: mean_ms(summary.tpot),
        e2e_ms: mean_ms(summary.e2e),
    })
}

/// Returns the requests of a stage, which is cut if it is longer than `longest_s` seconds.
fn requests(stage: &LoadStage, longest_s: f64) -> Result<Vec<Request>, Reason> {
    let arrivals = match stage.arrival.to_ascii_lowercase().as_str() {
        "constant" => Arrivals::try_constant(stage.rate_rps)?,
        "poisson" => Arrivals::try_poisson(stage.rate_rps, 0)?,
        _ => {
            let known = "expected constant or poisson";
            return Err(Reason::unknown("arrival", &stage.arrival, known));
        }
    };
    let count = (stage.rate_rps * stage.duration_s.min(longest_s)).round();
    if count > MAX_REQUESTS {
        return Err(Reason::of_row(
            "more than 10 million requests arrive at this rate in this time",
        ));
    }
    if count * f64::from(stage.output_tokens) > MAX_TOKENS {
        return Err(Reason::of_row(
            "more than 2 billion output tokens are not simulated",
        ));
    }
    let cached_prompt_tokens = cached::reused(stage.cached_prompt_tokens, stage.prompt_tokens)?;
    let request = |arrival_ns| {
        Request::new(stage.prompt_tokens, stage.output_tokens)
            .at_ns(arrival_ns)
            .with_cached_prompt_tokens(cached_prompt_tokens)
    };
    let requests: Vec<Request> = arrivals.take(count as usize).map(request).collect();
    match requests.is_empty() {
        true => Err(Reason::of_row(
            "no request arrives at this rate in this time",
        )),
        false => Ok(requests),
    }
}
