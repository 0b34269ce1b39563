//! The JSON output of `rooflut validate`.

use rooflut_validation::{FileReport, Stage, Summary, Tally};
use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::output::json;
use crate::tallied::{NoteJson, SkippedJson};

#[derive(Serialize)]
struct ReportJson<'r> {
    rows: Vec<RowJson<'r>>,
    summary: Vec<SummaryJson<'r>>,
    /// Rows that are left out.
    skipped: Vec<SkippedJson<'r>>,
    /// Rows of which a metric is left out.
    metrics_skipped: Vec<SkippedJson<'r>>,
    notes: Vec<NoteJson<'r>>,
}

/// Times in milliseconds, errors in percent.
#[derive(Serialize)]
struct RowJson<'r> {
    file: &'r str,
    id: &'r str,
    #[serde(serialize_with = "stage")]
    stage: &'r Stage,
    metric: &'static str,
    predicted: f64,
    actual: f64,
    ape: f64,
    signed: f64,
    model: &'static str,
    gpu: &'r str,
    tp: u32,
    engine: &'static str,
}

#[derive(Serialize)]
struct SummaryJson<'r> {
    file: &'r str,
    gpu: &'r str,
    metric: &'static str,
    #[serde(flatten)]
    errors: Summary,
}

/// Returns all reports as one object.
pub(super) fn render(reports: &[FileReport]) -> Result<String, Error> {
    json(&ReportJson {
        rows: reports.iter().flat_map(rows).collect(),
        summary: reports.iter().flat_map(summary).collect(),
        skipped: skipped(reports, |report| &report.skipped),
        metrics_skipped: skipped(reports, |report| &report.partly),
        notes: reports.iter().flat_map(notes).collect(),
    })
}

fn skipped(reports: &[FileReport], of: fn(&FileReport) -> &[Tally]) -> Vec<SkippedJson<'_>> {
    let of_file = |report| {
        let tallies: &[Tally] = of(report);
        tallies
            .iter()
            .map(|tally| SkippedJson::new(&report.file, tally))
    };
    reports.iter().flat_map(of_file).collect()
}

fn notes(report: &FileReport) -> impl Iterator<Item = NoteJson<'_>> {
    report.notes.iter().map(|note| NoteJson {
        file: &report.file,
        note: &note.text,
        rows: note.rows(),
    })
}

fn rows(report: &FileReport) -> impl Iterator<Item = RowJson<'_>> {
    report.cases.iter().flat_map(|case| {
        let comparisons = case.comparisons.iter();
        comparisons.map(|comparison| RowJson {
            file: &report.file,
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

fn summary(report: &FileReport) -> impl Iterator<Item = SummaryJson<'_>> {
    let summaries = report.summaries.iter();
    summaries.map(|summary| SummaryJson {
        file: &report.file,
        gpu: &summary.gpu,
        metric: summary.metric.name(),
        errors: summary.errors,
    })
}

fn stage<S: Serializer>(stage: &&Stage, serializer: S) -> Result<S::Ok, S::Error> {
    match stage {
        Stage::Number(number) => serializer.serialize_u64(*number),
        Stage::Name(name) => serializer.serialize_str(name),
    }
}
