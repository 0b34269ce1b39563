//! Latencies measured over two axes, with holes.

use super::{Axis, Bracket, Class, Place, Points, Reading};

/// Latencies of one attention shape over batch (rows) and length (columns).
///
/// Grids are ragged: large batches with long contexts do not fit a GPU. A hole holds NaN, is never
/// read as a number, and takes the slowdown of the next smaller measured batch at the same length
/// (bandwidth is saturated there, so the batch hardly matters any more).
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    batch: Axis<'a>,
    length: Axis<'a>,
    latency_us: &'a [f32],
    ln_slowdown: &'a [f32],
}

impl<'a> Grid<'a> {
    /// The measured batches.
    pub const fn batch(&self) -> Axis<'a> {
        self.batch
    }

    /// The measured lengths.
    pub const fn length(&self) -> Axis<'a> {
        self.length
    }

    /// The latency, microseconds, in row `batch` and column `length` (indices); `None` in a hole.
    pub fn latency_us(&self, batch: usize, length: usize) -> Option<f32> {
        measured(self.latency_us, self.index(batch, length)?)
    }

    /// Latencies and slowdowns, row by row, NaN in holes.
    #[cfg(feature = "alloc")] // leave_one_out
    pub(crate) const fn arrays(&self) -> (&'a [f32], &'a [f32]) {
        (self.latency_us, self.ln_slowdown)
    }

    /// How many points were measured.
    pub fn measured_points(&self) -> usize {
        self.latency_us
            .iter()
            .filter(|latency| !latency.is_nan())
            .count()
    }

    /// The slowdown at (batch, length): bilinear in logarithms, held beyond the ends and in holes, which
    /// are outside of what was measured.
    ///
    /// All four corners are read whatever the place, which is cheaper than to branch on it.
    #[inline]
    pub(crate) fn read(&self, batch: Bracket, length: Bracket) -> Reading {
        let (low, low_known) = self.read_row(batch.lo, length);
        let (high, high_known) = self.read_row(batch.hi, length);
        let places = batch.place.provenance().worst(length.place.provenance());
        let on = batch.place == Place::On && length.place == Place::On;
        Reading {
            latency_us: self.latency_us(batch.lo, length.lo).filter(|_| on),
            ln_slowdown: low + (high - low) * batch.weight,
            provenance: if low_known & high_known {
                places
            } else {
                places.worst(Class::Interpolated.outside())
            },
        }
    }

    /// The slowdown in a row at `length`, and whether all it took was measured.
    #[inline]
    fn read_row(&self, row: usize, length: Bracket) -> (f64, bool) {
        let (low, low_known) = self.slowdown(row, length.lo);
        let (high, high_known) = self.slowdown(row, length.hi);
        let known = low_known & high_known;
        (low + (high - low) * length.weight, known)
    }

    /// The slowdown of a cell, and whether it was measured there.
    #[inline]
    fn slowdown(&self, row: usize, column: usize) -> (f64, bool) {
        match self.ln_slowdown_at(row, column) {
            Some(value) => (value, true),
            None => (self.fill(row, column), false),
        }
    }

    /// The slowdown of a hole. Every row and every column has a measured cell, so there is one.
    #[cold]
    fn fill(&self, row: usize, column: usize) -> f64 {
        let cell = self.answering_cell(row, column);
        cell.and_then(|(row, column)| self.ln_slowdown_at(row, column))
            .unwrap_or_default()
    }

    /// The measured cell whose slowdown answers for the cell in row `batch` and column `length`
    /// (indices): itself; for a hole that of the nearest measured batch at the same length, smaller
    /// ones first; at a length without any, that of the next shorter length in the row.
    pub fn answering_cell(&self, batch: usize, length: usize) -> Option<(usize, usize)> {
        let measured = |&(row, column): &(usize, usize)| self.latency_us(row, column).is_some();
        let smaller = (0..=batch).rev().map(|row| (row, length));
        let larger = (batch + 1..self.batch.values().len()).map(|row| (row, length));
        let shorter = (0..length).rev().map(|column| (batch, column));
        smaller.chain(larger).chain(shorter).find(measured)
    }

    fn ln_slowdown_at(&self, row: usize, column: usize) -> Option<f64> {
        measured(self.ln_slowdown, self.index(row, column)?).map(f64::from)
    }

    fn index(&self, row: usize, column: usize) -> Option<usize> {
        let columns = self.length.values().len();
        (column < columns).then_some(row * columns + column)
    }
}

impl<'a> From<Points<'a>> for Grid<'a> {
    #[inline]
    fn from(points: Points<'a>) -> Grid<'a> {
        let Points {
            axes: [batch, length],
            latency_us,
            ln_slowdown,
        } = points;
        Grid {
            batch,
            length,
            latency_us,
            ln_slowdown,
        }
    }
}

fn measured(values: &[f32], index: usize) -> Option<f32> {
    values.get(index).copied().filter(|value| !value.is_nan())
}
