//! All rows of a file, predicted and compared.

use std::collections::BTreeSet;

use crate::compare::{Comparison, Metric};
use crate::dataset::Dataset;
use crate::engine::Predictor;
use crate::kind::Kind;
use crate::outcome::{Outcome, outcomes};
use crate::rows::Label;
use crate::summary::{Summary, summarize};
use crate::tally::{Remark, Tallies, Tally};

/// A file, predicted and compared.
#[derive(Debug, Clone, PartialEq)]
pub struct FileReport {
    /// Its name.
    pub file: String,
    /// What its rows are.
    pub kind: Kind,
    /// How many rows it has.
    pub rows: usize,
    /// The rows that could be predicted, in the order of the file.
    pub cases: Vec<Case>,
    /// Errors by GPU and metric.
    pub summaries: Vec<MetricSummary>,
    /// Rows that are not among the cases, each once, by reason.
    pub skipped: Vec<Tally>,
    /// Rows that are among the cases without one of their metrics, by reason.
    pub partly: Vec<Tally>,
    /// What was read otherwise than it stands, such as an engine that is not known.
    pub notes: Vec<Tally>,
}

/// A row that could be predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Which row it is.
    pub label: Label,
    /// The model's name in the catalogue.
    pub model: &'static str,
    /// The name of the table set.
    pub gpu: String,
    /// Tensor parallelism.
    pub tp: u32,
    /// The engine that it was predicted with.
    pub engine: &'static str,
    /// What was asked of the server.
    pub setting: Setting,
    /// What was predicted and measured, at least one metric.
    pub comparisons: Vec<Comparison>,
}

/// What was asked of the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// A rate of requests.
    Load {
        /// Requests per second.
        rate_rps: f64,
        /// Mean number of requests in the server, rate times measured E2E; `None` where that was not
        /// measured.
        mean_batch: Option<f64>,
    },
    /// One request.
    Request {
        /// Tokens of its prompt.
        prompt_tokens: u32,
        /// Tokens of its output, where they matter.
        output_tokens: Option<u32>,
    },
    /// Requests that decode.
    Batch {
        /// How many.
        requests: u32,
    },
    /// To start.
    Start,
}

/// Errors of one metric on one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSummary {
    /// The name of the table set.
    pub gpu: String,
    /// What was predicted.
    pub metric: Metric,
    /// The errors.
    pub errors: Summary,
}

impl FileReport {
    /// The errors of `metric` over some of the cases; none where there is no comparison.
    pub fn errors<'c>(
        cases: impl IntoIterator<Item = &'c Case>,
        metric: Metric,
    ) -> Option<Summary> {
        let comparisons = cases.into_iter().flat_map(|case| &case.comparisons);
        let signed = comparisons.filter(|c| c.metric == metric);
        summarize(&signed.map(Comparison::signed).collect::<Vec<f64>>())
    }
}

impl Case {
    /// The comparison of `metric`, if there is one.
    pub fn comparison(&self, metric: Metric) -> Option<&Comparison> {
        self.comparisons.iter().find(|c| c.metric == metric)
    }
}

/// Predicts every row of `dataset` and compares with what was measured.
///
/// Rows that cannot be predicted are counted by their reason, which names those that differ in the name
/// of an unknown model or the like together. Simulations run in parallel; the
/// answer does not depend on how.
pub fn validate(dataset: &Dataset, predictor: &Predictor<'_>) -> FileReport {
    let outcomes = outcomes(&dataset.rows, predictor);
    let rows = outcomes.len();
    let mut skipped = Tallies::default();
    let mut partly = Tallies::default();
    let mut notes = Tallies::default();
    let mut cases = Vec::new();
    for Outcome {
        case,
        line,
        skipped: reasons,
        notes: of_row,
    } in outcomes
    {
        let Some(case) = case else {
            // Once, whatever the number of reasons.
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
        kind: dataset.rows.kind(),
        rows,
        summaries: summaries(&cases),
        cases,
        skipped: skipped.list(),
        partly: partly.list(),
        notes: notes.list(),
    }
}

fn summaries(cases: &[Case]) -> Vec<MetricSummary> {
    let keys: BTreeSet<(&str, Metric)> = cases
        .iter()
        .flat_map(|case| {
            case.comparisons
                .iter()
                .map(|c| (case.gpu.as_str(), c.metric))
        })
        .collect();
    let summary = |(gpu, metric): (&str, _)| {
        let on_gpu = cases.iter().filter(|case| case.gpu == gpu);
        let errors = FileReport::errors(on_gpu, metric)?;
        Some(MetricSummary {
            gpu: gpu.to_owned(),
            metric,
            errors,
        })
    };
    keys.into_iter().filter_map(summary).collect()
}
