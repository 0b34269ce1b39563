//! The measured coordinates around a value, for linear interpolation.

use rooflut::table::{Class, Extent, Provenance};

/// The two coordinates of an axis around a value. Both are the same on a coordinate and beyond the ends.
pub(super) struct Corners {
    pub(super) lo: u32,
    pub(super) hi: u32,
    /// Share of `hi`.
    weight: f64,
    pub(super) place: Provenance,
}

impl Corners {
    /// Returns the coordinates of an axis, which need not be sorted, around `x`, or `None` if the axis is empty.
    pub(super) fn around(axis: impl Iterator<Item = u32> + Clone, x: f64) -> Option<Corners> {
        let below = axis.clone().filter(|&value| f64::from(value) <= x).max();
        let above = axis.filter(|&value| f64::from(value) >= x).min();
        let (lo, hi) = (below.or(above)?, above.or(below)?);
        if lo == hi {
            let place = place_of(f64::from(lo), x);
            return Some(Corners { lo, hi, weight: 0.0, place });
        }
        Some(Corners { lo, hi, weight: (x - f64::from(lo)) / f64::from(hi - lo), place: Class::Interpolated.inside() })
    }

    /// Returns the weighted mean of the values at the two coordinates.
    pub(super) fn blend(&self, value: impl Fn(u32) -> f64) -> f64 {
        value(self.lo) * (1.0 - self.weight) + value(self.hi) * self.weight
    }
}

/// Returns the provenance of the value of the first or last row for a query at `x`.
pub(super) fn place_of(row: f64, x: f64) -> Provenance {
    if (row - x).abs() > 0.0 { Class::Interpolated.outside() } else { Class::Measured.inside() }
}

/// Returns whether `x` lies between the smallest and the largest coordinate of an axis.
pub(super) fn extent(axis: impl Iterator<Item = u32> + Clone, x: f64) -> Extent {
    let mut below = axis.clone();
    let mut above = axis;
    if below.any(|value| f64::from(value) <= x) && above.any(|value| f64::from(value) >= x) {
        Extent::Inside
    } else {
        Extent::Outside
    }
}
