//! Figures over several seeds as text.

use rooflut_report::{LatencySpread, Seeds, Spread};

use super::figures::INDENT;
use super::ranges::ranges;
use crate::output::{count, percent, three_digits, wrapped_at};

/// Returns the lowest and highest figures over the seeds.
pub(super) fn text(seeds: &Seeds) -> String {
    let last = seeds.first.wrapping_add(seeds.count - 1);
    let title = format!("over {} seeds, {} to {last}", count(seeds.count), seeds.first);
    let lowest_and_highest = |latency: LatencySpread| latency.all().map(|it| it.map(|it| [it.lowest, it.highest]));
    let grid = ranges(
        &title,
        &[
            ("TTFT", lowest_and_highest(seeds.ttft_ms)),
            ("TPOT", lowest_and_highest(seeds.tpot_ms)),
            ("ITL", lowest_and_highest(seeds.itl_ms)),
            ("E2E", lowest_and_highest(seeds.e2e_ms)),
            ("queue", lowest_and_highest(seeds.queue_ms)),
        ],
    );
    let figures = [
        ("requests/s", seeds.requests_per_s),
        ("output tokens/s", seeds.output_tokens_per_s),
        ("requests/s within the limits", seeds.goodput_per_s),
    ]
    .into_iter()
    .filter_map(|(unit, spread)| {
        let Spread { lowest, highest, .. } = spread?;
        let (lowest, highest) = (three_digits(lowest), three_digits(highest));
        Some(format!("{lowest} to {highest} {unit}"))
    });
    let overloaded = format!("{} of {} overloaded", count(seeds.overloaded), count(seeds.count));
    let figures = figures.chain([overloaded]).collect::<Vec<_>>().join(", ");
    let meaning = format!(
        "another seed lies between lowest and highest with a probability of {}",
        percent(100.0 * seeds.coverage)
    );
    let lines = wrapped_at(INDENT, "seeds", &figures) + &wrapped_at(INDENT, "", &meaning);
    grid.render(2) + "\n" + &lines
}
