//! Reports as flat rows, for JSON.

use serde::{Serialize, Serializer};

use crate::covered::Covered;
use crate::report::FileReport;
use crate::rivals::HeadToHead;
use crate::rows::Stage;
use crate::summary::Summary;
use crate::tally::Tally;
use crate::without::Without;

/// Reports of files: what `rooflut-lab validate --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlatReport<'r> {
    /// Predictions beside measurements.
    pub rows: Vec<FlatRow<'r>>,
    /// Errors by file, GPU and metric.
    pub summary: Vec<FlatSummary<'r>>,
    /// Coverage of the intervals of predictions.
    pub coverage: Vec<FlatCoverage<'r>>,
    /// Errors of rooflut and of other tools on the same points; empty for other files than the project's.
    pub head_to_head: &'r [HeadToHead],
    /// Errors of closed loops by constants that a model or a GPU took no part in; empty for other files.
    pub left_out: &'r [Without],
    /// Rows that are left out.
    pub skipped: Vec<FlatSkipped<'r>>,
    /// Rows with a metric missing from the comparison.
    pub metrics_skipped: Vec<FlatSkipped<'r>>,
    /// Remarks on rows that were read.
    pub notes: Vec<FlatNote<'r>>,
}

/// The share of measurements within the intervals of a nominal coverage.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlatCoverage<'r> {
    /// Name of the file; `tables` for kernels.
    pub file: &'r str,
    /// Name of the table set.
    pub gpu: &'r str,
    /// Name of the metric or the operation.
    pub metric: &'static str,
    /// Number of measurements.
    pub n: usize,
    /// The share that is meant to be within the intervals.
    pub nominal: f64,
    /// The share that is.
    pub covered: f64,
}

/// Rows that are left out for one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlatSkipped<'r> {
    /// Name of the file.
    pub file: &'r str,
    /// The reason.
    pub reason: &'r str,
    /// Number of rows.
    pub rows: usize,
    /// Their lines.
    pub lines: &'r [u64],
}

/// A remark on rows that were read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlatNote<'r> {
    /// Name of the file.
    pub file: &'r str,
    /// The remark.
    pub note: &'r str,
    /// Number of rows.
    pub rows: usize,
}

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

impl<'r> FlatReport<'r> {
    /// Returns reports as one, with coverages by the `nominal` ones they were made for.
    pub fn new(
        reports: &'r [FileReport],
        covered: &'r [Covered],
        nominal: &[f64],
        head_to_head: &'r [HeadToHead],
        left_out: &'r [Without],
    ) -> Self {
        let skipped = |of: fn(&FileReport) -> &[Tally]| {
            let tallies = reports.iter().flat_map(|report| {
                let tallies = of(report).iter();
                tallies.map(|tally| FlatSkipped::new(&report.file, tally))
            });
            tallies.collect()
        };
        let notes = reports.iter().flat_map(|report| {
            let notes = report.notes.iter();
            notes.map(|note| FlatNote::new(&report.file, &note.text, note.rows()))
        });
        let summaries = reports.iter().flat_map(FileReport::flat_summaries);
        FlatReport {
            rows: reports.iter().flat_map(FileReport::flat_rows).collect(),
            summary: summaries.collect(),
            coverage: covered.iter().flat_map(|of| of.flat(nominal)).collect(),
            head_to_head,
            left_out,
            skipped: skipped(|report| &report.skipped),
            metrics_skipped: skipped(|report| &report.partly),
            notes: notes.collect(),
        }
    }
}

impl<'r> FlatSkipped<'r> {
    /// Returns the rows of a tally.
    pub fn new(file: &'r str, tally: &'r Tally) -> Self {
        FlatSkipped { file, reason: &tally.text, rows: tally.rows(), lines: &tally.lines }
    }
}

impl<'r> FlatNote<'r> {
    /// Returns a remark on this many rows.
    pub fn new(file: &'r str, note: &'r str, rows: usize) -> Self {
        FlatNote { file, note, rows }
    }
}

impl Covered {
    fn flat(&self, nominal: &[f64]) -> impl Iterator<Item = FlatCoverage<'_>> {
        let shares = nominal.iter().zip(&self.percent);
        shares.map(|(nominal, percent)| FlatCoverage {
            file: &self.file,
            gpu: &self.gpu,
            metric: self.name,
            n: self.n,
            nominal: *nominal,
            covered: percent / 100.0,
        })
    }
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
