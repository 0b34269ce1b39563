//! `rooflut-lab validate`: compares predictions with measured runs.

mod calibration;
mod groups;
mod markdown;
mod scatter;
mod tables;
mod text;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rooflut::table::TableSet;
use rooflut_cli::host::Host;
use rooflut_cli::html::HtmlFile;
use rooflut_error::Whole;
use rooflut_validation::{
    Dataset, FileReport, FlatReport, HeadToHead, LeftOut, Metric, NOMINAL, Predictor, Without, covered, embedded,
    head_to_head, read, validate, without,
};

use crate::args::ValidateArgs;
use crate::error::Error;
use crate::input;
use crate::output::{Answered, count, plural, to_json};
use crate::output_file::OutputFile;
use crate::outputs::{Existing, Outputs};
use crate::picture;
use crate::progress::Ticker;
use crate::table_set::{self, WhichSet};
use crate::tallied;

/// Name of an answer in a report.
const NAME: &str = "rooflut-lab validate";

/// Predicts and compares. If nothing can be predicted, that is an error; the JSON output is printed, too.
pub(crate) fn run<'a>(args: &'a ValidateArgs, host: &Host<'_>) -> Result<Answered, Error> {
    let mut datasets = if args.files.is_empty() { embedded()? } else { read_all(&args.files)? };
    if let Some(path) = &args.tables {
        predict_with(&mut datasets, &table_set::find(WhichSet::At(path))?)?;
    }
    let inputs = args.files.iter().map(|path| (path.clone(), "is read"));
    let mut outputs = Outputs::new(inputs.collect(), Existing::Keep);
    let mut plot = |path: Option<&'a Path>, first_line| {
        path.map(|path| outputs.open(path, first_line).map(|file| (path, file))).transpose()
    };
    let calibration = plot(args.calibration.as_deref(), calibration::FIRST_LINE)?;
    let scatter = plot(args.scatter.as_deref(), scatter::FIRST_LINE)?;
    let html = HtmlFile::open(args.html.html.as_deref(), &mut outputs)?;
    let predictor = Predictor::default();
    let rows: usize = datasets.iter().map(|dataset| dataset.rows.len()).sum();
    let done = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&done);
    let told = move || {
        let done = count(told.load(Ordering::Relaxed) as u64);
        format!("{done} of {} predicted", plural(rows as u64, "row"))
    };
    let _ticker = host.shows_progress.then(|| Ticker::start(told));
    let report = |dataset: &Dataset| {
        let report = validate(dataset, &predictor);
        done.fetch_add(dataset.rows.len(), Ordering::Relaxed);
        report
    };
    let reports: Vec<FileReport> = datasets.iter().map(report).collect();
    let is_own = args.files.is_empty() && args.tables.is_none();
    let left_out = if is_own { LeftOut::embedded()? } else { LeftOut::default() };
    let beside = if is_own { Beside::of(&reports)? } else { Beside::default() };
    let nominal = match calibration {
        Some(_) => PLOTTED.as_slice(),
        None => &NOMINAL,
    };
    let covered = covered(&datasets, &reports, &left_out, nominal).map_err(|error| Error::new(error.to_string()))?;
    let mut drawn = Vec::new();
    if let Some((path, mut file)) = calibration {
        if !covered.iter().any(calibration::is_drawn) {
            return Err(Error::new(
                "--calibration: expected load stages on h100 that `rooflut-lab validate` has, found none; leave it out",
            ));
        }
        let first_line = calibration::FIRST_LINE;
        picture::write(&mut file, path, first_line, calibration::draw(&covered, nominal))?;
        drawn.push(file);
    }
    if let Some((path, mut file)) = scatter {
        let panels = [Metric::Tpot, Metric::Ttft].map(|metric| (metric, scatter::points(&reports, metric)));
        if panels.iter().any(|(_, points)| points.values().all(Vec::is_empty)) {
            return Err(Error::new(
                "--scatter: expected load stages or closed loops with TPOT and TTFT that can be predicted, found none; \
                 leave it out",
            ));
        }
        picture::write(&mut file, path, scatter::FIRST_LINE, scatter::draw(panels))?;
        drawn.push(file);
    }
    // Neither plot appears before both are drawn.
    drawn.into_iter().try_for_each(OutputFile::finish)?;
    let nothing = reports.iter().all(|report| report.cases.is_empty());
    let failure = nothing.then(|| unpredicted(&reports));
    let json = || to_json(&FlatReport::new(&reports, &covered, nominal, &beside.rivals, &beside.left_out));
    let text = match (args.json, failure) {
        (true, failure) => {
            let answer = Answered { text: json()?, failure };
            return HtmlFile::of_answer(html, answer, NAME, json, &host.command);
        }
        (false, Some(failure)) => return Err(failure),
        (false, None) if args.markdown => markdown::render(&reports, &covered, nominal, &beside, args.files.is_empty()),
        (false, None) => text::render(&reports, &covered, nominal, &beside, args.rows),
    };
    HtmlFile::of_answer(html, text.into(), NAME, json, &host.command)
}

