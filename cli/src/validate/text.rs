//! The text output of `rooflut validate`.

use rooflut_validation::{FileReport, Kind};

use super::{groups, tables};
use crate::output::{count, plural, wrapped};
use crate::tallied;

/// Most rows with the largest errors that are printed of a run, by metric.
const WORST: usize = 3;

/// Returns summaries, then each file, with every row of every file if `all_rows`.
pub(super) fn render(reports: &[FileReport], all_rows: bool) -> String {
    let mut text = heading(reports);
    let remarks = remarks(reports);
    if !remarks.is_empty() {
        text += &format!("\n{remarks}");
    }
    text += "\nErrors in percent of the measurement; bias is the mean with its sign, above 0: predicted too long\n\n";
    text += &tables::summaries(reports).render(2);
    for report in reports.iter().filter(|report| !report.cases.is_empty()) {
        text += &file(report, all_rows);
    }
    text
}

fn heading(reports: &[FileReport]) -> String {
    let predicted: usize = reports.iter().map(|report| report.cases.len()).sum();
    let rows: usize = reports.iter().map(|report| report.rows).sum();
    let files = plural(reports.len() as u64, "file");
    format!(
        "{} of {} of {files} predicted and compared with what was measured\n",
        count(predicted as u64),
        plural(rows as u64, "row")
    )
}

/// Returns notes, and the rows that were left out.
fn remarks(reports: &[FileReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let file = &report.file;
        for note in &report.notes {
            let rows = plural(note.rows() as u64, "row");
            text += &wrapped("NOTE", &format!("{rows} of {file}: {}", note.text));
        }
        for skipped in tallied::reasons(Some(file), &report.skipped) {
            text += &wrapped("left out", &skipped);
        }
        for partly in tallied::reasons(Some(file), &report.partly) {
            text += &wrapped("left out", &format!("a metric of {partly}"));
        }
    }
    text
}

/// Returns the rows of a file. For kinds with hundreds of rows, returns errors by run and the largest ones,
/// unless `all_rows`.
fn file(report: &FileReport, all_rows: bool) -> String {
    let name = &report.file;
    let many = matches!(report.kind, Kind::Requests | Kind::DecodeSteps);
    if all_rows || !many {
        let unit = unit(report.kind);
        let rows = tables::cases(report).render(2);
        return format!("\n{name}: predicted, measured ({unit}), error in percent\n\n{rows}");
    }
    let runs = groups::by_run(report);
    let errors = tables::down(report, &["id", "model", "GPU", "tp"], &runs).render(2);
    let worst = tables::worst(report, &runs, WORST).render(2);
    format!(
        "\n{name}: errors by run, in percent\n\n{errors}\n{name}: the {WORST} rows of each run that \
         are furthest off (all: --rows)\n\n{worst}"
    )
}

fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::LoadStages => "ms; rate in requests per second",
        Kind::Requests | Kind::SoloRequests => "ms; lengths in tokens",
        Kind::DecodeSteps => "ms; batch in requests",
        Kind::KvBlocks => "blocks of 16 tokens",
    }
}
