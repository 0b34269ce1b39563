//! Tables of predictions, measurements and errors.

use std::collections::BTreeSet;

use rooflut_validation::{Case, Comparison, FileReport, Kind, Metric, Setting, Stage, Summary};

use super::groups::Group;
use crate::grid::Grid;
use crate::output::{number, signed};

/// The columns of a [`Summary`].
const ERRORS: [&str; 6] = ["n", "median", "mean", "p90", "max", "bias"];

/// Returns errors by file, GPU and metric.
pub(super) fn summaries(reports: &[FileReport]) -> Grid {
    let mut sheet = Grid::of(&["file", "GPU", "metric"], &ERRORS);
    for report in reports {
        for summary in &report.summaries {
            let mut cells = vec![
                report.file.clone(),
                summary.gpu.to_owned(),
                title(summary.metric).to_owned(),
            ];
            cells.extend(errors(&summary.errors));
            sheet.row(cells);
        }
    }
    sheet
}

/// Returns the errors of each metric of each group, one row per group; `names` are the columns of its key.
pub(super) fn across(report: &FileReport, names: &[&'static str], groups: &[Group<'_>]) -> Grid {
    let metrics = metrics(report);
    let columns = metrics.iter().flat_map(|metric| match metric {
        Metric::Ttft => ["TTFT median", "max", "bias"],
        Metric::Tpot => ["TPOT median", "max", "bias"],
        Metric::E2e => ["E2E median", "max", "bias"],
        _ => ["median", "max", "bias"],
    });
    let columns: Vec<&str> = ["n"].into_iter().chain(columns).collect();
    let mut sheet = Grid::of(names, &columns);
    for group in groups {
        let mut cells = group.key.clone();
        cells.push(group.cases.len().to_string());
        for metric in &metrics {
            let errors = FileReport::errors(group.cases.iter().copied(), *metric);
            cells.extend(match errors {
                Some(errors) => [
                    percent(errors.median_ape),
                    percent(errors.max_ape),
                    signed(errors.mean_signed),
                ],
                None => ["-", "-", "-"].map(str::to_owned),
            });
        }
        sheet.row(cells);
    }
    sheet
}

/// Returns the errors of each metric of each group, one row per metric.
pub(super) fn down(report: &FileReport, names: &[&'static str], groups: &[Group<'_>]) -> Grid {
    let words: Vec<&str> = names.iter().copied().chain(["metric"]).collect();
    let mut sheet = Grid::of(&words, &ERRORS);
    for group in groups {
        for metric in metrics(report) {
            let summary = FileReport::errors(group.cases.iter().copied(), metric);
            if let Some(summary) = summary {
                let mut cells = group.key.clone();
                cells.push(title(metric).to_owned());
                cells.extend(errors(&summary));
                sheet.row(cells);
            }
        }
    }
    sheet
}

/// Returns each row with prediction, measurement and error of each metric.
pub(super) fn cases(report: &FileReport) -> Grid {
    let metrics = metrics(report);
    let columns = metrics
        .iter()
        .flat_map(|metric| [title(*metric), "measured", "error"]);
    let numbers: Vec<&str> = settings(report.kind)
        .iter()
        .copied()
        .chain(columns)
        .collect();
    let mut sheet = Grid::of(&["id", "row", "model", "GPU", "tp"], &numbers);
    for case in &report.cases {
        let mut cells = vec![case.label.id.clone(), stage(&case.label.stage)];
        cells.extend([
            case.model.to_owned(),
            case.gpu.to_owned(),
            case.tp.to_string(),
        ]);
        cells.extend(setting(case.setting));
        for metric in &metrics {
            cells.extend(comparison(case.comparison(*metric)));
        }
        sheet.row(cells);
    }
    sheet
}

/// Returns the rows of each group with the largest errors, by metric.
pub(super) fn worst(report: &FileReport, groups: &[Group<'_>], most: usize) -> Grid {
    let names = ["predicted", "measured", "error"];
    let numbers: Vec<&str> = settings(report.kind).iter().copied().chain(names).collect();
    let mut sheet = Grid::of(&["id", "metric", "row"], &numbers);
    for group in groups {
        for metric in metrics(report) {
            let cases = group.cases.iter();
            let mut off: Vec<(&Case, &Comparison)> = cases
                .filter_map(|case| Some((*case, case.comparison(metric)?)))
                .collect();
            off.sort_by(|(_, a), (_, b)| b.ape().total_cmp(&a.ape()));
            for (case, compared) in off.into_iter().take(most) {
                let mut cells = vec![case.label.id.clone(), title(metric).to_owned()];
                cells.push(stage(&case.label.stage));
                cells.extend(setting(case.setting));
                cells.extend(comparison(Some(compared)));
                sheet.row(cells);
            }
        }
    }
    sheet
}

fn metrics(report: &FileReport) -> BTreeSet<Metric> {
    report
        .summaries
        .iter()
        .map(|summary| summary.metric)
        .collect()
}

/// Returns the name of the column of a metric; times are in milliseconds.
fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Ttft => "TTFT",
        Metric::Tpot => "TPOT",
        Metric::E2e => "E2E",
        Metric::Prefill => "prefill",
        Metric::Step => "step",
        Metric::KvBlocks => "KV blocks",
    }
}

/// Returns the columns of the requests to the server.
fn settings(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::LoadStages => &["rate"],
        Kind::Requests => &["prompt", "output"],
        Kind::SoloRequests => &["prompt"],
        Kind::DecodeSteps => &["batch"],
        Kind::KvBlocks => &[],
    }
}

fn setting(setting: Setting) -> Vec<String> {
    match setting {
        Setting::Load { rate_rps, .. } => vec![rate_rps.to_string()],
        Setting::Request {
            prompt_tokens,
            output_tokens,
        } => {
            let tokens = [Some(prompt_tokens), output_tokens];
            tokens
                .into_iter()
                .flatten()
                .map(|n| n.to_string())
                .collect()
        }
        Setting::Batch { requests } => vec![requests.to_string()],
        Setting::Start => Vec::new(),
    }
}

fn stage(stage: &Stage) -> String {
    match stage {
        Stage::Number(number) => number.to_string(),
        Stage::Name(name) => name.clone(),
    }
}

fn comparison(comparison: Option<&Comparison>) -> [String; 3] {
    let Some(comparison) = comparison else {
        return ["-", "-", "-"].map(str::to_owned);
    };
    let decimals = match comparison.metric {
        Metric::KvBlocks => 0,
        _ => 2,
    };
    [
        number(comparison.predicted, decimals),
        number(comparison.actual, decimals),
        signed(comparison.signed()),
    ]
}

fn errors(summary: &Summary) -> [String; 6] {
    [
        summary.n.to_string(),
        percent(summary.median_ape),
        percent(summary.mean_ape),
        percent(summary.p90_ape),
        percent(summary.max_ape),
        signed(summary.mean_signed),
    ]
}

fn percent(value: f64) -> String {
    number(value, 1)
}
