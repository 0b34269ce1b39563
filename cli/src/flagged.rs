//! Rows of the tables that stand out from their neighbours, as notes on what uses them.

use rooflut::step::Part;
use rooflut_inspect::Flagged;
use rooflut_report::{FlaggedRow, Shares};

use crate::fields;
use crate::output::{percent, plural, three_digits};

/// Returns the entry of a report.
pub(crate) fn row(flagged: &Flagged, parts: &[(Part, f64)]) -> FlaggedRow {
    let parts = parts.iter().map(|(part, change)| (part.name(), *change));
    let parts = Shares(parts.collect());
    match (&flagged.dips_of, flagged.rows.first()) {
        (None, Some((row, expected_us))) => {
            let kernel = &row.kernel;
            FlaggedRow {
                row: format!("{}, {}", kernel.operation(), fields::measured(kernel)),
                latency_us: Some(row.latency_us),
                expected_us: Some(*expected_us),
                parts,
            }
        }
        (kernels, _) => FlaggedRow {
            row: format!(
                "{}, {} slower than the next row with more work",
                kernels.as_deref().unwrap_or_default(),
                plural(flagged.rows.len() as u64, "row")
            ),
            latency_us: None,
            expected_us: None,
            parts,
        },
    }
}

/// Returns the note of a text.
pub(crate) fn note(flagged: &FlaggedRow) -> String {
    let parts = flagged
        .parts
        .0
        .iter()
        .map(|(part, change)| {
            let direction = if *change < 0.0 { "less" } else { "more" };
            format!("{part} takes {} {direction} time", percent(100.0 * change.abs()))
        })
        .collect::<Vec<_>>()
        .join(" and ");
    let row = &flagged.row;
    match (flagged.latency_us, flagged.expected_us) {
        (Some(latency_us), Some(expected_us)) => format!(
            "a row that `rooflut-lab tables check` flags is used: {row}, {latency_us} us, expected about {} us from \
             the rows beside it; with that time, {parts}",
            three_digits(expected_us)
        ),
        _ => format!(
            "rows that `rooflut-lab tables check` flags are used: {row}; with the time of the next row, {parts}"
        ),
    }
}
