//! Tables of predictions, measurements and errors.

use std::collections::BTreeSet;

use rooflut_validation::{
    Case, Comparison, Covered, FileReport, HeadToHead, Kind, Metric, Setting, Stage, Summary, Without,
};

use super::groups::Group;
use crate::grid::{Grid, PARTS};
use crate::output::{self, fold_after, number, signed};

/// The columns of a [`Summary`].
const ERRORS: [&str; 6] = ["n", "median", "mean", "p90", "max", "bias"];

/// Returns errors by file, GPU and metric.
pub(super) fn summaries(reports: &[FileReport]) -> Grid {
    let mut sheet = Grid::of(&["file", "GPU", "metric"], &ERRORS);
    for report in reports {
        for summary in &report.summaries {
            let mut cells = vec![report.file.clone(), summary.gpu.to_owned(), title(summary.metric).to_owned()];
            cells.extend(errors(&summary.errors));
            sheet.row(cells);
        }
    }
    sheet
}

/// Returns the errors of rooflut and of other tools on the same points, mean and median.
pub(super) fn head_to_head(groups: &[HeadToHead]) -> Grid {
    let tools = ["rooflut", "AISimulate", "AIConfigurator"];
    let columns: Vec<String> =
        ["TPOT", "TTFT"].iter().flat_map(|metric| tools.map(|tool| format!("{metric} {tool}"))).collect();
    let numbers: Vec<&str> = ["n"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let mut sheet = Grid::of(&["servers"], &numbers);
    for group in groups {
        let servers = if group.servers.is_empty() { "all".to_owned() } else { group.servers.join(" ") };
        let [tpot, _] = &group.rooflut;
        let tools = [&group.rooflut, &group.aisimulate, &group.aiconfigurator];
        let mut cells = vec![servers, tpot.n.to_string()];
        cells.extend(tools.map(|[tpot, _]| mean_and_median(tpot)));
        cells.extend(tools.map(|[_, ttft]| mean_and_median(ttft)));
        sheet.row(cells);
    }
    sheet
}

/// Returns the errors of closed loops without a model or a GPU.
pub(super) fn without(groups: &[Without]) -> Grid {
    let mut sheet = Grid::of(&["left out", "metric"], &["n", "constants", "fitted to all", "fitted to the others"]);
    for Without { left_out, metric, n, constants, all, others, .. } in groups {
        let mut cells = vec![left_out.clone(), metric.to_uppercase(), n.to_string()];
        cells.extend(
            [constants, all, others].map(|[mean, median]| format!("{} / {}", percent(*mean), percent(*median))),
        );
        sheet.row(cells);
    }
    sheet
}

fn mean_and_median(errors: &Summary) -> String {
    format!("{} / {}", percent(errors.mean_ape), percent(errors.median_ape))
}

/// Returns the coverage of intervals by file, GPU and metric.
pub(super) fn coverage(covered: &[Covered], nominal: &[f64]) -> Grid {
    let nominal = nominal.iter().map(|share| format!("{:.0} %", 100.0 * share));
    let nominal: Vec<String> = nominal.collect();
    let numbers: Vec<&str> = ["n"].into_iter().chain(nominal.iter().map(String::as_str)).collect();
    let mut sheet = Grid::of(&["file", "GPU", "metric"], &numbers);
    for of in covered {
        let mut cells = vec![of.file.clone(), of.gpu.clone(), covered_title(of).to_owned()];
        cells.push(of.n.to_string());
        cells.extend(of.percent.iter().map(|percent| number(*percent, 0)));
        sheet.row(cells);
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
                Some(errors) => [percent(errors.median_ape), percent(errors.max_ape), signed(errors.mean_signed)],
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
    let columns = metrics.iter().flat_map(|metric| [title(*metric), "measured", "error"]);
    let numbers: Vec<&str> = settings(report.kind).iter().copied().chain(columns).collect();
    let mut sheet = Grid::of(&["id", "row", "model", "GPU", "tp"], &numbers);
    for case in &report.cases {
        let mut cells = vec![case.label.id.clone(), stage(&case.label.stage)];
        cells.extend([case.model.to_owned(), case.gpu.to_owned(), case.tp.to_string()]);
        cells.extend(setting(case.setting));
        for metric in &metrics {
            cells.extend(comparison(case.comparison(*metric)));
        }
        sheet.row(cells);
    }
    sheet
}

/// Returns the errors of each metric of each run, with all that names the run in one column.
pub(super) fn errors_by_run(report: &FileReport, runs: &[Group<'_>]) -> Grid {
    let rows = |run: &Group<'_>| {
        let metrics = metrics(report).into_iter();
        let summaries = metrics.filter_map(|metric| {
            let summary = FileReport::errors(run.cases.iter().copied(), metric)?;
            Some([vec![title(metric).to_owned()], errors(&summary).to_vec()].concat())
        });
        summaries.collect()
    };
    by_run(&["metric"], &ERRORS, runs, rows)
}

/// Returns the comparisons of `metric` in the order of `cases`; of more than `most` those with the largest errors, the
/// largest first.
fn largest<'r>(cases: impl Iterator<Item = &'r Case>, metric: Metric, most: usize) -> Vec<(&'r Case, &'r Comparison)> {
    let mut compared: Vec<_> = cases.filter_map(|case| Some((case, case.comparison(metric)?))).collect();
    if compared.len() > most {
        compared.sort_by(|(_, a), (_, b)| b.ape().total_cmp(&a.ape()));
        compared.truncate(most);
    }
    compared
}

/// Returns the `max_rows` rows with the largest errors of each metric.
pub(super) fn worst(report: &FileReport, max_rows: usize) -> Grid {
    let columns = ["predicted", "measured", "error"];
    let numbers: Vec<&str> = ["line"].iter().chain(settings(report.kind)).copied().chain(columns).collect();
    let mut sheet = Grid::of(&["metric", "server", "model", "GPU", "tp"], &numbers);
    for metric in metrics(report) {
        for (case, compared) in largest(report.cases.iter(), metric, max_rows) {
            let mut cells = vec![title(metric).to_owned(), case.label.id.clone(), case.model.to_owned()];
            cells.extend([case.gpu.clone(), case.tp.to_string(), case.label.line.to_string()]);
            cells.extend(setting(case.setting));
            cells.extend(comparison(Some(compared)));
            sheet.row(cells);
        }
    }
    sheet
}

/// Returns the rows of each run, by metric; of more than `most` those with the largest errors.
pub(super) fn rows(report: &FileReport, runs: &[Group<'_>], most: usize) -> Grid {
    let names = ["predicted", "measured", "error"];
    let numbers: Vec<&str> = settings(report.kind).iter().copied().chain(names).collect();
    let rows = |run: &Group<'_>| {
        let mut rows = Vec::new();
        for metric in metrics(report) {
            for (case, compared) in largest(run.cases.iter().copied(), metric, most) {
                let mut cells = vec![title(metric).to_owned(), stage(&case.label.stage)];
                cells.extend(setting(case.setting));
                cells.extend(comparison(Some(compared)));
                rows.push(cells);
            }
        }
        rows
    };
    by_run(&["metric", "row"], &numbers, runs, rows)
}

/// Least width of the column that names a run.
const MIN_RUN: usize = 16;

/// Returns the rows of each run under its name, model, GPU and tensor parallelism, which continue on the next rows
/// where the terminal is narrow.
fn by_run(words: &[&str], numbers: &[&str], runs: &[Group<'_>], rows: impl Fn(&Group<'_>) -> Vec<Vec<String>>) -> Grid {
    let words = [&["run"], words].concat();
    let sheet = |room: usize| {
        let mut sheet = Grid::of(&words, numbers);
        for run in runs {
            let rows = rows(run);
            let [id, model, gpu, tp] = run.key.as_slice() else {
                continue;
            };
            let name = format!("{id} ({model}, {gpu}, tp {tp})");
            let name = match room {
                0 => Vec::new(),
                room => fold_after(&name, room, PARTS),
            };
            let blank = vec![String::new(); words.len() + numbers.len() - 1];
            for index in 0..rows.len().max(name.len()) {
                let name = name.get(index).cloned().unwrap_or_default();
                let cells = rows.get(index).unwrap_or(&blank).clone();
                sheet.row([vec![name], cells].concat());
            }
        }
        sheet
    };
    let room = output::width().saturating_sub(sheet(0).width());
    sheet(room.max(MIN_RUN))
}

fn metrics(report: &FileReport) -> BTreeSet<Metric> {
    report.summaries.iter().map(|summary| summary.metric).filter(|metric| *metric != Metric::WarmTtft).collect()
}

/// Returns the name of the column of a metric; times are in milliseconds.
fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Ttft => "TTFT",
        Metric::WarmTtft => "TTFT, warm",
        Metric::Tpot => "TPOT",
        Metric::E2e => "E2E",
        Metric::Prefill => "prefill",
        Metric::Step => "step",
        Metric::KvBlocks => "KV blocks",
        Metric::Weights => "weights",
        Metric::Activations => "activations",
        Metric::NonTorch => "non-torch",
        Metric::KvMemory => "KV memory",
    }
}

