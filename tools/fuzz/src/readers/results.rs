//! Results of benchmark clients, metrics, logs and steps.

use std::path::Path;

use rooflut_observe::{File, Measured, Step};
use rooflut_scenario::Scenario;

use super::{check_error, check_message, files, small_report};

/// Reads the files of an input as those of one server.
pub(super) fn results(bytes: &[u8]) {
    let files = files(bytes);
    let named: Vec<File<'_>> = files.iter().map(|bytes| File { name: "result", bytes }).collect();
    let mut given = Scenario::default();
    (given.target.gpu, given.target.model) = (Some("h100".to_owned()), Some("llama-3.1-8b".to_owned()));
    for given in [&Scenario::default(), &given] {
        match Measured::read(&named, given) {
            Ok(measured) => check(&measured),
            // Lines are those of a file, and of its text where it is compressed.
            Err(error) if files.len() == 1 && str::from_utf8(bytes).is_ok() => check_error(bytes, &error),
            Err(error) => check_message(&error.to_string()),
        }
    }
    // Files of the same server at another time, and the JSON of `rooflut observe`.
    let read = |file: &File<'_>| match rooflut_cli::measured::of_json(Path::new(file.name), file.bytes) {
        Ok(None) => Measured::read(&[*file], &given).inspect_err(|error| check_message(&error.to_string())).ok(),
        Ok(Some(mut measured)) => {
            measured.give(&given).unwrap();
            check(&measured);
            Some(measured)
        }
        Err(error) => {
            check_message(&error.to_string());
            None
        }
    };
    let mut all = Measured::default();
    for measured in named.iter().filter_map(read) {
        if let Err(error) = all.join(measured, "again") {
            check_message(&error.to_string());
        }
    }
}

/// Asserts that what was measured is written and read again, and that its loads are compared or refused.
fn check(measured: &Measured) {
    let written = serde_json::to_value(measured).unwrap();
    let again: Measured = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), written);
    assert!(Step::means(&measured.steps).is_none_or(|means| means.iter().all(|mean| mean.is_finite())));
    measured.notes.iter().for_each(|note| check_message(note));
    let has_usual = |key: &String| ["engine", "tp"].contains(&key.as_str());
    assert_eq!(measured.is_complete(), measured.missing.iter().all(has_usual));
    for run in 0..measured.runs.len() {
        if let Err(error) = measured.scenario(run) {
            check_message(&error.to_string());
        }
        match measured.scenario_file(run) {
            Ok(file) => drop(rooflut_scenario::ScenarioFile::read(file.as_bytes()).unwrap()),
            Err(error) => check_message(&error.to_string()),
        }
        if let Err(error) = measured.compared(run, small_report()) {
            check_message(&error.to_string());
        }
    }
}
