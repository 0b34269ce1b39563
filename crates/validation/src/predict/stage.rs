//! Simulates a server under a constant or random load.

use rooflut::engine::EngineStack;
use rooflut::sim::figures::Stats;
use rooflut::sim::load::Arrivals;
use rooflut::sim::{Outcome, Request, Simulator};

use super::{ResolvedServer, cached};
use crate::reason::Reason;
use crate::rows::{Latencies, LoadStage, Row};

/// Limit on simulated requests.
const MAX_REQUESTS: f64 = 1e7;
/// Limit on the output tokens of all requests together.
const MAX_TOKENS: f64 = 2e9;

/// Simulates a load stage from an empty server and returns the means over its requests, as timed at the
/// client: the time of the API server is included.
///
/// A stage longer than `longest_s` seconds is cut.
///
/// # Errors
/// An unknown name, a server that cannot run or that rejects the requests, no request, or too many.
pub(super) fn load_stage(
    row: &Row,
    stage: &LoadStage,
    engine: &EngineStack,
    longest_s: f64,
) -> Result<Latencies, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    let requests = requests(stage, longest_s)?;
    let server = deployment.serve(&row.limits, engine)?;
    let report = Simulator::try_new(server.step_model(), server.server_config()?)?.run(&requests);
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
