//! Reports as flat rows, for JSON.

use serde::{Serialize, Serializer};

use crate::report::FileReport;
use crate::rows::Stage;
use crate::summary::Summary;

/// A prediction beside its measurement; times in milliseconds, errors in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlatRow<'r> {
    /// Name of the file.
    pub file: &'r str,
    /// The run that the row belongs to.
    pub id: &'r str,
    /// Place of the row in the run.
    pub stage: &'r Stage,
    /// Name of the metric.
    pub metric: &'static str,
    /// The prediction.
    pub predicted: f64,
    /// The measurement.
    pub actual: f64,
    /// Absolute error.
    pub ape: f64,
    /// Error, positive if the prediction is too large.
    pub signed: f64,
    /// Name of the model.
    pub model: &'static str,
    /// Name of the table set.
    pub gpu: &'r str,
    /// Tensor parallelism.
    pub tp: u32,
    /// Name of the engine that the row was predicted with.
    pub engine: &'static str,
}

/// Errors of one metric on one GPU; percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlatSummary<'r> {
    /// Name of the file.
    pub file: &'r str,
    /// Name of the table set.
    pub gpu: &'r str,
    /// Name of the metric.
    pub metric: &'static str,
    /// Statistics of the errors.
    #[serde(flatten)]
    pub errors: &'r Summary,
}

impl FileReport {
    /// Returns every prediction beside its measurement, in the order of the file.
    pub fn flat_rows(&self) -> impl Iterator<Item = FlatRow<'_>> {
        self.cases.iter().flat_map(|case| {
            case.comparisons.iter().map(|comparison| FlatRow {
                file: &self.file,
                id: &case.label.id,
                stage: &case.label.stage,
                metric: comparison.metric.name(),
                predicted: comparison.predicted,
                actual: comparison.actual,
                ape: comparison.ape(),
                signed: comparison.signed(),
                model: case.model,
                gpu: &case.gpu,
                tp: case.tp,
                engine: case.engine,
            })
        })
    }

    /// Returns the errors by GPU and metric.
    pub fn flat_summaries(&self) -> impl Iterator<Item = FlatSummary<'_>> {
        self.summaries.iter().map(|summary| FlatSummary {
            file: &self.file,
            gpu: &summary.gpu,
            metric: summary.metric.name(),
            errors: &summary.errors,
        })
    }
}

impl Serialize for Stage {
    /// Writes a number or a text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Stage::Number(number) => number.serialize(serializer),
            Stage::Name(name) => name.serialize(serializer),
        }
    }
}
