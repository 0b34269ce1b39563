//! The JSON output of `rooflut validate`.

use rooflut_validation::{FileReport, Stage, Tally};
use serde_json::{Value, json};

use super::Covered;
use crate::error::Error;
use crate::output::{joined, to_json};
use crate::tallied::{note_json, skipped_json};

/// Returns all reports as one object: times in milliseconds, errors in percent.
pub(super) fn render(
    reports: &[FileReport],
    covered: &[Covered],
    nominal: &[f64],
) -> Result<String, Error> {
    let notes = reports.iter().flat_map(|report| {
        let notes = report.notes.iter();
        notes.map(|note| note_json(&report.file, &note.text, note.rows()))
    });
    to_json(&json!({
        "rows": reports.iter().flat_map(rows).collect::<Value>(),
        "summary": reports.iter().flat_map(summary).collect::<Value>(),
        "coverage": covered.iter().flat_map(|of| coverage(of, nominal)).collect::<Value>(),
        // Rows that are left out, and rows of which a metric is.
        "skipped": skipped(reports, |report| &report.skipped),
        "metrics_skipped": skipped(reports, |report| &report.partly),
        "notes": notes.collect::<Value>(),
    }))
}

fn skipped(reports: &[FileReport], of: fn(&FileReport) -> &[Tally]) -> Value {
    let tallies = reports
        .iter()
        .flat_map(|report| of(report).iter().map(|tally| (&report.file, tally)));
    tallies
        .map(|(file, tally)| skipped_json(file, tally))
        .collect()
}

fn rows(report: &FileReport) -> impl Iterator<Item = Value> {
    let file = &report.file;
    report.cases.iter().flat_map(move |case| {
        let stage = match &case.label.stage {
            Stage::Number(number) => json!(number),
            Stage::Name(name) => json!(name),
        };
        case.comparisons.iter().map(move |comparison| {
            json!({
                "file": file,
                "id": case.label.id,
                "stage": stage,
                "metric": comparison.metric.name(),
                "predicted": comparison.predicted,
                "actual": comparison.actual,
                "ape": comparison.ape(),
                "signed": comparison.signed(),
                "model": case.model,
                "gpu": case.gpu,
                "tp": case.tp,
                "engine": case.engine,
            })
        })
    })
}

fn summary(report: &FileReport) -> impl Iterator<Item = Value> {
    report.summaries.iter().map(|summary| {
        let metric = summary.metric.name();
        joined([
            json!({"file": report.file, "gpu": summary.gpu, "metric": metric}),
            json!(summary.errors),
        ])
    })
}

fn coverage<'c>(of: &'c Covered, nominal: &'c [f64]) -> impl Iterator<Item = Value> + 'c {
    nominal.iter().zip(&of.percent).map(|(nominal, percent)| {
        json!({
            "file": of.file,
            "gpu": of.gpu,
            "metric": of.name,
            "n": of.n,
            "nominal": nominal,
            "covered": percent / 100.0,
        })
    })
}
