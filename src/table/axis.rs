//! A sorted axis of measured coordinates and the search on it.

use core::hint::select_unpredictable;

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
    #[inline(always)] // It takes and returns structs, which cost as much as what it does.
    #[allow(clippy::inline_always)]
    pub(crate) fn locate_ln(&self, x: f64, ln_x: f64) -> Bracket {
        let lo = self.last_not_above(x);
        let point = self.values.get(lo).map_or(0.0, |&value| f64::from(value));
        let [ln_lo, inverse_span] = self.logs.get(lo).copied().unwrap_or_default();
        // Below the axis the difference is negative, after the last point the inverse span is 0.
        let weight = larger((ln_x - ln_lo) * inverse_span, 0.0);
        let place = select_unpredictable(lo + 1 >= self.values.len(), Place::Above, Place::Between);
        let place = select_unpredictable(x < point, Place::Below, place);
        #[allow(clippy::float_cmp)] // Whole numbers: exactly on a point or not.
        let place = select_unpredictable(point == x, Place::On, place);
        Bracket {
            lo,
            hi: lo + usize::from(place == Place::Between),
            weight,
            place,
        }
    }

    /// Index of the last value that is not above `x`, 0 if there is none.
    #[inline]
    fn last_not_above(&self, x: f64) -> usize {
        // Truncation changes no comparison with whole numbers; it saturates at both ends.
        let whole = x as u32;
        // All queries of a table take the same way here.
        let found = match self.values.len() {
            16.. => last_in_window::<16>(self.values, whole),
            8.. => last_in_window::<8>(self.values, whole),
            4.. => last_in_window::<4>(self.values, whole),
            _ => last_in_window::<2>(self.values, whole),
        };
        found.unwrap_or(0)
    }
}

/// Index of the last of N to 2 N ascending values that is not above `whole`, 0 if there is none; `None`
/// for fewer values. N is a power of two.
///
/// The first N values or the last N have it, and a search in N values needs no check of bounds.
#[inline]
fn last_in_window<const N: usize>(values: &[u32], whole: u32) -> Option<usize> {
    let (first, last) = (values.first_chunk::<N>()?, values.last_chunk::<N>()?);
    let [start, ..] = last.as_slice() else {
        return None;
    };
    let is_late = *start <= whole;
    let window = select_unpredictable(is_late, last, first);
    let start = select_unpredictable(is_late, values.len() - N, 0);
    let (mut lo, mut step) = (0, N / 2);
    while step > 0 {
        let next = lo | step;
        let is_above = window.get(next).is_none_or(|value| *value > whole);
        lo = select_unpredictable(is_above, lo, next);
        step /= 2;
    }
    Some(start + lo)
}

const _: () = assert!(MAX_POINTS <= 32, "two windows of 16 cover 32 values");