/// Errors of other tools and of other constants on the measurements of the project.
#[derive(Default)]
struct Beside {
    /// Errors of other tools.
    rivals: Vec<HeadToHead>,
    /// Errors by constants that a model or a GPU took no part in.
    left_out: Vec<Without>,
}

impl Beside {
    fn of(reports: &[FileReport]) -> Result<Beside, Error> {
        Ok(Beside { rivals: head_to_head(reports)?, left_out: without(reports)? })
    }
}

/// Nominal coverages in the calibration plot.
const PLOTTED: [f64; 4] = [0.5, 0.8, 0.9, 0.95];

/// The meaning of the table of coverages.
const COVERAGE: &str = "\
Percentage of the measurements within the intervals of each nominal coverage. The project's load stages on h100 are \
predicted without the rows of their model family (to first order: `cargo run --release -p rooflut-fit --example \
left_out`); the decode steps and the solo requests took part in the fit. Elsewhere, on other GPUs or with weights in \
other formats than 16 bits and FP8 per tensor, intervals are wider (`other_step_error` and `other_first_token_error` of \
`rooflut engines`). Every sixteenth row of the closed loops is counted, because they take long to simulate. `tables` are \
kernels: rows of the built-in tables, predicted without themselves or their shape, within intervals that rows of other \
shapes gave.";

/// The meaning of the table of rivals.
const HEAD_TO_HEAD: &str = "\
Absolute errors in percent, mean / median, on points of the closed loops for which InferenceX publishes those of \
AISimulate 0.13 and AIConfigurator (2026-09-28), without saturated, suspect and outlying ones. Constants of rooflut's \
newer engines were set on servers of the same publisher, some on these very rows; rooflut knows which kernels the \
publisher's scripts chose for gpt-oss.";

/// The meaning of the table of closed loops without a model or a GPU.
const WITHOUT: &str = "\
Absolute errors of the closed loops in percent, mean / median: with the constants of the engines, with 17 of them fitted \
to all of these rows, and fitted to the rows of all other models, or GPUs (to first order, each constant within a factor \
of about 1.3 of its value: `cargo run --release -p rooflut-fit --example left_out_servers`). Formats of experts, budgets \
of tokens and widths of intervals are not fitted again.";

/// The meaning of the table of closed loops.
const SERVERS: &str = "errors by group of servers, in percent. Constants of engines are fitted to every second \
configuration (GPU, engine, model, precision, parallelism) of servers_steady_state.csv, and the waits of slow hosts to \
their single servers with one user; the others test them.";

/// The error where no row can be predicted, with the reasons of all files.
fn unpredicted(reports: &[FileReport]) -> Error {
    let reasons = reports.iter();
    let reasons: Vec<String> =
        reasons.flat_map(|report| tallied::reasons(Some(&report.file), &report.skipped)).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    Error::new(format!("no row can be predicted{reasons}; correct the rows, or use others"))
}

/// Predicts the rows of the GPU of `set` with it.
fn predict_with(datasets: &mut [Dataset], set: &TableSet) -> Result<(), Error> {
    let rows: usize = datasets.iter_mut().map(|d| d.predict_with(set)).sum();
    match rows {
        0 => Err(Error::new(format!(
            "--tables: expected rows that were measured on {}, the GPU of {}, found none; leave --tables \
             out or name other files",
            set.gpu().name.as_str(),
            set.name()
        ))),
        _ => Ok(()),
    }
}

/// Reads the measurements of all files, each under the name of its file.
fn read_all(paths: &[PathBuf]) -> Result<Vec<Dataset>, Error> {
    check_distinct(paths)?;
    let names = names(paths);
    let datasets = paths.iter().zip(names);
    datasets
        .map(|(path, file)| {
            let bytes = input::read(path, Whole::Measured).map_err(Error::reading(path))?;
            // Errors name the whole path.
            let dataset = read(&path.display().to_string(), bytes)?;
            Ok(Dataset { file, ..dataset })
        })
        .collect()
}

/// Rejects a file that is named twice: its rows would count twice.
fn check_distinct(paths: &[PathBuf]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for path in paths {
        // Reading reports missing files.
        let same = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if !seen.insert(same) {
            return Err(Error::new(format!("expected each FILE once, found {} again; name it once", path.display())));
        }
    }
    Ok(())
}

/// Returns the name of a file without its folder.
pub(crate) fn base_name(path: &Path) -> String {
    let name = path.file_name().map(Path::new);
    name.unwrap_or(path).display().to_string()
}

/// Returns the names of the files, without their folders if they are distinct.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let names: Vec<String> = paths.iter().map(|path| base_name(path)).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() < names.len() {
        return paths.iter().map(|path| path.display().to_string()).collect();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_of_names_that_are_distinct_without_them() {
        let names = |paths: &[&str]| super::names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["a/x.csv", "b/y.csv"]), ["x.csv", "y.csv"]);
        assert_eq!(names(&["a/x.csv", "b/x.csv"]), ["a/x.csv", "b/x.csv"]);
    }
}
