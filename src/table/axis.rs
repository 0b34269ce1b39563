//! A sorted axis of measured coordinates and the search on it.

use crate::hardware::operation::MAX_POINTS;
use crate::math::{larger, ln, ln_of_normal};

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
    pub fn locate(&self, x: f64) -> Bracket {
        self.locate_ln(x, ln(x))
    }

    /// [`locate`](Self::locate) of a finite `x` of at least 1.
    #[inline]
    pub(crate) fn locate_from_1(&self, x: f64) -> Bracket {
        self.locate_ln(x, ln_of_normal(x))
    }

    /// [`locate`](Self::locate) for callers that know the logarithm of `x`.
    ///
    /// Branches on nothing that depends on the query: a mispredicted one costs more than the rest.
    #[inline]
    pub(crate) fn locate_ln(&self, x: f64, ln_x: f64) -> Bracket {
        let last = self.values.len().saturating_sub(1);
        let lo = self.last_not_above(x, last);
        let point = self.values.get(lo).map_or(0.0, |&value| f64::from(value));
        let [ln_lo, inverse_span] = self.logs.get(lo).copied().unwrap_or_default();
        // Below the axis the difference is negative, after the last point the inverse span is 0.
        let weight = larger((ln_x - ln_lo) * inverse_span, 0.0);
        #[allow(clippy::float_cmp)] // Whole numbers: exactly on a point or not.
        let place = if point == x {
            Place::On
        } else if x < point {
            Place::Below
        } else if lo == last {
            Place::Above
        } else {
            Place::Between
        };
        Bracket {
            lo,
            hi: lo + usize::from(place == Place::Between),
            weight,
            place,
        }
    }

    /// Index of the last value that is not above `x`, 0 if there is none; `last` is the largest index.
    #[inline]
    fn last_not_above(&self, x: f64, last: usize) -> usize {
        // Truncation changes no comparison with whole numbers; it saturates at both ends.
        let whole = x as u32;
        let mut lo = 0;
        // Steps to beyond the end read the last value: where that is not above either, it is the answer.
        let mut step = |size: usize| {
            let next = lo + size;
            let value = self.values.get(next.min(last)).copied().unwrap_or(0);
            lo = core::hint::select_unpredictable(value <= whole, next, lo);
        };
        // Of no two queries of a table does one take another way here.
        if last >= 8 {
            if last >= 16 {
                step(16);
            }
            step(8);
        }
        step(4);
        step(2);
        step(1);
        lo.min(last)
    }
}

const _: () = assert!(MAX_POINTS <= 32, "steps of 16 to 1 reach 32 values");
