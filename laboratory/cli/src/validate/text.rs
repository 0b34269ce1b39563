//! The text output of `rooflut-lab validate`.

use rooflut_validation::{Covered, FileReport, Kind};

use super::{Beside, COVERAGE, HEAD_TO_HEAD, SERVERS, WITHOUT, groups, tables};
use crate::output::{count, paragraph, plural, width, wrapped};
use crate::tallied;

/// Most rows with the largest errors that are printed of a run, by metric.
const WORST: usize = 3;

/// Indent of tables.
const INDENT: usize = 2;

/// Returns summaries, then each file, with every row of every file if `all_rows`.
pub(super) fn render(
    reports: &[FileReport],
    covered: &[Covered],
    nominal: &[f64],
    beside: &Beside,
    all_rows: bool,
) -> String {
    let mut text = heading(reports);
    let remarks = remarks(reports);
    if !remarks.is_empty() {
        text += &format!("\n{remarks}");
    }
    let meaning = "Errors in percent of the measurement; bias is the mean with its sign, above 0: predicted too long";
    text += &format!("\n{}\n", paragraph(meaning));
    text += &tables::summaries(reports).render(INDENT);
    if !covered.is_empty() {
        text += &format!("\n{}\n", paragraph(COVERAGE));
        text += &tables::coverage(covered, nominal).render(INDENT);
    }
    if !beside.rivals.is_empty() {
        text += &format!("\n{}\n", paragraph(HEAD_TO_HEAD));
        text += &tables::head_to_head(&beside.rivals).render(INDENT);
        text += &format!("\n{}\n", paragraph(WITHOUT));
        text += &tables::without(&beside.left_out).render(INDENT);
    }
    for report in reports.iter().filter(|report| !report.cases.is_empty()) {
        text += &file(report, all_rows);
    }
    text
}

fn heading(reports: &[FileReport]) -> String {
    let predicted: usize = reports.iter().map(|report| report.cases.len()).sum();
    let rows: usize = reports.iter().map(|report| report.rows).sum();
    let files = plural(reports.len() as u64, "file");
    paragraph(&format!(
        "{} of {} of {files} predicted and compared with what was measured",
        count(predicted as u64),
        plural(rows as u64, "row")
    ))
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
    let many = matches!(report.kind, Kind::Requests | Kind::DecodeSteps | Kind::ClosedLoops | Kind::EngineSteps);
    let runs = groups::by_run(report);
    if all_rows || !many {
        let unit = unit(report.kind);
        let told = format!("{name}: predicted, measured ({unit}), error in percent");
        let wide = tables::cases(report);
        let rows = if wide.width() + INDENT <= width() {
            wide.render(INDENT)
        } else {
            tables::rows(report, &runs, usize::MAX).render(INDENT)
        };
        return format!("\n{}\n{rows}", paragraph(&told));
    }
    let by_servers = match report.kind {
        Kind::ClosedLoops | Kind::EngineSteps => format!(
            "\n{}\n{}",
            paragraph(&format!("{name}: {SERVERS}")),
            tables::down(report, &["servers", "rows"], &groups::by_servers(report)).render(INDENT)
        ),
        _ => String::new(),
    };
    let errors = tables::errors_by_run(report, &runs).render(INDENT);
    let worst = tables::rows(report, &runs, WORST).render(INDENT);
    let told = format!("{name}: the {WORST} rows of each run that are furthest off (all: --rows)");
    format!(
        "{by_servers}\n{}\n{errors}\n{}\n{worst}",
        paragraph(&format!("{name}: errors by run, in percent")),
        paragraph(&told)
    )
}

fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::LoadStages => "ms; rate in requests per second",
        Kind::Requests | Kind::SoloRequests => "ms; lengths in tokens",
        Kind::DecodeSteps | Kind::EngineSteps => "ms; batch in requests",
        Kind::ClosedLoops => "ms; lengths in tokens, at most",
        Kind::KvBlocks => "blocks of 16 tokens",
        Kind::Memory => "GiB on a GPU",
    }
}
