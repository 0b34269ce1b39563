//! Ranges of measurements as text.

use rooflut_report::{LatencyRange, ModelInterval};

use super::figures::INDENT;
use super::ranges::ranges;
use crate::output::{percent, three_digits, wrapped_at};

/// Returns the ranges in which the figures of measured servers are expected.
pub(super) fn text(interval: &ModelInterval) -> String {
    let ends = |latency: LatencyRange| latency.all().map(|it| it.map(|it| [it.low, it.high]));
    let covered = percent(100.0 * interval.coverage);
    let grid = ranges(
        &format!("{covered} of servers"),
        &[("TTFT", ends(interval.ttft_ms)), ("TPOT", ends(interval.tpot_ms)), ("E2E", ends(interval.e2e_ms))],
    );
    let figures = [(interval.requests_per_s, "requests/s"), (interval.output_tokens_per_s, "output tokens/s")].map(
        |(range, unit)| {
            let (low, high) = (three_digits(range.low), three_digits(range.high));
            format!("{low} to {high} {unit}")
        },
    );
    let meaning = format!(
        "meant to contain {covered} of measured servers: errors of the model and differences between equal \
         servers, but not between loads (--seeds)"
    );
    let lines = wrapped_at(INDENT, "interval", &figures.join(", ")) + &wrapped_at(INDENT, "", &meaning);
    grid.render(2) + "\n" + &lines
}
