//! Predictions beside measurements.

use std::ffi::c_char;

use rooflut_validation::{
    Dataset, FileReport, FlatRow, FlatSummary, Predictor, embedded, read, validate,
};
use serde::Serialize;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::text;
use crate::text::{json, returning};

/// Predictions beside measurements, as `rooflut validate --json` prints them.
#[derive(Serialize)]
struct Validation<'r> {
    rows: Vec<FlatRow<'r>>,
    summary: Vec<FlatSummary<'r>>,
    skipped: Vec<Skipped<'r>>,
}

/// Rows that were left out for one reason.
#[derive(Serialize)]
struct Skipped<'r> {
    file: &'r str,
    reason: &'r str,
    rows: usize,
    lines: &'r [u64],
}

/// Predicts measured rows and returns a text of JSON: predictions beside measurements, errors, rows that are left out.
///
/// `csv` is a file of measurements in the columns of rooflut's `crates/validation`; null stands for the measurements
/// that come with rooflut, which take seconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_validate(
    csv: *const c_char,
    csv_length: usize,
    validation: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let given = unsafe { text(csv, csv_length, "csv") }?;
        let datasets: Vec<Dataset> = match csv.is_null() {
            true => embedded(),
            false => read("csv", given).map(|dataset| vec![dataset]),
        }
        .map_err(Failure::refused)?;
        let predictor = Predictor::default();
        let reports: Vec<FileReport> = datasets
            .iter()
            .map(|dataset| validate(dataset, &predictor))
            .collect();
        json(&Validation {
            rows: reports.iter().flat_map(FileReport::flat_rows).collect(),
            summary: reports
                .iter()
                .flat_map(FileReport::flat_summaries)
                .collect(),
            skipped: reports.iter().flat_map(skipped).collect(),
        })
    };
    // SAFETY: the caller's promise.
    unsafe { returning(validation, error, make) }
}

fn skipped(report: &FileReport) -> impl Iterator<Item = Skipped<'_>> {
    report.skipped.iter().map(|tally| Skipped {
        file: &report.file,
        reason: &tally.text,
        rows: tally.rows(),
        lines: &tally.lines,
    })
}
