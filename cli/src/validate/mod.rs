//! `rooflut validate`: compares predictions with measured runs.

mod groups;
mod json;
mod markdown;
mod tables;
mod text;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rooflut::interval::Coverage;
use rooflut::table::TableSet;
use rooflut_validation::{
    Dataset, FileReport, MetricCoverage, Predictor, coverage, embedded, read, validate,
};

use crate::args::ValidateArgs;
use crate::error::Error;
use crate::input;
use crate::output::Answered;
use crate::table_set::{self, WhichSet};
use crate::tallied;

/// Predicts and compares. If nothing can be predicted, that is an error; the JSON output is printed, too.
pub(crate) fn run(args: &ValidateArgs) -> Result<Answered, Error> {
    let mut datasets = match args.files.is_empty() {
        true => embedded()?,
        false => read_all(&args.files)?,
    };
    if let Some(path) = &args.tables {
        predict_with(&mut datasets, &table_set::find(WhichSet::At(path))?)?;
    }
    let predictor = Predictor::default();
    let reports: Vec<FileReport> = datasets.iter().map(|d| validate(d, &predictor)).collect();
    let covered = covered(&datasets)?;
    let nothing = reports.iter().all(|report| report.cases.is_empty());
    let failure = nothing.then(|| unpredicted(&reports));
    let text = match (args.json, failure) {
        (true, failure) => {
            let text = json::render(&reports, &covered)?;
            return Ok(Answered { text, failure });
        }
        (false, Some(failure)) => return Err(failure),
        (false, None) if args.markdown => {
            markdown::render(&reports, &covered, args.files.is_empty())
        }
        (false, None) => text::render(&reports, &covered, args.rows),
    };
    Ok(text.into())
}

/// Nominal coverages of the intervals that are compared with measurements.
const NOMINAL: [f64; 2] = [0.8, 0.95];
/// Load stages are cut to this duration for their intervals; they are steady long before.
const LONGEST_STAGE_S: f64 = 200.0;

/// The meaning of the table of coverages.
const COVERAGE: &str = "\
Percentage of the measurements of load stages within the intervals of 80 and of 95 %. The constants of the engines were \
fitted to the project's stages on h100: `cargo run --release -p rooflut-fit --example intervals` prints the coverage \
with each family of models left out of the fit.";

/// The coverage of intervals on the load stages of a file.
struct Covered {
    file: String,
    of: MetricCoverage,
}

fn covered(datasets: &[Dataset]) -> Result<Vec<Covered>, Error> {
    let nominal = NOMINAL.map(Coverage::try_new).into_iter();
    let nominal: Vec<Coverage> = nominal
        .collect::<Result<_, _>>()
        .map_err(|error| Error::new(error.to_string()))?;
    let predictor = Predictor {
        longest_stage_s: LONGEST_STAGE_S,
        ..Predictor::default()
    };
    let of_file = |dataset: &Dataset| {
        let file = dataset.file.clone();
        let all = coverage(dataset, &predictor, &nominal).into_iter();
        all.map(move |of| Covered {
            file: file.clone(),
            of,
        })
    };
    Ok(datasets.iter().flat_map(of_file).collect())
}

/// The error where no row can be predicted, with the reasons of all files.
fn unpredicted(reports: &[FileReport]) -> Error {
    let reasons = reports.iter();
    let reasons: Vec<String> = reasons
        .flat_map(|report| tallied::reasons(Some(&report.file), &report.skipped))
        .collect();
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(": {}", reasons.join("; ")),
    };
    Error::new(format!(
        "no row can be predicted{reasons}; correct the rows, or use others"
    ))
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
            let bytes = input::read(path).map_err(Error::reading(path))?;
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
            return Err(Error::new(format!(
                "expected each FILE once, found {} again; name it once",
                path.display()
            )));
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
        return paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_of_names_that_are_distinct_without_them() {
        let names =
            |paths: &[&str]| super::names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["a/x.csv", "b/y.csv"]), ["x.csv", "y.csv"]);
        assert_eq!(names(&["a/x.csv", "b/x.csv"]), ["a/x.csv", "b/x.csv"]);
    }
}
