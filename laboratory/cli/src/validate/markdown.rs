//! The Markdown output of `rooflut-lab validate`, which is `docs/accuracy.md`.

use std::collections::BTreeSet;

use rooflut_validation::{Case, Covered, FileReport, Kind, Tally};

use super::{Beside, COVERAGE, HEAD_TO_HEAD, SERVERS, WITHOUT, groups, tables};
use crate::grid::Grid;

/// The rows with the largest errors of a metric that are named.
const WORST: usize = 8;
/// The introduction on the measurements of the project.
const INTRODUCTION: &str = include_str!("introduction.md");
/// The calibration plot beside the document.
const PLOT: &str = "![Observed share of measurements within intervals, by nominal coverage](calibration.svg)";
/// The scatter plot beside the document.
const SCATTER: &str = "\
![Predicted over measured TPOT and TTFT of load stages and closed loops, by GPU](scatter.svg)

Load stages and closed loops: one point is the mean over the requests of a server under one load. On the line, the \
prediction is the measurement.";
/// The limits of these measurements.
const NOT_COVERED: &str = include_str!("not_covered.md");

/// Returns the document, with introduction and limits if the reports are on the measurements of the project.
pub(super) fn render(
    reports: &[FileReport],
    covered: &[Covered],
    nominal: &[f64],
    beside: &Beside,
    own: bool,
) -> String {
    let mut text = "# Accuracy\n".to_owned();
    if own {
        text += &format!("\n{INTRODUCTION}");
    }
    text += &section("What was measured", &measured(reports));
    text += &remarks(reports);
    text += &section(
        "Errors by metric\n\n\
         In percent of the measurement: absolute ones, and as bias the mean with its sign (above 0: \
         predicted too long).",
        &tables::summaries(reports),
    );
    if own {
        text += &format!("\n{SCATTER}\n");
    }
    text += &section(&format!("Coverage of intervals\n\n{COVERAGE}"), &tables::coverage(covered, nominal));
    if own {
        text += &format!("\n{PLOT}\n");
    }
    text += &section(&format!("Head to head\n\n{HEAD_TO_HEAD}"), &tables::head_to_head(&beside.rivals));
    text += &section(&format!("Left out\n\n{WITHOUT}"), &tables::without(&beside.left_out));
    for report in reports {
        text += &file(report);
    }
    if own {
        text += &format!("\n{NOT_COVERED}");
    }
    text
}

fn section(title: &str, sheet: &Grid) -> String {
    if sheet.is_empty() {
        return String::new();
    }
    format!("\n## {title}\n\n{}", sheet.markdown())
}

fn measured(reports: &[FileReport]) -> Grid {
    let words = ["file", "a row is", "GPUs", "models", "tp", "engines"];
    let mut sheet = Grid::of(&words, &["rows", "predicted"]);
    for report in reports {
        sheet.row(vec![
            report.file.clone(),
            a_row_is(report.kind).to_owned(),
            distinct(report, |case| case.gpu.clone()),
            distinct(report, |case| case.model),
            distinct(report, |case| case.tp),
            distinct(report, |case| case.engine),
            report.rows.to_string(),
            report.cases.len().to_string(),
        ]);
    }
    sheet
}

fn a_row_is(kind: Kind) -> &'static str {
    match kind {
        Kind::LoadStages => "a load stage of a server, simulated",
        Kind::Requests => "a request of a run, replayed",
        Kind::SoloRequests => "a request alone, by its steps",
        Kind::DecodeSteps => "a step",
        Kind::EngineSteps => "the median of equal steps",
        Kind::ClosedLoops => "a closed loop of users on a server, simulated",
        Kind::KvBlocks => "the KV cache of a server, planned",
        Kind::Memory => "the memory of a server, planned",
    }
}

fn distinct<T: Ord + ToString>(report: &FileReport, of: fn(&Case) -> T) -> String {
    let values: BTreeSet<T> = report.cases.iter().map(of).collect();
    let values: Vec<String> = values.iter().map(T::to_string).collect();
    values.join(", ")
}

/// Returns notes, and the rows that were left out.
fn remarks(reports: &[FileReport]) -> String {
    let mut sheet = Grid::of(&["file", "what"], &["rows"]);
    for report in reports {
        let mut rows = |tally: &Tally, what: String| {
            sheet.row(vec![report.file.clone(), what, tally.rows().to_string()]);
        };
        for note in &report.notes {
            rows(note, note.text.clone());
        }
        for skipped in &report.skipped {
            rows(skipped, format!("left out: {}", skipped.text));
        }
        for partly in &report.partly {
            rows(partly, format!("a metric left out: {}", partly.text));
        }
    }
    section("Read otherwise or left out", &sheet)
}

fn file(report: &FileReport) -> String {
    let name = &report.file;
    if report.cases.is_empty() {
        return String::new();
    }
    match report.kind {
        Kind::LoadStages => load_stages(report),
        Kind::Requests | Kind::SoloRequests | Kind::DecodeSteps => {
            let runs = groups::by_run(report);
            let sheet = tables::down(report, &["run", "model", "GPU", "tp"], &runs);
            section(&format!("{name}, by run"), &sheet)
        }
        Kind::ClosedLoops | Kind::EngineSteps => {
            let servers = groups::by_servers(report);
            let servers = tables::down(report, &["servers", "rows"], &servers);
            let runs = groups::by_run(report);
            section(&format!("{name}, by servers\n\nThe table gives {SERVERS}"), &servers)
                + &section(
                    &format!("{name}, by configuration"),
                    &tables::down(report, &["server", "model", "GPU", "tp"], &runs),
                )
                + &section(&format!("{name}, the worst rows"), &tables::worst(report, WORST))
        }
        Kind::KvBlocks => section(&format!("{name}, row by row"), &tables::cases(report)),
        Kind::Memory => section(
            &format!("{name}, row by row\n\nPredicted and measured in GiB on a GPU, errors in percent."),
            &tables::cases(report),
        ),
    }
}

fn load_stages(report: &FileReport) -> String {
    let name = &report.file;
    let by = |what: &str, names: &[&'static str], groups: &[groups::Group<'_>]| {
        section(&format!("{name}, by {what}"), &tables::across(report, names, groups))
    };
    let batch = "batch\n\nThe mean number of requests in the server: rate times measured E2E.";
    by("model", &["GPU", "model"], &groups::by_model(report))
        + &by("tensor parallelism", &["GPU", "tp"], &groups::by_tp(report))
        + &by(batch, &["GPU", "batch"], &groups::by_batch(report))
        + &section(
            &format!(
                "{name}, stage by stage\n\nPredicted and measured in ms, errors in percent, the rate \
                 in requests per second."
            ),
            &tables::cases(report),
        )
}