/// Returns the name of a metric or an operation in a table.
pub(super) fn covered_title(covered: &Covered) -> &'static str {
    covered.metric.map_or(covered.name, title)
}

/// Returns the columns of the requests to the server.
fn settings(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::LoadStages => &["rate"],
        Kind::Requests => &["prompt", "output"],
        Kind::SoloRequests => &["prompt"],
        Kind::DecodeSteps | Kind::EngineSteps => &["batch"],
        Kind::KvBlocks | Kind::Memory => &[],
        Kind::ClosedLoops => &["users", "prompt", "output"],
    }
}

fn setting(setting: Setting) -> Vec<String> {
    match setting {
        Setting::Load { rate_rps, .. } => vec![rate_rps.to_string()],
        Setting::Request { prompt_tokens, output_tokens } => {
            let tokens = [Some(prompt_tokens), output_tokens];
            tokens.into_iter().flatten().map(|n| n.to_string()).collect()
        }
        Setting::Batch { requests } | Setting::EngineStep { requests, .. } => {
            vec![requests.to_string()]
        }
        Setting::ClosedLoop { users, prompt_tokens, output_tokens, .. } => {
            [users, prompt_tokens, output_tokens].map(|number| number.to_string()).into()
        }
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
    [number(comparison.predicted, decimals), number(comparison.actual, decimals), signed(comparison.signed())]
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
