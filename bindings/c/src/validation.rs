//! Predictions beside measurements.

use std::ffi::c_char;

use rooflut_validation::{
    Dataset, FileReport, FlatReport, LeftOut, NOMINAL, Predictor, covered, embedded, read, validate,
};

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::text;
use crate::text::{json, returning};

/// Predicts measured rows and returns a text of JSON: what `rooflut validate --json` prints. Where no row can be
/// predicted, `rows` is empty.
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
        let left_out = match csv.is_null() {
            true => LeftOut::embedded().map_err(Failure::refused)?,
            false => LeftOut::default(),
        };
        let covered =
            covered(&datasets, &reports, &left_out, &NOMINAL).map_err(Failure::refused)?;
        json(&FlatReport::new(&reports, &covered, &NOMINAL))
    };
    // SAFETY: the caller's promise.
    unsafe { returning((validation, "validation"), error, make) }
}
