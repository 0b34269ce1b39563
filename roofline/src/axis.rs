//! The coordinates of a measured axis as tables store them.

use crate::math::ln;

/// A coordinate of an axis, with the values that interpolation in logarithms needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisPoint {
    /// The coordinate.
    pub value: f64,
    /// Its natural logarithm.
    pub ln: f64,
    /// Reciprocal of the distance to the next point's logarithm; 0 for the last point.
    pub inverse_span: f64,
    /// Its index on the axis.
    pub index: u32,
    /// Whether it is the last.
    pub is_last: bool,
}

/// Returns the points of an axis with the given ascending coordinates.
///
/// ```
/// use rooflut_roofline::axis_points;
/// let points: Vec<_> = axis_points(&[1, 8]).collect();
/// assert_eq!((points[0].inverse_span * points[1].ln, points[0].is_last), (1.0, false));
/// assert_eq!((points[1].inverse_span, points[1].is_last), (0.0, true));
/// ```
pub fn axis_points(values: &[u32]) -> impl Iterator<Item = AxisPoint> {
    let next = values.iter().skip(1).map(Some).chain([None]);
    let indices = (0_u32..).zip(values.iter().zip(next));
    indices.map(|(index, (value, next))| {
        let value = f64::from(*value);
        let inverse = |next: &u32| 1.0 / (ln(f64::from(*next)) - ln(value));
        AxisPoint { value, ln: ln(value), inverse_span: next.map_or(0.0, inverse), index, is_last: next.is_none() }
    })
}
