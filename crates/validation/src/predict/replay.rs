//! Replays a run request by request.

use rooflut::sim::{Outcome, Request, RequestRecord, Simulator};
use rooflut::units::Seconds;

use super::{Reason, ResolvedServer, cached};
use crate::rows::{Latencies, ReplayedRequest};
use rooflut::engine::EngineStack;

/// The requests of one run: they share experiment, server and limits.
#[derive(Debug, Clone)]
pub struct Replay<'r> {
    /// At least one row, with its index in the file, in order of arrival.
    pub rows: Vec<(usize, &'r ReplayedRequest)>,
}

/// Groups the rows of a file by run, in the order of the first row of each run.
pub fn replays(rows: &[ReplayedRequest]) -> Vec<Replay<'_>> {
    let mut runs: Vec<Replay<'_>> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let same = |run: &&mut Replay<'_>| {
            let first = run.rows.first();
            first.is_some_and(|(_, first)| is_same_run(first, row))
        };
        match runs.iter_mut().find(same) {
            Some(run) => run.rows.push((place, row)),
            None => runs.push(Replay {
                rows: vec![(place, row)],
            }),
        }
    }
    for run in &mut runs {
        // Stable: requests that arrive together queue in the order of the file.
        run.rows
            .sort_by(|(_, a), (_, b)| a.arrival_ms.total_cmp(&b.arrival_ms));
    }
    runs
}

fn is_same_run(a: &ReplayedRequest, b: &ReplayedRequest) -> bool {
    a.label.id == b.label.id && a.server == b.server && a.limits == b.limits
}

/// Simulates a run and returns the latencies of each of its rows, in their order, as timed inside the
/// server: without the time of the API server.
///
/// Every request but the first finds the shared prefix in the cache.
///
/// # Errors
/// An unknown name, or a server that cannot run. The inner result is an error for a request that the
/// server rejects or that is shorter than the shared prefix.
pub fn replay(
    run: &Replay<'_>,
    engine: &EngineStack,
) -> Result<Vec<Result<Latencies, Reason>>, Reason> {
    let Some((_, first)) = run.rows.first() else {
        return Ok(Vec::new());
    };
    let deployment = ResolvedServer::find(&first.server)?;
    let server = deployment.serve(&first.limits, engine)?;
    let mut config = server.server_config()?;
    config.api_server_ns = 0;
    let rows = run.rows.iter().enumerate();
    let requests: Vec<Request> = rows.map(|(place, (_, row))| request(row, place)).collect();
    let report = Simulator::try_new(server.step_model(), config)?.run(&requests);
    let records = report.records.iter().zip(&run.rows);
    Ok(records
        .map(|(record, (_, row))| {
            cached::reused(row.shared_prefix_tokens, row.prompt_tokens)?;
            latencies(record)
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
        return Err(Reason::Rejected(rejection));
    }
    Ok(Latencies {
        ttft_ms: record.ttft().map(Seconds::ms),
        tpot_ms: record.tpot().map(Seconds::ms),
        e2e_ms: record.e2e().map(Seconds::ms),
    })
}
