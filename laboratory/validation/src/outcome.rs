//! Predicts and compares each row.

use rayon::prelude::*;

use crate::case::{Case, Setting};
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::predict::{self, Predicted, ResolvedServer};
use crate::reason::Reason;
use crate::rows::Row;
use crate::tally::Remark;

/// The result of a row.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The case, if any metric could be predicted and compared.
    pub(crate) case: Option<Case>,
    /// Line of the row.
    pub(crate) line: u64,
    /// Reasons that metrics are left out.
    pub(crate) skipped: Vec<Remark>,
    /// Notes on names that were not taken literally.
    pub(crate) notes: Vec<String>,
}

/// Returns the outcome of each row, in the order of the rows.
pub(crate) fn outcomes(rows: &[Row], predictor: &Predictor<'_>) -> Vec<Outcome> {
    let runs = predict::runs(rows);
    let predicted = runs.par_iter().flat_map_iter(|run| predict::predict(run, predictor));
    let mut predicted: Vec<(usize, Predicted)> = predicted.collect();
    predicted.sort_unstable_by_key(|(place, _)| *place);
    let rows = rows.iter().zip(predicted);
    rows.map(|(row, (_, predicted))| outcome(row, predicted, predictor)).collect()
}

fn outcome(row: &Row, predicted: Predicted, predictor: &Predictor<'_>) -> Outcome {
    let found = predicted.and_then(|pairs| Ok((ResolvedServer::find(&row.server)?, pairs)));
    match found {
        Ok((server, pairs)) => compare(row, server, &pairs, predictor),
        Err(reason) => Outcome { line: row.label.line, skipped: vec![remark(row, reason)], ..Outcome::default() },
    }
}

/// Returns the reason as a remark that names the server if the reason depends on it.
fn remark(row: &Row, reason: Reason) -> Remark {
    match ResolvedServer::find(&row.server) {
        Ok(server) if reason.depends_on_server => Remark::new(format!("{server}: {reason}")),
        _ => reason.remark,
    }
}

fn compare(row: &Row, server: ResolvedServer, pairs: &[Pair], predictor: &Predictor<'_>) -> Outcome {
    let choice = predictor.engine(&row.server.engine);
    let mut comparisons = Vec::new();
    let mut skipped = Vec::new();
    for pair in pairs {
        match pair.compare() {
            Ok(comparison) => comparisons.extend(comparison),
            Err(reason) => skipped.push(remark(row, reason)),
        }
    }
    if comparisons.is_empty() && skipped.is_empty() {
        skipped.push(Remark::new("nothing was measured"));
    }
    let mut notes = server.notes;
    notes.extend(choice.note(&row.server.engine));
    let case = Case {
        label: row.label.clone(),
        model: server.model,
        gpu: server.set.name().to_owned(),
        tp: server.tp,
        engine: choice.engine.name,
        setting: Setting::of(&row.measurement),
        comparisons,
    };
    Outcome { line: row.label.line, case: (!case.comparisons.is_empty()).then_some(case), skipped, notes }
}
