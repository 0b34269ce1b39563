//! Measured cells that answer for holes of a ragged grid.

/// Returns the measured cell whose slowdown answers for the cell at (row, column) of a ragged grid of `rows` rows.
///
/// A measured cell answers for itself. A hole takes the nearest measured smaller row of its column, or else the
/// nearest larger one; in a column without measurements it takes the nearest smaller measured column of its row.
/// Returns `None` if all of these are holes.
///
/// ```
/// use rooflut_roofline::answering_cell;
/// let grid = [[true, true], [true, false]];
/// let is_measured = |row: usize, column: usize| grid[row][column];
/// assert_eq!(answering_cell([1, 1], 2, is_measured), Some([0, 1]));
/// ```
pub fn answering_cell(
    [row, column]: [usize; 2],
    rows: usize,
    is_measured: impl Fn(usize, usize) -> bool,
) -> Option<[usize; 2]> {
    let smaller = (0..=row).rev().map(|row| [row, column]);
    let larger = (row + 1..rows).map(|row| [row, column]);
    let shorter = (0..column).rev().map(|column| [row, column]);
    let mut candidates = smaller.chain(larger).chain(shorter);
    candidates.find(|[row, column]| is_measured(*row, *column))
}
