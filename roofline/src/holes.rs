//! Which measurement answers where there is none.

/// The measured cell of a ragged grid of `rows` rows whose slowdown answers for the cell at (row, column):
/// itself; for a hole that of the nearest measured row in the same column, smaller ones first; in a column
/// without any, that of the next column before it in the row. `None` where all of these are holes.
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
