//! Lines: rows that differ in one coordinate alone.

use std::collections::BTreeMap;

use rooflut_roofline::math::ln;

use crate::row::{Row, Shape};

/// Rows of a family that differ in one coordinate alone, in ascending order.
pub(crate) struct Line {
    /// The axis of that coordinate.
    pub(crate) axis: usize,
    /// The indices of the rows in the family.
    pub(crate) rows: Vec<usize>,
}

impl Line {
    /// Returns the lines along an axis through all rows.
    pub(crate) fn along(axis: usize, rows: &[Row]) -> Vec<Line> {
        let mut lines = BTreeMap::<(Shape, u32), Vec<usize>>::new();
        for (place, row) in rows.iter().enumerate() {
            let [first, second] = row.point;
            let other = if axis == 0 { second } else { first };
            lines.entry((row.shape, other)).or_default().push(place);
        }
        let lines = lines.into_values().map(|mut places| {
            places.sort_by_key(|&place| rows.get(place).map(|row| row.at(axis)));
            Line { axis, rows: places }
        });
        lines.collect()
    }
}

impl Row {
    /// Returns the coordinate on an axis.
    pub fn at(&self, axis: usize) -> u32 {
        let [first, second] = self.point;
        if axis == 0 { first } else { second }
    }

    pub(crate) fn ln_at(&self, axis: usize) -> f64 {
        ln(f64::from(self.at(axis)))
    }

    /// Returns the logarithm of the slowdown: latency over reference time.
    pub(crate) fn ln_slowdown(&self) -> f64 {
        ln(self.latency_us / self.reference_us)
    }
}
