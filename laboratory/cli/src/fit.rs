//! `rooflut-lab fit`: fits the constants of `bench_data/engines/` to `laboratory/validation/`, and tells them beside
//! those of the files, with the errors on models that were left out of the fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rooflut_fit::{CHOICES, Engines, PARAMETERS, Problem, fit};
use rooflut_validation::{Case, FileReport, Kind, Metric, Summary};
use serde::Serialize;

use crate::args::FitArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, number, paragraph, plural, signed, title, to_json};
use crate::progress::Ticker;

/// The metrics of which errors are shown.
const SHOWN: [(Kind, Metric); 7] = [
    (Kind::LoadStages, Metric::Tpot),
    (Kind::LoadStages, Metric::E2e),
    (Kind::LoadStages, Metric::Ttft),
    (Kind::LoadStages, Metric::WarmTtft),
    (Kind::DecodeSteps, Metric::Step),
    (Kind::SoloRequests, Metric::Prefill),
    (Kind::SoloRequests, Metric::Tpot),
];

#[derive(Serialize)]
struct FitJson {
    constants: Vec<Constant>,
    errors: Vec<Errors>,
}

#[derive(Serialize)]
struct Constant {
    name: &'static str,
    unit: &'static str,
    files: f64,
    fitted: f64,
    /// Standard deviation; `None` for a choice among values.
    deviation: Option<f64>,
    /// As a file of an engine would have it.
    rounded: f64,
}

/// The errors of some constants.
#[derive(Serialize)]
struct Errors {
    constants: &'static str,
    metrics: Vec<MetricErrors>,
}

#[derive(Serialize)]
struct MetricErrors {
    file: &'static str,
    metric: &'static str,
    #[serde(flatten)]
    errors: Summary,
}

/// Fits the constants and returns the text to print.
pub(crate) fn run(args: &FitArgs, shows_progress: bool) -> Result<String, Error> {
    let problem = Problem::embedded()?;
    let done = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&done);
    let told = move || plural(told.load(Ordering::Relaxed) as u64, "fit");
    let _ticker = shows_progress.then(|| Ticker::start(told));
    let fit = |problem: &Problem| {
        let found = fit(problem);
        done.fetch_add(1, Ordering::Relaxed);
        found
    };
    let files = Engines::from_files();
    let found = fit(&problem);
    let fitted = problem.cases(&found.engines);
    let mut errors = vec![
        Errors::new("the constants of the files", &problem.cases(&files)),
        Errors::new("fitted to all models", &fitted),
    ];
    if !args.only_all {
        // Each fit starts from the neutral guess: a search that starts at the full fit may stay there.
        let mut left_out = Vec::new();
        for model in models(&fitted) {
            let rest = fit(&problem.without(model));
            let cases = problem.cases(&rest.engines).into_iter();
            left_out.extend(cases.filter(|(_, case)| case.model == model));
        }
        let title = "each model (with its family) left out of the fit";
        errors.push(Errors::new(title, &left_out));
    }
    let estimates = PARAMETERS.iter().zip(files.values()).zip(&found.estimates);
    let parameters = estimates.map(|((parameter, file), estimate)| Constant {
        name: parameter.name,
        unit: parameter.unit,
        files: file,
        fitted: estimate.value,
        deviation: estimate.deviation,
        rounded: (estimate.value / parameter.resolution).round() * parameter.resolution,
    });
    let choices = CHOICES.iter().map(|choice| Constant {
        name: choice.name,
        unit: choice.unit,
        files: choice.value(&files),
        fitted: choice.value(&found.engines),
        deviation: None,
        rounded: choice.value(&found.engines),
    });
    let constants = parameters.chain(choices).collect();
    let found = FitJson { constants, errors };
    if args.json {
        return to_json(&found);
    }
    let mut counted = Grid::new("file | metric | >rows");
    for (kind, metric, rows) in problem.counts() {
        let (kind, metric) = (kind.file().to_owned(), metric.name().to_owned());
        counted.row(vec![kind, metric, count(*rows as u64)]);
    }
    Ok(title("Fitted to the H100 rows of laboratory/validation/") + &counted.render(2) + &found.text())
}

fn models(cases: &[(Kind, Case)]) -> Vec<&'static str> {
    let mut models: Vec<&str> = cases.iter().map(|(_, case)| case.model).collect();
    models.sort_unstable();
    models.dedup();
    models
}

impl FitJson {
    fn text(&self) -> String {
        let mut grid = Grid::new("constant | unit | >files | >fitted | >+- | >rounded");
        for constant in &self.constants {
            let deviation = constant.deviation.map(|deviation| number(deviation, 4));
            grid.row(vec![
                constant.name.to_owned(),
                constant.unit.to_owned(),
                number(constant.files, 4),
                number(constant.fitted, 4),
                deviation.unwrap_or_else(|| "-".to_owned()),
                number(constant.rounded, 4),
            ]);
        }
        let errors = self.errors.iter().map(Errors::text);
        format!("\n{}{}", grid.render(2), errors.collect::<String>())
    }
}

impl Errors {
    /// The errors by file and metric. Load stages are cut short, so `rooflut-lab validate` may differ a little.
    fn new(constants: &'static str, cases: &[(Kind, Case)]) -> Errors {
        let metrics = SHOWN.into_iter().filter_map(|(kind, metric)| {
            let of_kind = cases.iter().filter(|(of, _)| *of == kind);
            let errors = FileReport::errors(of_kind.map(|(_, case)| case), metric)?;
            Some(MetricErrors { file: kind.file(), metric: metric.name(), errors })
        });
        Errors { constants, metrics: metrics.collect() }
    }

    fn text(&self) -> String {
        let mut grid = Grid::new("file | metric | >rows | >median | >mean | >worst | >signed");
        for MetricErrors { file, metric, errors } in &self.metrics {
            grid.row(vec![
                (*file).to_owned(),
                (*metric).to_owned(),
                count(errors.n as u64),
                number(errors.median_ape, 2),
                number(errors.mean_ape, 2),
                number(errors.max_ape, 1),
                signed(errors.mean_signed),
            ]);
        }
        let title = paragraph(&format!("Absolute error in %, {}", self.constants));
        format!("\n{title}\n{}", grid.render(2))
    }
}
