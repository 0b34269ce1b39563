//! The error where no row can be predicted.

use rooflut_validation::FileReport;

use crate::error::Error;
use crate::tallied;

/// Returns the error, with the reasons of all files.
pub(super) fn error(reports: &[FileReport]) -> Error {
    let reasons = reports.iter().flat_map(|report| {
        let skipped = report.skipped.iter();
        skipped.map(|tally| {
            let rows = tallied::rows(tally);
            format!("{rows} of {}: {}", report.file, tally.text)
        })
    });
    let reasons: Vec<String> = reasons.collect();
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(": {}", reasons.join("; ")),
    };
    Error::new(format!(
        "no row can be predicted{reasons}; correct the rows, or use others"
    ))
}
