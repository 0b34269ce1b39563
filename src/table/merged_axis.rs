//! An axis that several curves share.

use rooflut_roofline::{AxisPoint, axis_points};

use super::Axis;
use super::axis::NOWHERE;
use crate::hardware::operation::MAX_POINTS;

/// The coordinates of several axes, in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct MergedAxis {
    values: [u32; MAX_POINTS],
    points: [AxisPoint; MAX_POINTS],
    len: usize,
}

impl MergedAxis {
    /// Returns the coordinates of all `axes`; of more than [`MAX_POINTS`] the first, the last, and others spread evenly
    /// over their order.
    pub(crate) fn of<'t>(axes: impl Iterator<Item = Axis<'t>> + Clone) -> MergedAxis {
        let first = axes.clone().next().unwrap_or(Axis::new(&[], &[]));
        let is_first = |axis: Axis<'t>| axis.values() == first.values();
        if axes.clone().all(is_first) {
            return MergedAxis::copy(first);
        }
        MergedAxis::merge(axes)
    }

    fn copy(axis: Axis<'_>) -> MergedAxis {
        let mut copy = MergedAxis::NONE;
        for (slot, value) in copy.values.iter_mut().zip(axis.values()) {
            *slot = *value;
        }
        for (slot, point) in copy.points.iter_mut().zip(axis.points()) {
            *slot = *point;
        }
        copy.len = axis.values().len();
        copy
    }

    fn merge<'t>(axes: impl Iterator<Item = Axis<'t>> + Clone) -> MergedAxis {
        let mut merged = MergedAxis::NONE;
        let next = |last: u32| {
            let above = |axis: Axis<'t>| axis.values().iter().find(|&&value| value > last);
            axes.clone().filter_map(above).min().copied()
        };
        // Coordinates are positive.
        let all = || core::iter::successors(next(0), |last| next(*last));
        let last = all().count().saturating_sub(1).max(1);
        let rank = |place: usize| place * (MAX_POINTS - 1) / last;
        let kept = all().enumerate().filter(|&(place, _)| place == 0 || rank(place) > rank(place - 1));
        for (slot, (_, value)) in merged.values.iter_mut().zip(kept) {
            *slot = value;
            merged.len += 1;
        }
        let points = axis_points(merged.values.get(..merged.len).unwrap_or_default());
        for (slot, point) in merged.points.iter_mut().zip(points) {
            *slot = point;
        }
        merged
    }

    /// Returns the axis.
    #[inline]
    pub(crate) fn axis(&self) -> Axis<'_> {
        let values = self.values.get(..self.len).unwrap_or_default();
        Axis::new(values, self.points.get(..self.len).unwrap_or_default())
    }

    const NONE: MergedAxis = MergedAxis { values: [0; MAX_POINTS], points: [NOWHERE; MAX_POINTS], len: 0 };
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn more_coordinates_than_an_axis_has_are_thinned_to_the_whole_range() {
        let merged = |axes: &[&[u32]]| {
            let axes = axes.iter().map(|values| Axis::new(values, &[]));
            MergedAxis::of(axes).axis().values().to_vec()
        };
        assert_eq!(merged(&[&[1, 4, 9], &[2, 4]]), [1, 2, 4, 9]);
        let odd: Vec<u32> = (0..32).map(|value| 2 * value + 1).collect();
        let even: Vec<u32> = (1..=32).map(|value| 2 * value).collect();
        let thinned = merged(&[&odd, &even]);
        assert_eq!(thinned.len(), MAX_POINTS);
        assert_eq!((thinned[0], thinned[31]), (1, 64));
        assert!(thinned.windows(2).all(|pair| [2, 3].contains(&(pair[1] - pair[0]))));
        // No coordinate is left out where all have a place.
        assert_eq!(merged(&[&odd[..16], &even[..16]]), (1..=32).collect::<Vec<_>>());
    }
}
