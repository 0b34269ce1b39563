//! Ranges of latencies as text.

use crate::grid::Grid;
use crate::output::three_digits;

/// Returns a table of the lower and upper ends of mean and percentiles, in ms.
pub(super) fn ranges(title: &str, latencies: &[(&str, [Option<[f64; 2]>; 5])]) -> Grid {
    let mut grid = Grid::new(&format!("{title} | >mean ms | >p50 ms | >p90 ms | >p95 ms | >p99 ms"));
    for (name, figures) in latencies {
        let mut row = |name: String, of: fn([f64; 2]) -> f64| {
            let cell = |range: Option<[f64; 2]>| range.map_or("-".to_owned(), |it| three_digits(of(it)));
            grid.row([name].into_iter().chain(figures.map(cell)).collect());
        };
        row(format!("{name:<7}lowest"), |[low, _]| low);
        row(" ".repeat(7) + "highest", |[_, high]| high);
    }
    grid
}
