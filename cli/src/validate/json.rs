//! The JSON output of `rooflut validate`.

use rooflut_validation::{FileReport, Tally};
use serde::Serialize;
use serde_json::{Value, json};

use super::Covered;
use crate::error::Error;
use crate::output::to_json;
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
        "rows": list(reports.iter().flat_map(FileReport::flat_rows)),
        "summary": list(reports.iter().flat_map(FileReport::flat_summaries)),
        "coverage": covered.iter().flat_map(|of| coverage(of, nominal)).collect::<Value>(),
        // Rows that are left out, and rows of which a metric is.
        "skipped": skipped(reports, |report| &report.skipped),
        "metrics_skipped": skipped(reports, |report| &report.partly),
        "notes": notes.collect::<Value>(),
    }))
}

fn list(entries: impl Iterator<Item = impl Serialize>) -> Value {
    entries.map(|entry| json!(entry)).collect()
}

fn skipped(reports: &[FileReport], of: fn(&FileReport) -> &[Tally]) -> Value {
    let tallies = reports
        .iter()
        .flat_map(|report| of(report).iter().map(|tally| (&report.file, tally)));
    tallies
        .map(|(file, tally)| skipped_json(file, tally))
        .collect()
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
