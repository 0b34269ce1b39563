//! Replays a run request by request.

use rooflut::Deployment;
use rooflut::engine::EngineStack;
use rooflut::sim::{Outcome, Request, RequestRecord, Simulator};
use rooflut::step::LatencyModel;
use rooflut::units::Seconds;

use super::interval::Wanted;
use super::{Predicted, ResolvedServer, cached};
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{Latencies, ReplayedRequest, Row};

/// Simulates a run and compares the latencies of each of its requests, as timed inside the server: without
/// the time of the API server. `first` is the row of any request; they share the server.
///
/// `requests` are in order of arrival. Every request but the first finds the shared prefix in the cache.
///
/// # Errors
/// An unknown name, or a server that cannot run. The inner result is an error for a request that the
/// server rejects or that is shorter than the shared prefix.
pub(super) fn replay(
    first: &Row,
    requests: &[&ReplayedRequest],
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Result<Vec<Predicted>, Reason> {
    let deployment = ResolvedServer::find(&first.server)?;
    let server = deployment.serve(&first.limits, engine)?;
    let wanted = Wanted::of(predictor, engine, &deployment);
    wanted.predict(&server.served_model(), |model| simulated(model, &server, requests))
}

fn simulated(
    model: &dyn LatencyModel,
    server: &Deployment,
    requests: &[&ReplayedRequest],
) -> Result<Vec<Predicted>, Reason> {
    let mut config = server.server_config()?;
    (config.api_server_ns, config.api_token_ns, config.api_output_ns) = (0, 0, 0);
    let rows = requests.iter().enumerate();
    let simulated: Vec<Request> = rows.map(|(place, row)| request(row, place)).collect();
    let report = Simulator::try_new(model, config)?.run(&simulated)?;
    let records = report.records.iter().zip(requests);
    Ok(records
        .map(|(record, row)| {
            cached::reused(row.shared_prefix_tokens, row.prompt_tokens)?;
            Ok(Pair::latencies(&latencies(record)?, &row.measured))
        })
        .collect())
}

/// Returns the request of a row; `place` is its index in the run, from 0.
fn request(row: &ReplayedRequest, place: usize) -> Request {
    Request::new(row.prompt_tokens, row.output_tokens)
        .at_ns(Seconds(row.arrival_ms / 1e3).to_nanos())
        .with_cached_prompt_tokens(if place == 0 {
            0
        } else {
            cached::at_most(row.shared_prefix_tokens, row.prompt_tokens)
        })
}

fn latencies(record: &RequestRecord) -> Result<Latencies, Reason> {
    if let Outcome::Rejected(rejection) = record.outcome {
        return Err(rejection.into());
    }
    Ok(Latencies {
        ttft_ms: record.ttft().map(Seconds::ms),
        tpot_ms: record.tpot().map(Seconds::ms),
        e2e_ms: record.e2e().map(Seconds::ms),
    })
}
