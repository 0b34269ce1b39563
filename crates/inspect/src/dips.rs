//! Dips: rows with more work that take less time.

use std::collections::BTreeMap;

use crate::family::Family;
use crate::outliers::Outlier;

/// The share by which latency may fall from one row to the next without a warning.
pub const DIP: f64 = 0.10;

/// A row that takes less time than the row before it on an axis, although it has more work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// The index of the slower row in the family.
    pub from: usize,
    /// The index of the row after it.
    pub to: usize,
    /// The share by which latency falls.
    pub falls: f64,
}

/// The dips of a family between the same two coordinates of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Dips {
    /// The name of the axis.
    pub axis: &'static str,
    /// The coordinate of the slower rows.
    pub from: u32,
    /// The coordinate of the rows after them.
    pub to: u32,
    /// The dips, deepest first.
    pub dips: Vec<Dip>,
    /// The number of lines of the family in which the coordinates are adjacent.
    pub lines: usize,
}

/// Least number of lines for a dip to be common.
const MIN_LINES: usize = 4;

impl Dips {
    /// Returns whether most lines dip there. No single bad row explains such a dip.
    pub fn is_common(&self) -> bool {
        self.lines >= MIN_LINES && 2 * self.dips.len() > self.lines
    }
}

/// Returns the dips deeper than `tolerance` (a share of the latency), by axis and coordinates. Outliers are
/// skipped, since [`outliers`](crate::outliers) reports them.
pub fn dips(family: &Family, outliers: &[Outlier], tolerance: f64) -> Vec<Dips> {
    let mut steps = BTreeMap::<(usize, u32, u32), (usize, Vec<Dip>)>::new();
    let is_outlier = |row: &usize| outliers.iter().any(|outlier| outlier.row == *row);
    for line in family.lines() {
        for pair in line.rows.windows(2) {
            let &[from, to] = pair else { continue };
            if is_outlier(&from) || is_outlier(&to) {
                continue;
            }
            let (Some(before), Some(behind)) = (family.rows.get(from), family.rows.get(to)) else {
                continue;
            };
            let coordinates = (before.at(line.axis), behind.at(line.axis));
            let key = (line.axis, coordinates.0, coordinates.1);
            let (lines, dips) = steps.entry(key).or_default();
            *lines += 1;
            let falls = 1.0 - behind.latency_us / before.latency_us;
            if falls > tolerance {
                dips.push(Dip { from, to, falls });
            }
        }
    }
    let dipping = steps.into_iter().filter(|(_, (_, dips))| !dips.is_empty());
    let dips = dipping.map(|((axis, from, to), (lines, mut dips))| {
        dips.sort_by(|a, b| b.falls.total_cmp(&a.falls));
        Dips { axis: family.operation.declared().axes.get(axis).copied().unwrap_or_default(), from, to, dips, lines }
    });
    dips.collect()
}
