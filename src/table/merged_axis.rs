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
    /// Returns the coordinates of all `axes`, or those of the first axis if there are more than [`MAX_POINTS`].
    pub(crate) fn of<'t>(axes: impl Iterator<Item = Axis<'t>> + Clone) -> MergedAxis {
        let first = axes.clone().next().unwrap_or(Axis::new(&[], &[]));
        let is_first = |axis: Axis<'t>| axis.values() == first.values();
        if axes.clone().all(is_first) {
            return MergedAxis::copy(first);
        }
        MergedAxis::merge(axes).unwrap_or_else(|| MergedAxis::copy(first))
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

    fn merge<'t>(axes: impl Iterator<Item = Axis<'t>> + Clone) -> Option<MergedAxis> {
        let mut merged = MergedAxis::NONE;
        let mut last = 0; // Coordinates are positive.
        let next = |last: u32| {
            let above = |axis: Axis<'t>| axis.values().iter().find(|&&value| value > last);
            axes.clone().filter_map(above).min()
        };
        while let Some(&value) = next(last) {
            *merged.values.get_mut(merged.len)? = value;
            merged.len += 1;
            last = value;
        }
        let points = axis_points(merged.values.get(..merged.len)?);
        for (slot, point) in merged.points.iter_mut().zip(points) {
            *slot = point;
        }
        Some(merged)
    }

    /// Returns the axis.
    #[inline]
    pub(crate) fn axis(&self) -> Axis<'_> {
        let values = self.values.get(..self.len).unwrap_or_default();
        Axis::new(values, self.points.get(..self.len).unwrap_or_default())
    }

    const NONE: MergedAxis = MergedAxis {
        values: [0; MAX_POINTS],
        points: [NOWHERE; MAX_POINTS],
        len: 0,
    };
}
