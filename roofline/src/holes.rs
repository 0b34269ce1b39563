//! Slowdowns in the holes of ragged grids.

use crate::math::ln;

/// Returns the measured cells that answer for the cell at (row, column) of a ragged grid of `rows` rows: one, two for
/// a hole between measured rows, or none.
///
/// A measured cell answers for itself. A hole takes the nearest measured rows of its column on both sides, or on the
/// only side that has one; in a column without measurements it takes the nearest smaller measured column of its row.
///
/// ```
/// use rooflut_roofline::answering_cells;
/// let grid = [[true, true], [true, false], [false, true]];
/// let is_measured = |[row, column]: [usize; 2]| grid[row][column];
/// assert_eq!(answering_cells([1, 1], 3, is_measured), [Some([0, 1]), Some([2, 1])]);
/// assert_eq!(answering_cells([2, 0], 3, is_measured), [Some([1, 0]), None]);
/// ```
pub fn answering_cells(
    [row, column]: [usize; 2],
    rows: usize,
    is_measured: impl Fn([usize; 2]) -> bool,
) -> [Option<[usize; 2]>; 2] {
    let measured = |cell: &[usize; 2]| is_measured(*cell);
    if is_measured([row, column]) {
        return [Some([row, column]), None];
    }
    let smaller = (0..row).rev().map(|row| [row, column]).find(measured);
    let larger = (row + 1..rows).map(|row| [row, column]).find(measured);
    let shorter = || (0..column).rev().map(|column| [row, column]).find(measured);
    match smaller {
        Some(_) => [smaller, larger],
        None => [larger.or_else(shorter), None],
    }
}

/// Returns the slowdown (as a logarithm) of a cell of a ragged grid whose rows have the coordinates `rows`, given the
/// slowdowns of the measured cells: the slowdown of the [answering cell](answering_cells), or the mean of two answering
/// cells, linear in the logarithm of the rows. Returns `None` for a hole that no cell answers for.
pub fn filled([row, column]: [usize; 2], rows: &[u32], ln_slowdown: impl Fn([usize; 2]) -> Option<f32>) -> Option<f32> {
    let is_measured = |cell| ln_slowdown(cell).is_some();
    let [near, far] = answering_cells([row, column], rows.len(), is_measured);
    let near = near?;
    let Some(far) = far else {
        return ln_slowdown(near);
    };
    let ln_row = |row: usize| rows.get(row).map(|&row| ln(f64::from(row)));
    let [from, x, to] = [ln_row(near[0])?, ln_row(row)?, ln_row(far[0])?];
    let [low, high] = [ln_slowdown(near)?, ln_slowdown(far)?].map(f64::from);
    Some((low + (high - low) * (x - from) / (to - from)) as f32)
}
