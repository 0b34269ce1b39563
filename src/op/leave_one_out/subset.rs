//! Points of a table without some.

use alloc::vec::Vec;

use crate::math::ln;
use crate::table::{Axis, Grid};

/// The values at the places that are `wanted`.
pub(super) fn keep<T: Copy>(values: &[T], wanted: impl Fn(usize) -> bool) -> Vec<T> {
    let places = values.iter().enumerate();
    places
        .filter(|(place, _)| wanted(*place))
        .map(|(_, value)| *value)
        .collect()
}

/// An axis with points left out.
pub(super) struct OwnedAxis {
    values: Vec<u32>,
    ln: Vec<f64>,
    inverse_span: Vec<f64>,
}

impl OwnedAxis {
    pub(super) fn without(values: &[u32], wanted: impl Fn(usize) -> bool) -> OwnedAxis {
        let values = keep(values, wanted);
        let ln: Vec<f64> = values.iter().map(|&value| ln(f64::from(value))).collect();
        let spans = ln.iter().zip(ln.iter().skip(1));
        let inverse_span = spans
            .map(|(low, high)| 1.0 / (high - low))
            .chain([0.0])
            .collect();
        OwnedAxis {
            values,
            ln,
            inverse_span,
        }
    }

    pub(super) fn axis(&self) -> Axis<'_> {
        Axis::from_generated(&self.values, &self.ln, &self.inverse_span)
    }
}

/// A grid with rows and columns left out.
pub(super) struct Subset {
    batches: OwnedAxis,
    lengths: OwnedAxis,
    latency_us: Vec<f32>,
    ln_slowdown: Vec<f32>,
}

impl Subset {
    pub(super) fn of(
        grid: &Grid<'_>,
        rows: impl Fn(usize) -> bool,
        columns: impl Fn(usize) -> bool,
    ) -> Subset {
        let width = grid.length().values().len();
        let cell = |place: usize| rows(place / width) && columns(place % width);
        let (latency_us, ln_slowdown) = grid.arrays();
        Subset {
            latency_us: keep(latency_us, cell),
            ln_slowdown: keep(ln_slowdown, cell),
            batches: OwnedAxis::without(grid.batch().values(), &rows),
            lengths: OwnedAxis::without(grid.length().values(), &columns),
        }
    }

    pub(super) fn grid(&self) -> Grid<'_> {
        Grid::from_generated(
            self.batches.axis(),
            self.lengths.axis(),
            &self.latency_us,
            &self.ln_slowdown,
        )
    }
}
