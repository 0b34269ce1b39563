//! Latencies measured over two axes, with holes.

use core::hint::select_unpredictable;

use rooflut_roofline::answering_cells;

use super::{Axis, Bracket, Points, Position, Reading};

/// Latencies of one attention shape over batch (rows) and length (columns).
///
/// Grids are ragged, because large batches with long contexts do not fit into a GPU's memory. The latency of a hole
/// is NaN and is never used as a number; its slowdown is interpolated between the next measured batches at the same
/// length. Most holes have only smaller ones: there bandwidth is saturated, so the batch has little effect.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    batch: Axis<'a>,
    length: Axis<'a>,
    latency_us: &'a [f32],
    ln_slowdown: &'a [f32],
}

impl<'a> Grid<'a> {
    /// Returns the measured batches.
    pub const fn batch(&self) -> Axis<'a> {
        self.batch
    }

    /// Returns the measured lengths.
    pub const fn length(&self) -> Axis<'a> {
        self.length
    }

    /// Returns the latency, microseconds, in row `batch` and column `length` (indices), or `None` for a hole.
    pub fn latency_us(&self, batch: usize, length: usize) -> Option<f32> {
        let columns = self.length.values().len();
        let inside = length < columns;
        let latency_us = inside.then(|| self.latency_us.get(batch * columns + length))?;
        latency_us.copied().filter(|latency| !latency.is_nan())
    }

    /// Returns the latencies, NaN in holes, and slowdowns, row by row.
    #[cfg(feature = "runtime-tables")]
    pub(crate) const fn arrays(&self) -> (&'a [f32], &'a [f32]) {
        (self.latency_us, self.ln_slowdown)
    }

    /// Returns the slowdown at (batch, length): bilinear in logarithms, held beyond the ends and in holes, which
    /// count as outside the measured range.
    ///
    /// All four corners are read in any case, which is cheaper than a branch.
    #[inline(always)] // Passing the structs costs as much as the computation.
    #[allow(clippy::inline_always)]
    pub(crate) fn read(&self, batch: Bracket, length: Bracket) -> Reading {
        let Some(latencies) = self.latency_us.get(..self.ln_slowdown.len()) else {
            return Reading::NONE;
        };
        let columns = self.length.values().len();
        // The compiler knows that both slices have the same length, so one bounds check serves both.
        let corner = |row: usize, column: usize| {
            let cell = row * columns + column;
            match (latencies.get(cell), self.ln_slowdown.get(cell)) {
                (Some(latency_us), Some(ln_slowdown)) => (f64::from(*ln_slowdown), *latency_us),
                _ => (0.0, f32::NAN),
            }
        };
        let (low_near, latency) = corner(batch.lo, length.lo);
        let (low_far, other) = corner(batch.lo, length.hi);
        let (high_near, third) = corner(batch.hi, length.lo);
        let (high_far, fourth) = corner(batch.hi, length.hi);
        let low = low_near + (low_far - low_near) * length.weight;
        let high = high_near + (high_far - high_near) * length.weight;
        // The sum is NaN if one of the four is.
        let known = !((latency + other) + (third + fourth)).is_nan();
        let position = select_unpredictable(known, batch.position.max(length.position), Position::Above);
        Reading {
            latency_us: (position == Position::On).then_some(latency),
            ln_slowdown: low + (high - low) * batch.weight,
            provenance: position.provenance(),
        }
    }

    /// Returns the measured cells whose slowdowns answer for the cell in row `batch` and column `length` (indices).
    ///
    /// A measured cell answers for itself. A hole takes the mean of the next smaller and the next larger measured batch
    /// at its length, linear in the logarithm of the batch, or the only such batch. At a length without measurements, a
    /// hole takes the next shorter measured length of its batch.
    pub fn answering_cells(&self, batch: usize, length: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let is_measured = |[row, column]: [usize; 2]| self.latency_us(row, column).is_some();
        let rows = self.batch.values().len();
        let cells = answering_cells([batch, length], rows, is_measured);
        cells.into_iter().flatten().map(<(usize, usize)>::from)
    }
}

impl<'a> From<Points<'a>> for Grid<'a> {
    #[inline]
    fn from(points: Points<'a>) -> Grid<'a> {
        let Points { axes: [batch, length], latency_us, ln_slowdown } = points;
        Grid { batch, length, latency_us, ln_slowdown }
    }
}
