//! Warnings about rows: found, expected, advice.

use rooflut_inspect::{Cause, DIP, Dip, Dips, Outlier, Row};
use rooflut_report::fields;

use super::Checked;
use crate::output::{count, number, plural};

/// A warning about rows.
pub(super) enum Warning<'i> {
    /// A row far from its neighbours.
    Outlier {
        /// The operation and its formats.
        kernels: &'i str,
        row: &'i Row,
        /// Its latency over the one that its neighbours suggest.
        ratio: f64,
    },
    /// Rows that take less time than the row before, although they have more work.
    Dips {
        /// The operation and its formats.
        kernels: &'i str,
        /// The coordinates, and the number of dips.
        where_from: String,
        /// Each row and the one before it, the deepest first.
        pairs: Vec<[&'i Row; 2]>,
        advice: &'static str,
    },
    /// Rows that other shapes or formats, or the link, contradict.
    Suspect {
        /// The operation and its formats.
        kernels: &'i str,
        cause: Cause,
        /// Each row and the latency that it is compared with, microseconds; the farthest first.
        rows: Vec<(&'i Row, f64)>,
    },
}

/// The advice for an outlier.
pub(super) const MEASURE_AGAIN: &str = "measure again, or leave out";
/// The advice for dips of some shapes.
const NOISE: &str = "noise, or another kernel that takes over: measure both rows again";
/// The advice for dips of most shapes.
const COMMON: &str = "most do: another kernel takes over there, or the first row was measured cold";

impl<'i> Warning<'i> {
    /// Returns the warnings of a family: outliers, the farthest first, then dips of most shapes one by one,
    /// then the other dips of each axis together, then suspects by cause.
    pub(super) fn of(checked: &Checked<'i>) -> Vec<Warning<'i>> {
        let mut outliers: Vec<&Outlier> = checked.outliers.iter().collect();
        outliers.sort_by(|a, b| b.far.total_cmp(&a.far));
        let outliers = outliers.into_iter().filter_map(|outlier| {
            Some(Warning::Outlier {
                kernels: &checked.family.name,
                row: checked.family.rows.get(outlier.row)?,
                ratio: outlier.ratio,
            })
        });
        let (common, single): (Vec<&Dips>, Vec<&Dips>) = checked.dips.iter().partition(|dips| dips.is_common());
        let common = common.into_iter().map(|dips| {
            let where_from = format!(
                "from {axis} {} to {axis} {} in {} of {} places",
                dips.from,
                dips.to,
                count(dips.dips.len() as u64),
                count(dips.lines as u64),
                axis = dips.axis,
            );
            Warning::dips(checked, dips.dips.iter().collect(), where_from, COMMON)
        });
        let axes = checked.family.operation.declared().axes.iter();
        let single = axes.filter_map(|axis| {
            let of_axis = single.iter().filter(|dips| dips.axis == *axis);
            let dips: Vec<&Dip> = of_axis.flat_map(|dips| &dips.dips).collect();
            let where_from = match dips.len() {
                0 => return None,
                1 => format!("along {axis} in one place"),
                places => format!("along {axis} in {} places", count(places as u64)),
            };
            Some(Warning::dips(checked, dips, where_from, NOISE))
        });
        let suspects = checked.suspects.iter().map(|suspect| {
            let rows = suspect.rows.iter().filter_map(|(row, us)| Some((checked.family.rows.get(*row)?, *us)));
            Warning::Suspect { kernels: &checked.family.name, cause: suspect.cause, rows: rows.collect() }
        });
        outliers.chain(common).chain(single).chain(suspects).collect()
    }

    fn dips(checked: &Checked<'i>, mut dips: Vec<&Dip>, where_from: String, advice: &'static str) -> Warning<'i> {
        let rows = &checked.family.rows;
        dips.sort_by(|a, b| b.falls.total_cmp(&a.falls));
        let pairs = dips.iter().filter_map(|dip| Some([rows.get(dip.to)?, rows.get(dip.from)?]));
        Warning::Dips { kernels: &checked.family.name, where_from, pairs: pairs.collect(), advice }
    }

    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Warning::Outlier { .. } => "outlier",
            Warning::Dips { .. } => "dips",
            Warning::Suspect { .. } => "suspects",
        }
    }

    /// Returns the operation and its formats.
    pub(super) const fn kernels(&self) -> &'i str {
        match self {
            Warning::Outlier { kernels, .. } | Warning::Dips { kernels, .. } | Warning::Suspect { kernels, .. } => {
                kernels
            }
        }
    }

    /// Returns one line: found, expected, advice.
    pub(super) fn message(&self) -> String {
        match self {
            Warning::Outlier { row, ratio, .. } => format!(
                "{}: {} us, expected about {} us from the rows beside it; {MEASURE_AGAIN}",
                describe(row),
                row.latency_us,
                expected(row, *ratio),
            ),
            Warning::Dips { kernels, where_from, pairs, advice } => {
                let deepest = pairs.first().map(|[behind, before]| {
                    let falls = number(falls(behind, before), 0);
                    format!(", most at {}: {falls} % less than before it", describe(behind))
                });
                format!(
                    "{kernels}: latency falls {where_from}{}; expected at most {} % less for more work; {advice}",
                    deepest.unwrap_or_default(),
                    number(100.0 * DIP, 0),
                )
            }
            Warning::Suspect { kernels, cause, rows } => {
                let farthest = rows.first().map(|(row, us)| {
                    let (found, compared) = (row.latency_us, number(*us, 1));
                    format!(", most at {}: {found} us against {compared} us", describe(row))
                });
                format!(
                    "{kernels}: {}{}; {}",
                    finding(*cause, rows.len()),
                    farthest.unwrap_or_default(),
                    remedy(*cause)
                )
            }
        }
    }

    /// Returns the rows of the warning; for dips each with the one before it.
    pub(super) fn rows(&self) -> Vec<&'i Row> {
        match self {
            Warning::Outlier { row, .. } => vec![row],
            Warning::Dips { pairs, .. } => pairs.iter().flatten().copied().collect(),
            Warning::Suspect { rows, .. } => rows.iter().map(|(row, _)| *row).collect(),
        }
    }
}

