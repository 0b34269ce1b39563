//! Tables of latencies as text.

use crate::grid::Grid;
use crate::output::latency_cell;

const COLUMNS: [&str; 6] = ["mean ms", "p50 ms", "p90 ms", "p95 ms", "p99 ms", "p99.9 ms"];

/// Returns a table of mean and percentiles in ms; p99.9 only if a row has it.
pub(super) fn latencies(title: &str, rows: &[(String, [Option<f64>; 6])]) -> Grid {
    let has_last = rows.iter().any(|(_, [.., last])| last.is_some());
    let shown = if has_last { COLUMNS.len() } else { COLUMNS.len() - 1 };
    let mut grid = Grid::of(&[title], COLUMNS.get(..shown).unwrap_or_default());
    for (name, figures) in rows {
        let cells = figures.iter().take(shown).map(|ms| ms.map_or("-".to_owned(), latency_cell));
        grid.row([name.clone()].into_iter().chain(cells).collect());
    }
    grid
}

/// Returns a table of the lower and upper ends of mean and percentiles, in ms.
pub(super) fn ranges(title: &str, all: &[(&str, [Option<[f64; 2]>; 6])]) -> Grid {
    let rows = all.iter().flat_map(|(name, figures)| {
        let low = figures.map(|range| range.map(|[low, _]| low));
        let high = figures.map(|range| range.map(|[_, high]| high));
        [(format!("{name:<7}lowest"), low), (" ".repeat(7) + "highest", high)]
    });
    latencies(title, &rows.collect::<Vec<_>>())
}
