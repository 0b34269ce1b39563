//! Points of a table with some left out.

use rooflut::table::OwnedPoints;

/// Returns the values at the places for which `wanted` returns `true`.
pub(super) fn keep<T: Copy>(values: &[T], wanted: impl Fn(usize) -> bool) -> Vec<T> {
    let places = values.iter().enumerate();
    places.filter(|(place, _)| wanted(*place)).map(|(_, value)| *value).collect()
}

/// Returns the points of a curve at the wanted places.
pub(super) fn of_curve(curve: &OwnedPoints, wanted: impl Fn(usize) -> bool) -> OwnedPoints {
    let [axis, _] = &curve.axes;
    OwnedPoints {
        shape: curve.shape,
        axes: [keep(axis, &wanted), Vec::new()],
        latency_us: keep(&curve.latency_us, &wanted),
        ln_slowdown: keep(&curve.ln_slowdown, &wanted),
    }
}

/// Returns the points of a grid in the wanted rows and columns.
pub(super) fn of_grid(
    grid: &OwnedPoints,
    rows: impl Fn(usize) -> bool,
    columns: impl Fn(usize) -> bool,
) -> OwnedPoints {
    let [batches, lengths] = &grid.axes;
    let width = lengths.len();
    let cell = |place: usize| rows(place / width) && columns(place % width);
    OwnedPoints {
        shape: grid.shape,
        latency_us: keep(&grid.latency_us, cell),
        ln_slowdown: keep(&grid.ln_slowdown, cell),
        axes: [keep(batches, &rows), keep(lengths, &columns)],
    }
}
