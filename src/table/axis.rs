//! A sorted axis of measured coordinates and the search on it.

use crate::math::ln;

/// Measured coordinates in ascending order, with their logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'a> {
    values: &'a [u32],
    ln: &'a [f64],
    /// One over the distance of each point to the next in logarithms; one fewer than points.
    inverse_span: &'a [f64],
}

/// Where a coordinate lies on an [`Axis`]: between the points `lo` and `hi`, `weight` of the way in
/// logarithms. `lo` equals `hi` on a point and beyond the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// Index of the point at or below (above the axis: the last one).
    pub lo: usize,
    /// Index of the point at or above (below the axis: the first one).
    pub hi: usize,
    /// Share of `hi`, 0 to 1.
    pub weight: f64,
    /// Relation to the measured range.
    pub place: Place,
}

/// Relation of a coordinate to the measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a measured coordinate.
    On,
    /// Between two.
    Between,
    /// Before the first.
    Below,
    /// After the last.
    Above,
}

impl<'a> Axis<'a> {
    /// An axis of `values` in strictly ascending order, none zero, their natural logarithms and one
    /// over the differences of these.
    ///
    /// Generated code calls this; it is not checked again.
    #[doc(hidden)]
    pub const fn from_generated(
        values: &'a [u32],
        ln: &'a [f64],
        inverse_span: &'a [f64],
    ) -> Axis<'a> {
        Axis {
            values,
            ln,
            inverse_span,
        }
    }

    /// The coordinates.
    pub const fn values(&self) -> &'a [u32] {
        self.values
    }

    /// The logarithms of the coordinates.
    pub(crate) const fn ln_values(&self) -> &'a [f64] {
        self.ln
    }

    /// First and last coordinate; `None` on an empty axis.
    pub fn range(&self) -> Option<(u32, u32)> {
        Some((*self.values.first()?, *self.values.last()?))
    }

    /// Finds `x` by binary search.
    pub fn locate(&self, x: f64) -> Bracket {
        self.locate_ln(x, ln(x))
    }

    /// [`locate`](Self::locate) for callers that know the logarithm of `x`.
    pub(crate) fn locate_ln(&self, x: f64, ln_x: f64) -> Bracket {
        let hi = self.values.partition_point(|&value| f64::from(value) < x);
        let Some(&above) = self.values.get(hi) else {
            let last = self.values.len().saturating_sub(1);
            return Bracket {
                lo: last,
                hi: last,
                weight: 0.0,
                place: Place::Above,
            };
        };
        if f64::from(above) <= x {
            return Bracket {
                lo: hi,
                hi,
                weight: 0.0,
                place: Place::On,
            };
        }
        let lo = hi.wrapping_sub(1);
        let (Some(ln_lo), Some(inverse_span)) = (self.ln.get(lo), self.inverse_span.get(lo)) else {
            return Bracket {
                lo: hi,
                hi,
                weight: 0.0,
                place: Place::Below,
            };
        };
        let weight = (ln_x - ln_lo) * inverse_span;
        Bracket {
            lo,
            hi,
            weight,
            place: Place::Between,
        }
    }
}