/// Returns what is wrong with a number of rows.
pub(super) fn finding(cause: Cause, rows: usize) -> String {
    let rows = plural(rows as u64, "row");
    match cause {
        Cause::Unsplit => {
            format!("{rows} slower than rows with at least as many heads and the same batch and length")
        }
        Cause::Eager => {
            format!("{rows} slower than the smallest calls of other formats suggest")
        }
        Cause::Host => format!("{rows} far slower than the link"),
        _ => format!("{rows} that other rows contradict"),
    }
}

/// Returns the advice for suspects.
pub(super) const fn remedy(cause: Cause) -> &'static str {
    match cause {
        Cause::Unsplit => {
            "the kernel does not split KV entries over the SMs: if only grouped heads do, add grouped_split = true"
        }
        Cause::Eager => "timed without a CUDA graph, or without its smallest calls: measure again",
        Cause::Host => "the GPUs of this host have no peer-to-peer access: measure on the host that is to be predicted",
        _ => MEASURE_AGAIN,
    }
}

/// Returns by how many percent a row is faster than the one before it.
pub(super) fn falls(behind: &Row, before: &Row) -> f64 {
    100.0 * (1.0 - behind.latency_us / before.latency_us)
}

/// Returns the latency that the neighbours of an outlier suggest, microseconds of three digits.
pub(super) fn expected(row: &Row, ratio: f64) -> String {
    let us = row.latency_us / ratio;
    let decimals = match us {
        large if large >= 99.5 => 0,
        middle if middle >= 9.95 => 1,
        _ => 2,
    };
    number(us, decimals)
}

fn describe(row: &Row) -> String {
    let kernel = fields::measured(&row.kernel);
    let operation = row.kernel.operation();
    match &row.location {
        Some(location) => format!("{location}: {operation}, {kernel}"),
        None => format!("{operation}, {kernel}"),
    }
}
