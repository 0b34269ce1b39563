//! Predictions beside measurements.

use std::ffi::c_char;

use rooflut_validation::{
    Dataset, FileReport, FlatRow, FlatSummary, Predictor, Tally, embedded, read, validate,
};
use serde::Serialize;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::text;
use crate::text::{json, returning};

/// Predictions beside measurements, with keys of `rooflut validate --json`.
#[derive(Serialize)]
struct Validation<'r> {
    rows: Vec<FlatRow<'r>>,
    summary: Vec<FlatSummary<'r>>,
    skipped: Vec<Skipped<'r>>,
    metrics_skipped: Vec<Skipped<'r>>,
}

/// Rows that were left out for one reason.
#[derive(Serialize)]
struct Skipped<'r> {
    file: &'r str,
    reason: &'r str,
    rows: usize,
    lines: &'r [u64],
}

/// Predicts measured rows and returns a text of JSON with the keys `rows`, `summary`, `skipped` and `metrics_skipped`
/// of `rooflut validate --json`: predictions beside measurements, errors, rows and metrics that are left out.
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
            skipped: skipped(&reports, |report| &report.skipped),
            metrics_skipped: skipped(&reports, |report| &report.partly),
        })
    };
    // SAFETY: the caller's promise.
    unsafe { returning(validation, error, make) }
}

fn skipped(reports: &[FileReport], of: fn(&FileReport) -> &[Tally]) -> Vec<Skipped<'_>> {
    let tallies = reports
        .iter()
        .flat_map(|report| of(report).iter().map(|tally| (&report.file, tally)));
    tallies
        .map(|(file, tally)| Skipped {
            file,
            reason: &tally.text,
            rows: tally.rows(),
            lines: &tally.lines,
        })
        .collect()
}
