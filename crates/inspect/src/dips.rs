//! More work in less time.

use std::collections::BTreeMap;

use crate::family::Family;
use crate::outliers::Outlier;

/// By which share of itself latency may fall from a row to the next without a word.
pub const DIP: f64 = 0.10;

/// A row that takes less time than the one before it on an axis, which has less work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// The place of the longer one in the family.
    pub from: usize,
    /// The place of the one behind it.
    pub to: usize,
    /// The share by which latency falls.
    pub falls: f64,
}

/// The dips of a family between the same two coordinates of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Dips {
    /// The name of the axis.
    pub axis: &'static str,
    /// The coordinate before.
    pub from: u32,
    /// The coordinate behind.
    pub to: u32,
    /// The deepest first.
    pub dips: Vec<Dip>,
    /// How many lines of the family have both coordinates side by side.
    pub lines: usize,
}

/// Lines that show a habit.
const MANY: usize = 4;

impl Dips {
    /// Whether most lines dip there, which no single bad row explains.
    pub fn is_common(&self) -> bool {
        self.lines >= MANY && 2 * self.dips.len() > self.lines
    }
}

/// Where latency falls by more than `most` (a share) although the work grows, by axis and coordinates.
/// Rows that are outliers are not looked at: they are told already.
pub fn dips(family: &Family, outliers: &[Outlier], most: f64) -> Vec<Dips> {
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
            if falls > most {
                dips.push(Dip { from, to, falls });
            }
        }
    }
    let dipping = steps.into_iter().filter(|(_, (_, dips))| !dips.is_empty());
    let dips = dipping.map(|((axis, from, to), (lines, mut dips))| {
        dips.sort_by(|a, b| b.falls.total_cmp(&a.falls));
        Dips {
            axis: family
                .operation
                .declared()
                .axes
                .get(axis)
                .copied()
                .unwrap_or_default(),
            from,
            to,
            dips,
            lines,
        }
    });
    dips.collect()
}
