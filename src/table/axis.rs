//! A sorted axis of measured coordinates and its search.

use core::hint::select_unpredictable;
use core::ops::RangeInclusive;

use rooflut_roofline::AxisPoint;

use crate::hardware::operation::MAX_POINTS;
use crate::math::{larger, ln, ln_of_normal};

/// Measured coordinates in ascending order, with their logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'a> {
    values: &'a [u32],
    /// One point per value.
    points: &'a [AxisPoint],
}

/// The search result on an empty axis.
pub(super) const NOWHERE: AxisPoint = AxisPoint { value: 0.0, ln: 0.0, inverse_span: 0.0, index: 0, is_last: true };

/// Position of a coordinate on an [`Axis`]: between the points `lo` and `hi`, at the fraction `weight` of their
/// distance in logarithms. `lo` equals `hi` on a point and beyond the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bracket {
    /// Index of the point at or below (above the axis: the last one).
    pub(crate) lo: usize,
    /// Index of the point at or above (below the axis: the first one).
    pub(crate) hi: usize,
    /// Share of `hi`, 0 to 1.
    pub(crate) weight: f64,
    /// Relation to the measured range.
    pub(crate) position: Position,
}

/// Relation of a coordinate to the measured ones, ordered from the most to the least certain answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Position {
    /// On a measured coordinate.
    On,
    /// Between two measured coordinates.
    Between,
    /// Before the first coordinate.
    Below,
    /// After the last coordinate.
    Above,
}

impl<'a> Axis<'a> {
    /// Creates an axis of `values`, which are positive and strictly ascending, with one point each.
    pub(super) const fn new(values: &'a [u32], points: &'a [AxisPoint]) -> Axis<'a> {
        Axis { values, points }
    }

    /// Returns the coordinates.
    pub const fn values(&self) -> &'a [u32] {
        self.values
    }

    /// Returns the points, one per coordinate.
    pub(super) const fn points(&self) -> &'a [AxisPoint] {
        self.points
    }

    /// Returns the logarithms of the coordinates.
    pub(crate) fn ln_values(&self) -> impl Iterator<Item = f64> + use<'a> {
        self.points.iter().map(|point| point.ln)
    }

    /// Returns the first and last coordinate, or `None` on an empty axis.
    pub fn range(&self) -> Option<(u32, u32)> {
        Some((*self.values.first()?, *self.values.last()?))
    }

    /// Returns the indices of the points around `x`: two, or one if `x` is on a point or beyond an end.
    pub fn around(&self, x: f64) -> RangeInclusive<usize> {
        let at = self.locate_ln(x, ln(x));
        at.lo..=at.hi
    }

    /// Locates a finite `x` of at least 1.
    #[inline]
    pub(crate) fn locate_from_1(&self, x: f64) -> Bracket {
        self.locate_ln(x, ln_of_normal(x))
    }

    /// Locates `x`, given its logarithm.
    ///
    /// No branch depends on the query, because a mispredicted branch costs more than the rest.
    #[inline(always)] // Passing the structs costs as much as the computation.
    #[allow(clippy::inline_always)]
    pub(crate) fn locate_ln(&self, x: f64, ln_x: f64) -> Bracket {
        let point = self.last_not_above(x);
        // Below the axis the difference is negative, after the last point the inverse span is 0.
        let weight = larger((ln_x - point.ln) * point.inverse_span, 0.0);
        let position = select_unpredictable(point.is_last, Position::Above, Position::Between);
        let position = select_unpredictable(x < point.value, Position::Below, position);
        #[allow(clippy::float_cmp)] // Whole numbers: exactly on a point or not.
        let position = select_unpredictable(point.value == x, Position::On, position);
        let lo = point.index as usize;
        Bracket { lo, hi: lo + usize::from(position == Position::Between), weight, position }
    }

    /// Returns the last point that is not above `x`, or the first if there is none.
    #[inline]
    fn last_not_above(&self, x: f64) -> &'a AxisPoint {
        // All queries of a table take the same branch.
        let found = match self.points.len() {
            16.. => last_of_16(self.points, x),
            8.. => last_of_8(self.points, x),
            4.. => last_of_4(self.points, x),
            2.. => last_of_2(self.points, x),
            _ => self.points.first(),
        };
        found.unwrap_or(&NOWHERE)
    }
}

/// Returns the last of 16 to 32 points that is not above `x`, or the first if there is none.
#[inline]
fn last_of_16(points: &[AxisPoint], x: f64) -> Option<&AxisPoint> {
    last_of_8(window::<16>(points, x)?, x)
}

/// As [`last_of_16`], for 8 to 16 points.
#[inline]
fn last_of_8(points: &[AxisPoint], x: f64) -> Option<&AxisPoint> {
    last_of_4(window::<8>(points, x)?, x)
}

/// As [`last_of_16`], for 4 to 8 points.
#[inline]
fn last_of_4(points: &[AxisPoint], x: f64) -> Option<&AxisPoint> {
    last_of_2(window::<4>(points, x)?, x)
}

/// As [`last_of_16`], for 2 to 4 points.
#[inline]
fn last_of_2(points: &[AxisPoint], x: f64) -> Option<&AxisPoint> {
    window::<1>(window::<2>(points, x)?, x)?.first()
}

/// Returns the last N of N to 2 N points, or the first N if the last ones begin above `x`.
///
/// Takes three instructions if the compiler knows the number of points, as in the functions above. The compiler does
/// not unroll a loop over these steps: a lookup then takes 40 instructions more.
#[inline]
fn window<const N: usize>(points: &[AxisPoint], x: f64) -> Option<&[AxisPoint; N]> {
    let (first, last) = (points.first_chunk::<N>()?, points.last_chunk::<N>()?);
    let is_late = last.first()?.value <= x;
    Some(select_unpredictable(is_late, last, first))
}

const _: () = assert!(MAX_POINTS <= 32, "two windows of 16 cover 32 values");
