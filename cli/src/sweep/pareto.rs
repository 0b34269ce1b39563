//! The Pareto front of a sweep.

use rooflut_sweep::Front;

use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, three_digits};

use super::Rows;
use super::plots::{csv, error_of};

/// Returns the rows of the front as a table. Of equal ones it has the first, with their number.
pub(super) fn text(rows: Rows<'_>) -> Result<String, Error> {
    let front = Front::of(csv(rows)?).map_err(error_of("--pareto", rows))?;
    let has_equal = front.rows.iter().any(|row| row.count > 1);
    let names: Vec<&str> = ["row"].into_iter().chain(front.keys.iter().map(String::as_str)).collect();
    let figures = ["tokens/s\nper user", "output tokens/s\nper GPU", "rows that\nare equal"];
    let mut grid = Grid::of(&names, if has_equal { &figures } else { &figures[..2] });
    for row in front.rows {
        let figures = [three_digits(row.per_user), three_digits(row.per_gpu)];
        let equal = has_equal.then(|| count(row.count));
        grid.row([row.index].into_iter().chain(row.values).chain(figures).chain(equal).collect());
    }
    Ok(format!("\nPareto front\n{}", grid.render(2)))
}
