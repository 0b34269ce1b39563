//! Simulates a server under a constant or random load.

use rooflut::sim::figures::Stats;
use rooflut::sim::load::Arrivals;
use rooflut::sim::{Outcome, Request, Simulator};

use super::{Named, Reason, ResolvedServer, cached};
use crate::rows::{Latencies, LoadStage};
use rooflut::engine::EngineStack;

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
pub fn load_stage(
    row: &LoadStage,
    engine: &EngineStack,
    longest_s: f64,
) -> Result<Latencies, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    let requests = requests(row, longest_s)?;
    let server = deployment.serve(&row.limits, engine)?;
    let report = Simulator::try_new(server.step_model(), server.server_config()?)?.run(&requests);
    // The requests differ only in their arrival.
    for record in &report.records {
        if let Outcome::Rejected(rejection) = record.outcome {
            return Err(Reason::Rejected(rejection));
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

fn requests(row: &LoadStage, longest_s: f64) -> Result<Vec<Request>, Reason> {
    let arrivals = match row.arrival.to_ascii_lowercase().as_str() {
        "constant" => Arrivals::try_constant(row.rate_rps)?,
        "poisson" => Arrivals::try_poisson(row.rate_rps, 0)?,
        _ => return Err(Reason::unknown(Named::Arrival, &row.arrival)),
    };
    let count = (row.rate_rps * row.duration_s.min(longest_s)).round();
    if count > MAX_REQUESTS {
        return Err(Reason::TooManyRequests);
    }
    if count * f64::from(row.output_tokens) > MAX_TOKENS {
        return Err(Reason::TooManyTokens);
    }
    let cached_prompt_tokens = cached::reused(row.cached_prompt_tokens, row.prompt_tokens)?;
    let request = |arrival_ns| {
        Request::new(row.prompt_tokens, row.output_tokens)
            .at_ns(arrival_ns)
            .with_cached_prompt_tokens(cached_prompt_tokens)
    };
    let requests: Vec<Request> = arrivals.take(count as usize).map(request).collect();
    match requests.is_empty() {
        true => Err(Reason::NoRequests),
        false => Ok(requests),
    }
}
