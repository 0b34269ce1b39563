//! A sorted axis of measured coordinates and the search on it.

use crate::math::ln;

/// Measured coordinates in ascending order, with their logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'a> {
    values: &'a [u32],
    /// The logarithm of each point, and one over the distance to the next one's; 0 after the last.
    logs: &'a [[f64; 2]],
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
    /// An axis of `values` in strictly ascending order, none zero, and for each its natural logarithm
    /// and one over the distance to the next one's, 0 after the last.
    pub(super) const fn new(values: &'a [u32], logs: &'a [[f64; 2]]) -> Axis<'a> {
        Axis { values, logs }
    }

    /// The coordinates.
    pub const fn values(&self) -> &'a [u32] {
        self.values
    }

    /// The logarithms of the coordinates.
    pub(crate) fn ln_values(&self) -> impl Iterator<Item = f64> + use<'a> {
        self.logs.iter().map(|[ln, _]| *ln)
    }

    /// First and last coordinate; `None` on an empty axis.
    pub fn range(&self) -> Option<(u32, u32)> {
        Some((*self.values.first()?, *self.values.last()?))
    }

    /// Finds `x` by binary search.
    #[inline]
    pub fn locate(&self, x: f64) -> Bracket {
        self.locate_ln(x, ln(x))
    }

    /// [`locate`](Self::locate) for callers that know the logarithm of `x`.
    ///
    /// Branches on nothing that depends on the query: a mispredicted one costs more than the rest.
    #[inline]
    pub(crate) fn locate_ln(&self, x: f64, ln_x: f64) -> Bracket {
        let count = self.values.len();
        // Truncation changes no comparison with whole numbers; it saturates at both ends.
        let whole = x as u32;
        let above = self.values.partition_point(|&value| value <= whole);
        let lo = above.saturating_sub(1);
        let next = above.min(count.saturating_sub(1));
        let point = f64::from(self.values.get(lo).copied().unwrap_or(0));
        let [ln_lo, inverse_span] = self.logs.get(lo).copied().unwrap_or_default();
        // Below the axis the difference is negative, after the last point the inverse span is 0.
        let weight = ((ln_x - ln_lo) * inverse_span).max(0.0);
        #[allow(clippy::float_cmp)] // Whole numbers: exactly on a point or not.
        let on = point == x;
        Bracket {
            lo,
            hi: if on { lo } else { next },
            weight,
            place: if on {
                Place::On
            } else if above == 0 {
                Place::Below
            } else if above == count {
                Place::Above
            } else {
                Place::Between
            },
        }
    }
}
