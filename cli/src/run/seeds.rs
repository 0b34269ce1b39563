//! Figures over several seeds as text.

use rooflut_report::{Seeds, Spread};

use super::figures::INDENT;
use crate::grid::Grid;
use crate::output::{count, percent, three_digits, wrapped_at};

/// Returns the lowest and highest figures over the seeds.
pub(super) fn text(seeds: &Seeds) -> String {
    let last = seeds.first.wrapping_add(seeds.count - 1);
    let title = format!(
        "over {} seeds, {} to {last}",
        count(seeds.count),
        seeds.first
    );
    let mut grid = Grid::new(&format!(
        "{title} | >mean ms | >p50 ms | >p90 ms | >p95 ms | >p99 ms"
    ));
    for (name, latency) in [
        ("TTFT", seeds.ttft_ms),
        ("TPOT", seeds.tpot_ms),
        ("ITL", seeds.itl_ms),
        ("E2E", seeds.e2e_ms),
        ("queue", seeds.queue_ms),
    ] {
        let mut row = |name: String, of: fn(&Spread) -> f64| {
            let cell =
                |spread: Option<Spread>| spread.map_or("-".to_owned(), |s| three_digits(of(&s)));
            let cells = latency.all().map(cell);
            grid.row([name].into_iter().chain(cells).collect());
        };
        row(format!("{name:<7}lowest"), |spread| spread.lowest);
        row(" ".repeat(7) + "highest", |spread| spread.highest);
    }
    let figures = [
        ("requests/s", seeds.requests_per_s),
        ("output tokens/s", seeds.output_tokens_per_s),
        ("requests/s within the limits", seeds.goodput_per_s),
    ];
    let figures = figures.into_iter().filter_map(|(unit, spread)| {
        let Spread {
            lowest, highest, ..
        } = spread?;
        let (lowest, highest) = (three_digits(lowest), three_digits(highest));
        Some(format!("{lowest} to {highest} {unit}"))
    });
    let overloaded = format!(
        "{} of {} overloaded",
        count(seeds.overloaded),
        count(seeds.count)
    );
    let figures = figures.chain([overloaded]).collect::<Vec<_>>().join(", ");
    let meaning = format!(
        "another seed lies between lowest and highest with a probability of {}",
        percent(100.0 * seeds.coverage)
    );
    let lines = wrapped_at(INDENT, "seeds", &figures) + &wrapped_at(INDENT, "", &meaning);
    grid.render(2) + "\n" + &lines
}
