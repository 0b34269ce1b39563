//! Rows that are predicted together.

use rooflut::engine::EngineStack;

use super::{closed_loop, memory, replay, stage, step};
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{Measurement, ReplayedRequest, Row};

/// The metrics of a row as predicted and as measured.
///
/// # Errors
/// The row cannot be predicted.
pub(crate) type Predicted = Result<Vec<Pair>, Reason>;

/// Groups rows, with their indices, that are predicted together: the requests of one experiment, server
/// and limits. Any other row is alone.
pub(crate) fn runs(rows: &[Row]) -> Vec<Vec<(usize, &Row)>> {
    let mut runs: Vec<Vec<(usize, &Row)>> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let is_request = matches!(row.measurement, Measurement::Request(_));
        let same = |run: &&mut Vec<(usize, &Row)>| {
            let first = run.first();
            first.is_some_and(|(_, first)| is_same_run(first, row))
        };
        match runs.iter_mut().find(|run| is_request && same(run)) {
            Some(run) => run.push((place, row)),
            None => runs.push(vec![(place, row)]),
        }
    }
    runs
}

fn is_same_run(a: &Row, b: &Row) -> bool {
    a.label.id == b.label.id && a.server == b.server && a.limits == b.limits
}

/// Predicts the rows of a run; returns them with their indices.
pub(crate) fn predict(run: &[(usize, &Row)], predictor: &Predictor<'_>) -> Vec<(usize, Predicted)> {
    let Some(&(place, row)) = run.first() else {
        return Vec::new();
    };
    let engine = predictor.engine(&row.server.engine).engine;
    let predicted = match &row.measurement {
        Measurement::Request(_) => return replayed(run, row, engine, predictor),
        Measurement::LoadStage(stage) => stage::load_stage(row, stage, engine, predictor),
        Measurement::SoloRequest(solo) => step::solo_request(row, solo, engine, predictor),
        Measurement::DecodeStep(step) => step::decode_step(row, step, engine, predictor),
        Measurement::EngineStep(step) => step::engine_step(row, step, engine, predictor),
        Measurement::ClosedLoop(run) => closed_loop::closed_loop(row, run, engine, predictor),
        Measurement::KvBlocks(measured) => memory::kv_blocks(row, *measured, engine),
        Measurement::Memory(measured) => memory::parts(row, measured, engine),
    };
    let rows = predicted.unwrap_or_else(|reason| vec![Err(reason)]);
    rows.into_iter().map(|row| (place, row)).collect()
}

/// Replays the requests of a run; `first` has their server.
fn replayed(
    run: &[(usize, &Row)],
    first: &Row,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Vec<(usize, Predicted)> {
    let mut requests: Vec<(usize, &ReplayedRequest)> = run
        .iter()
        .filter_map(|(place, row)| match &row.measurement {
            Measurement::Request(request) => Some((*place, request)),
            _ => None,
        })
        .collect();
    // Stable: requests that arrive together queue in the order of the file.
    requests.sort_by(|(_, a), (_, b)| a.arrival_ms.total_cmp(&b.arrival_ms));
    let in_order: Vec<&ReplayedRequest> = requests.iter().map(|(_, request)| *request).collect();
    let predicted = match replay::replay(first, &in_order, engine, predictor) {
        Ok(predicted) => predicted,
        Err(reason) => vec![Err(reason); requests.len()],
    };
    let places = requests.into_iter().map(|(place, _)| place);
    places.zip(predicted).collect()
}
