//! Points of a table with some left out.

use alloc::vec::Vec;

use crate::hardware::operation::Codes;
use crate::table::{Curve, Grid, OwnedPoints};

/// Returns the values at the places for which `wanted` returns `true`.
pub(super) fn keep<T: Copy>(values: &[T], wanted: impl Fn(usize) -> bool) -> Vec<T> {
    let places = values.iter().enumerate();
    places
        .filter(|(place, _)| wanted(*place))
        .map(|(_, value)| *value)
        .collect()
}

/// Returns the points of a curve at the wanted places.
pub(super) fn of_curve(
    shape: impl Into<Codes>,
    curve: &Curve<'_>,
    wanted: impl Fn(usize) -> bool,
) -> OwnedPoints {
    OwnedPoints {
        shape: shape.into(),
        axes: [keep(curve.axis().values(), &wanted), Vec::new()],
        latency_us: keep(curve.latency_us(), &wanted),
        ln_slowdown: keep(curve.ln_slowdown(), &wanted),
    }
}

/// Returns the points of a grid in the wanted rows and columns.
pub(super) fn of_grid(
    shape: impl Into<Codes>,
    grid: &Grid<'_>,
    rows: impl Fn(usize) -> bool,
    columns: impl Fn(usize) -> bool,
) -> OwnedPoints {
    let width = grid.length().values().len();
    let cell = |place: usize| rows(place / width) && columns(place % width);
    let (latency_us, ln_slowdown) = grid.arrays();
    OwnedPoints {
        shape: shape.into(),
        latency_us: keep(latency_us, cell),
        ln_slowdown: keep(ln_slowdown, cell),
        axes: [
            keep(grid.batch().values(), &rows),
            keep(grid.length().values(), &columns),
        ],
    }
}
