//! Latencies measured over two axes, with holes.

use rooflut_roofline::answering_cell;

use super::{Axis, Bracket, Class, Place, Points, Reading};

/// Latencies of one attention shape over batch (rows) and length (columns).
///
/// Grids are ragged: large batches with long contexts do not fit a GPU. A hole's latency is NaN and
/// never read as a number; its slowdown is that of the next smaller measured batch at the same length
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
        let columns = self.length.values().len();
        let inside = length < columns;
        let latency = inside.then(|| self.latency(batch * columns + length));
        latency.flatten().filter(|latency| !latency.is_nan())
    }

    /// Latencies, NaN in holes, and slowdowns, row by row.
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
    pub fn read(&self, batch: Bracket, length: Bracket) -> Reading {
        let columns = self.length.values().len();
        let [low, high] = [batch.lo, batch.hi].map(|row| {
            let row = row * columns;
            [row + length.lo, row + length.hi]
        });
        let latencies = |[near, far]: [usize; 2]| {
            self.latency(near).unwrap_or(f32::NAN) + self.latency(far).unwrap_or(f32::NAN)
        };
        let slowdown = |[near, far]: [usize; 2]| {
            let near = self.slowdown(near);
            near + (self.slowdown(far) - near) * length.weight
        };
        let (at_low, at_high) = (slowdown(low), slowdown(high));
        // The sum is NaN if one of the four is.
        let known = !(latencies(low) + latencies(high)).is_nan();
        let places = batch.place.provenance().worst(length.place.provenance());
        let on = batch.place == Place::On && length.place == Place::On;
        let [near, _] = low;
        Reading {
            latency_us: self.latency(near).filter(|_| on & known),
            ln_slowdown: at_low + (at_high - at_low) * batch.weight,
            provenance: if known {
                places
            } else {
                places.worst(Class::Interpolated.outside())
            },
        }
    }

    /// The measured cell whose slowdown answers for the cell in row `batch` and column `length`
    /// (indices): itself; for a hole that of the nearest measured batch at the same length, smaller
    /// ones first; at a length without any, that of the next shorter length in the row.
    pub fn answering_cell(&self, batch: usize, length: usize) -> Option<(usize, usize)> {
        let is_measured = |row, column| self.latency_us(row, column).is_some();
        let rows = self.batch.values().len();
        answering_cell([batch, length], rows, is_measured).map(<(usize, usize)>::from)
    }

    #[inline]
    fn latency(&self, cell: usize) -> Option<f32> {
        self.latency_us.get(cell).copied()
    }

    #[inline]
    fn slowdown(&self, cell: usize) -> f64 {
        self.ln_slowdown
            .get(cell)
            .map_or(0.0, |&value| f64::from(value))
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
