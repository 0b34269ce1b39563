//! Fits the constants of `bench_data/engines/` to `crates/validation/`. Prints them beside the values of
//! the files, and the errors on models that were left out of the fit.

use std::process::ExitCode;

use rooflut_fit::{CHOICES, Engines, Fit, PARAMETERS, Problem, fit};
use rooflut_validation::{Case, FileReport, Kind, Metric};

fn main() -> ExitCode {
    let problem = match Problem::embedded() {
        Ok(problem) => problem,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    println!("Fitted to the H100 rows of crates/validation/:\n");
    for (kind, metric, rows) in problem.counts() {
        println!("  {:16} {:8} {rows:4} rows", kind.file(), metric.name());
    }
    let found = fit(&problem);
    print_constants(&found);
    let files = problem.cases(&Engines::from_files());
    print_errors("the constants of the files", &files);
    let fitted = problem.cases(&found.engines);
    print_errors("fitted to all models", &fitted);
    // Each fit starts from the neutral guess: a search that starts at the full fit may stay there.
    let mut left_out = Vec::new();
    for model in models(&fitted) {
        let rest = fit(&problem.without(model));
        eprintln!("without {model}: {}", constants(&rest.engines));
        let cases = problem.cases(&rest.engines).into_iter();
        left_out.extend(cases.filter(|(_, case)| case.model == model));
    }
    print_errors(
        "each model (with its family) left out of the fit",
        &left_out,
    );
    ExitCode::SUCCESS
}

/// Formats all constants on one line.
fn constants(engines: &Engines) -> String {
    let parameters = PARAMETERS.iter().map(|parameter| parameter.name);
    let parameters = parameters.zip(engines.values());
    let choices = CHOICES
        .iter()
        .map(|choice| (choice.name, choice.value(engines)));
    let constants: Vec<String> = parameters
        .chain(choices)
        .map(|(name, value)| format!("{name} {value:.3}"))
        .collect();
    constants.join(", ")
}

fn models(cases: &[(Kind, Case)]) -> Vec<&'static str> {
    let mut models: Vec<&str> = cases.iter().map(|(_, case)| case.model).collect();
    models.sort_unstable();
    models.dedup();
    models
}

fn print_constants(found: &Fit) {
    println!(
        "\n  {:24} {:6} {:>9} {:>9} {:>9} {:>9}",
        "constant", "unit", "files", "fitted", "+-", "rounded"
    );
    let files = Engines::from_files().values();
    for ((parameter, file), estimate) in PARAMETERS.iter().zip(files).zip(&found.estimates) {
        let deviation = estimate
            .deviation
            .map_or("-".to_owned(), |d| format!("{d:.4}"));
        // Rounded as in the file.
        let rounded = (estimate.value / parameter.resolution).round() * parameter.resolution;
        println!(
            "  {:24} {:6} {file:>9.4} {:>9.4} {deviation:>9} {rounded:>9.4}",
            parameter.name, parameter.unit, estimate.value
        );
    }
    let files = Engines::from_files();
    for choice in &CHOICES {
        let (file, value) = (choice.value(&files), choice.value(&found.engines));
        println!(
            "  {:24} {:6} {file:>9.4} {value:>9.4} {:>9} {value:>9.4}",
            choice.name, choice.unit, "-"
        );
    }
}

/// Prints errors by file and metric. Load stages are cut short, so `rooflut validate` may differ a little.
fn print_errors(title: &str, cases: &[(Kind, Case)]) {
    println!("\n  {title}, absolute error in %");
    println!(
        "  {:20} {:8} {:>5} {:>8} {:>8} {:>8} {:>8}",
        "file", "metric", "n", "median", "mean", "worst", "signed"
    );
    let shown = [
        (Kind::LoadStages, Metric::Tpot),
        (Kind::LoadStages, Metric::E2e),
        (Kind::LoadStages, Metric::Ttft),
        (Kind::LoadStages, Metric::WarmTtft),
        (Kind::DecodeSteps, Metric::Step),
        (Kind::SoloRequests, Metric::Prefill),
        (Kind::SoloRequests, Metric::Tpot),
    ];
    for (kind, metric) in shown {
        let of_kind = cases
            .iter()
            .filter(|(of, _)| *of == kind)
            .map(|(_, case)| case);
        let Some(errors) = FileReport::errors(of_kind, metric) else {
            continue;
        };
        println!(
            "  {:20} {:8} {:>5} {:>8.2} {:>8.2} {:>8.1} {:>+8.2}",
            kind.file(),
            metric.name(),
            errors.n,
            errors.median_ape,
            errors.mean_ape,
            errors.max_ape,
            errors.mean_signed
        );
    }
}
