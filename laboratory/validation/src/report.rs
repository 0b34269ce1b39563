//! Predicts and compares all rows of a file.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::compare::{Comparison, Metric};
use crate::dataset::Dataset;
use crate::engine::Predictor;
use crate::kind::Kind;
use crate::outcome::{Outcome, outcomes};
use crate::summary::{Summary, summarize};
use crate::tally::{Remark, Tallies, Tally};

/// The result of validating a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileReport {
    /// Name of the file.
    pub file: String,
    /// Kind of the file.
    pub kind: Kind,
    /// Number of rows in the file.
    pub rows: usize,
    /// Rows that could be predicted, in the order of the file.
    pub cases: Vec<Case>,
    /// Errors by GPU and metric.
    pub summaries: Vec<MetricSummary>,
    /// Rows that are no cases, each counted once, by reason.
    pub skipped: Vec<Tally>,
    /// Cases that lack one of their metrics, by reason.
    pub partly: Vec<Tally>,
    /// Rows with a name that was not taken literally, such as an unknown engine, by note.
    pub notes: Vec<Tally>,
}

/// Errors of one metric on one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSummary {
    /// Name of the table set.
    pub gpu: String,
    /// The predicted metric.
    pub metric: Metric,
    /// Statistics of the errors.
    pub errors: Summary,
}

impl FileReport {
    /// Summarises the errors of `metric` over `cases`; `None` if no case has that metric.
    pub fn errors<'c>(cases: impl IntoIterator<Item = &'c Case>, metric: Metric) -> Option<Summary> {
        let comparisons = cases.into_iter().flat_map(|case| &case.comparisons);
        let signed = comparisons.filter(|c| c.metric == metric);
        summarize(&signed.map(Comparison::signed).collect::<Vec<f64>>())
    }
}

/// Predicts every row of `dataset` and compares it with the measurement.
///
/// Rows that cannot be predicted are counted by reason. Reasons that differ only in a name, such as the name of an
/// unknown model, are counted together. Simulations run in parallel; the result does not depend on the number of
/// threads.
pub fn validate(dataset: &Dataset, predictor: &Predictor<'_>) -> FileReport {
    let outcomes = outcomes(&dataset.rows, predictor);
    let rows = outcomes.len();
    let mut skipped = Tallies::default();
    let mut partly = Tallies::default();
    let mut notes = Tallies::default();
    let mut cases = Vec::new();
    for Outcome { case, line, skipped: reasons, notes: of_row } in outcomes {
        let Some(case) = case else {
            // A row is counted once, whatever the number of reasons.
            if let Some(reason) = Remark::joined(reasons) {
                skipped.count(line, reason);
            }
            continue;
        };
        cases.push(case);
        for reason in reasons {
            partly.count(line, reason);
        }
        for note in of_row {
            notes.count(line, Remark::new(note));
        }
    }
    FileReport {
        file: dataset.file.clone(),
        kind: dataset.kind,
        rows,
        summaries: summaries(&cases),
        cases,
        skipped: skipped.list(),
        partly: partly.list(),
        notes: notes.list(),
    }
}

fn summaries(cases: &[Case]) -> Vec<MetricSummary> {
    let keys: BTreeSet<(&str, Metric)> =
        cases.iter().flat_map(|case| case.comparisons.iter().map(|c| (case.gpu.as_str(), c.metric))).collect();
    let summary = |(gpu, metric): (&str, _)| {
        let on_gpu = cases.iter().filter(|case| case.gpu == gpu);
        let errors = FileReport::errors(on_gpu, metric)?;
        Some(MetricSummary { gpu: gpu.to_owned(), metric, errors })
    };
    keys.into_iter().filter_map(summary).collect()
}
