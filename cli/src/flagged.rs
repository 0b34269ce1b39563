//! Rows of the tables that stand out from their neighbours, as notes on what uses them.

use rooflut::step::Part;
use rooflut_inspect::Flagged;
use rooflut_report::{FlaggedRow, Shares};

use crate::fields;
use crate::output::{percent, three_digits};

/// Returns the entry of a report.
pub(crate) fn row(flagged: &Flagged, parts: &[(Part, f64)]) -> FlaggedRow {
    let kernel = &flagged.row.kernel;
    let parts = parts.iter().map(|(part, change)| (part.name(), *change));
    FlaggedRow {
        row: format!("{}, {}", kernel.operation(), fields::measured(kernel)),
        latency_us: flagged.row.latency_us,
        expected_us: flagged.expected_us,
        parts: Shares(parts.collect()),
    }
}

/// Returns the note of a text.
pub(crate) fn note(flagged: &FlaggedRow) -> String {
    let parts = flagged.parts.0.iter().map(|(part, change)| {
        let direction = if *change < 0.0 { "less" } else { "more" };
        format!(
            "{part} takes {} {direction} time",
            percent(100.0 * change.abs())
        )
    });
    format!(
        "a row that `rooflut tables check` flags is used: {}, {} us, expected about {} us from the rows beside it, \
         with which {}",
        flagged.row,
        flagged.latency_us,
        three_digits(flagged.expected_us),
        parts.collect::<Vec<_>>().join(" and ")
    )
}
