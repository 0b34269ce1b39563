//! Axes with more points than a table set can hold.

use std::collections::{BTreeMap, BTreeSet};

use rooflut_codegen::MeasuredKernel;

use crate::kernel;
use crate::reading::Reading;

pub(crate) use rooflut_roofline::operation::MAX_POINTS;

/// Returns the indices of readings at surplus coordinates.
///
/// An axis with more than 32 values keeps the smallest, the largest and the powers of two, then values
/// near the logarithmic middle of the widest gaps.
pub(crate) fn surplus(readings: &[Reading]) -> Vec<usize> {
    let mut axes = BTreeMap::<MeasuredKernel, [BTreeSet<u32>; 2]>::new();
    for row in readings {
        let [firsts, seconds] = axes.entry(kernel::shape(&row.kernel)).or_default();
        let [first, second] = row.kernel.point();
        firsts.insert(first);
        seconds.insert(second);
    }
    axes.retain(|_, axes| axes.iter().any(|axis| axis.len() > MAX_POINTS));
    for axis in axes.values_mut().flatten() {
        *axis = thinned(axis);
    }
    let is_surplus = |row: &Reading| {
        let [first, second] = row.kernel.point();
        axes.get(&kernel::shape(&row.kernel))
            .is_some_and(|[firsts, seconds]| !firsts.contains(&first) || !seconds.contains(&second))
    };
    let rows = readings.iter().enumerate();
    rows.filter(|(_, row)| is_surplus(row)).map(|(index, _)| index).collect()
}

/// Keeps at most [`MAX_POINTS`] of the values.
fn thinned(values: &BTreeSet<u32>) -> BTreeSet<u32> {
    if values.len() <= MAX_POINTS {
        return values.clone();
    }
    let ends = values.first().into_iter().chain(values.last());
    let mut kept: BTreeSet<u32> = ends.copied().collect();
    // Thirty of them at most.
    let powers = values.iter().filter(|value| value.is_power_of_two()).take(MAX_POINTS - 2);
    kept.extend(powers);
    while kept.len() < MAX_POINTS {
        let Some(value) = middle_of_widest_gap(values, &kept) else {
            break;
        };
        kept.insert(value);
    }
    kept
}

/// Returns the value nearest to the middle of the widest gap between kept values that has values in it.
fn middle_of_widest_gap(values: &BTreeSet<u32>, kept: &BTreeSet<u32>) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for (low, high) in kept.iter().zip(kept.iter().skip(1)) {
        let width = f64::from(*high) / f64::from(*low);
        if best.is_some_and(|(widest, _)| width <= widest) {
            continue;
        }
        // Nearest in the logarithms: the larger of value/middle and middle/value is smallest.
        let middle = f64::from(*low) * rooflut_roofline::math::sqrt(width);
        let away = |value: &u32| {
            let ratio = f64::from(*value) / middle;
            ratio.max(1.0 / ratio)
        };
        let inside = values.range((std::ops::Bound::Excluded(*low), std::ops::Bound::Excluded(*high)));
        if let Some(value) = inside.min_by(|a, b| away(a).total_cmp(&away(b))) {
            best = Some((width, *value));
        }
    }
    best.map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{files, gemm};

    #[test]
    fn an_axis_that_fits_stays_whole() {
        let rows: Vec<_> = (1..=32).map(|m| (gemm(64, m * 3), 1.0)).collect();
        assert_eq!(surplus(&files([&rows])), [0; 0]);
    }

    #[test]
    fn ends_and_powers_of_two_stay_and_the_rest_is_spread() {
        let values: BTreeSet<u32> = (3..=1000).collect();
        let kept = thinned(&values);
        assert_eq!(kept.len(), MAX_POINTS);
        for value in [3, 4, 8, 16, 32, 64, 128, 256, 512, 1000] {
            assert!(kept.contains(&value), "{value}");
        }
        let widest = kept.iter().zip(kept.iter().skip(1)).map(|(a, b)| f64::from(*b) / f64::from(*a));
        assert!(widest.max_by(f64::total_cmp).unwrap() < 1.5);
    }

    #[test]
    fn only_the_crowded_shape_is_thinned() {
        let mut rows: Vec<_> = (1..=100).map(|m| (gemm(64, m), 1.0)).collect();
        rows.push((gemm(128, 7), 1.0));
        let surplus = surplus(&files([&rows]));
        assert_eq!(surplus.len(), 100 - MAX_POINTS);
        assert!(!surplus.contains(&100));
    }
}
