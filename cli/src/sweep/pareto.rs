//! The Pareto front of a sweep.

use rooflut_sweep::Front;

use crate::error::Error;
use crate::grid::Grid;
use crate::output::three_digits;

use super::Rows;
use super::plots::{csv, error_of};

/// Returns the rows of the front as a table.
pub(super) fn text(rows: Rows<'_>) -> Result<String, Error> {
    let front = Front::of(csv(rows)?).map_err(error_of("--pareto", rows))?;
    let names: Vec<&str> = ["row"].into_iter().chain(front.keys.iter().map(String::as_str)).collect();
    let mut grid = Grid::of(&names, &["tokens/s\nper user", "output tokens/s\nper GPU"]);
    for row in front.rows {
        let figures = [three_digits(row.per_user), three_digits(row.per_gpu)];
        grid.row([row.index].into_iter().chain(row.values).chain(figures).collect());
    }
    Ok(format!("\nPareto front\n{}", grid.render(2)))
}
