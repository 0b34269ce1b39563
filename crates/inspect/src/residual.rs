//! Residuals: rows compared with their neighbours.
//!
//! The slowdown against the reference time varies slowly, which is why lookups interpolate it. The residual
//! of a row on a line is the logarithm of its slowdown over the one that its neighbours suggest: linear in
//! logarithms between two, and at an end that of the only one.
//!
//! A slowdown may also step, where a working set leaves a cache or another kernel takes over. Rows on both
//! sides of a step are off the line between their neighbours, but not beyond both of them, and are not
//! reported. At an end, a fast row may be one side of a step; a slow row is more often a first run.

use std::collections::BTreeMap;

use crate::family::Family;
use crate::line::Line;
use crate::row::Row;
use crate::stats::{median, robust_deviation};

/// The position of a row on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    First,
    Between,
    Last,
}

/// A row, compared with its neighbours on one line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Residual {
    /// Its index in the family.
    pub(crate) row: usize,
    axis: usize,
    side: Side,
    /// Its coordinate on the axis.
    at: u32,
    /// The residual, a logarithm: above 0 if the row is slower than its neighbours.
    value: f64,
    /// Whether the row is beyond both neighbours; at an end slower than the only one.
    stands_out: bool,
}

/// Least distance beyond a neighbour, as a logarithm (12 %).
const CLEARLY: f64 = 0.113;

/// Returns the residuals on a line without the rows that are left out; none for fewer than three rows.
pub(crate) fn residuals(family: &Family, line: &Line, left_out: &[bool]) -> Vec<Residual> {
    let kept = |index: &&usize| !left_out.get(**index).copied().unwrap_or_default();
    let rows: Vec<(usize, &Row)> =
        line.rows.iter().filter(kept).filter_map(|&place| Some((place, family.rows.get(place)?))).collect();
    let axis = line.axis;
    let residual = |(row, own): (usize, &Row), side, expected: f64, [low, high]: [f64; 2]| {
        let slowdown = own.ln_slowdown();
        Residual {
            row,
            axis,
            side,
            at: own.at(axis),
            value: slowdown - expected,
            stands_out: slowdown < low - CLEARLY || slowdown > high + CLEARLY,
        }
    };
    let mut found = Vec::new();
    for window in rows.windows(3) {
        let &[before, own, after] = window else {
            continue;
        };
        let span = after.1.ln_at(axis) - before.1.ln_at(axis);
        let weight = (own.1.ln_at(axis) - before.1.ln_at(axis)) / span;
        let (low, high) = (before.1.ln_slowdown(), after.1.ln_slowdown());
        let range = [low.min(high), low.max(high)];
        let expected = low + (high - low) * weight;
        found.push(residual(own, Side::Between, expected, range));
    }
    if found.is_empty() {
        return found;
    }
    if let [first, second, ..] = rows.as_slice() {
        let expected = second.1.ln_slowdown();
        let slower = [f64::NEG_INFINITY, expected];
        found.push(residual(*first, Side::First, expected, slower));
    }
    if let [.., second, last] = rows.as_slice() {
        let expected = second.1.ln_slowdown();
        let slower = [f64::NEG_INFINITY, expected];
        found.push(residual(*last, Side::Last, expected, slower));
    }
    found
}

/// The distribution of the residuals of a family.
pub(crate) struct Habits {
    /// The median at a coordinate of many lines: kernels change their tiles there.
    at: BTreeMap<(usize, Side, u32), f64>,
    /// The median over an axis, and the deviation around the medians.
    along: BTreeMap<(usize, Side), (f64, f64)>,
}

/// Least number of residuals for a median of their own.
const MANY: usize = 5;
/// Least number of residuals for a deviation of their own.
const ENOUGH: usize = 8;
/// The deviation for fewer residuals: the largest of the built-in sets.
const USUAL: f64 = 0.065;
/// The least deviation: measured tables are not as regular as synthetic ones.
const LEAST: f64 = 0.01;

/// The distance of a row from the latency that its neighbours suggest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deviation {
    /// The distance, a logarithm: above 0 if the row is slower.
    pub(crate) ln_ratio: f64,
    /// The distance in standard deviations of the family.
    pub(crate) far: f64,
    /// Whether it is beyond both neighbours.
    pub(crate) stands_out: bool,
}

impl Habits {
    pub(crate) fn of(residuals: &[Residual]) -> Habits {
        let mut at = BTreeMap::<_, Vec<f64>>::new();
        let mut along = BTreeMap::<_, Vec<f64>>::new();
        for residual in residuals {
            let Residual { axis, side, value, .. } = *residual;
            at.entry((axis, side, residual.at)).or_default().push(value);
            along.entry((axis, side)).or_default().push(value);
        }
        let at = at
            .into_iter()
            .filter(|(_, values)| values.len() >= MANY)
            .filter_map(|(key, values)| Some((key, median(values)?)));
        let middles = along.into_iter().map(|(key, values)| {
            let many = values.len() >= MANY;
            let middle = many.then(|| median(values)).flatten();
            (key, (middle.unwrap_or_default(), USUAL))
        });
        let mut habits = Habits { at: at.collect(), along: middles.collect() };
        let mut centred = BTreeMap::<_, Vec<f64>>::new();
        for residual in residuals {
            let key = (residual.axis, residual.side);
            centred.entry(key).or_default().push(habits.centred(residual));
        }
        for (key, (_, deviation)) in &mut habits.along {
            let values = centred.get(key).map_or(&[][..], Vec::as_slice);
            if let (ENOUGH.., Some(found)) = (values.len(), robust_deviation(values, 0.0)) {
                *deviation = found.max(LEAST);
            }
        }
        habits
    }

    /// Returns a residual minus the median at its coordinate.
    fn centred(&self, residual: &Residual) -> f64 {
        let Residual { axis, side, value, .. } = *residual;
        let at = self.at.get(&(axis, side, residual.at)).copied();
        let along = self.along.get(&(axis, side)).map(|(middle, _)| *middle);
        value - at.or(along).unwrap_or_default()
    }

    pub(crate) fn judge(&self, residual: &Residual) -> Deviation {
        let along = self.along.get(&(residual.axis, residual.side));
        let (_, deviation) = along.copied().unwrap_or((0.0, USUAL));
        let ln_ratio = self.centred(residual);
        Deviation { ln_ratio, far: ln_ratio.abs() / deviation, stands_out: residual.stands_out }
    }
}
