//! A warning: what was found in which rows, what was expected, what to do.

use rooflut_inspect::{DIP, Dip, Dips, Outlier, Row};

use super::Checked;
use crate::fields;
use crate::output::{count, number};

/// Something that stands out.
pub(super) struct Warning<'i> {
    pub(super) kind: Kind,
    /// The operation and its formats.
    pub(super) kernels: &'i str,
    /// The rows that it is about, the worst first; for dips each beside the one before it.
    pub(super) rows: Vec<&'i Row>,
    /// For people.
    pub(super) message: String,
}

/// What stands out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A row far from its neighbours.
    Outlier,
    /// Less time for more work.
    Dip,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Outlier => "outlier",
            Kind::Dip => "dip",
        }
    }
}

/// Pairs of rows that a warning names; others are counted.
const MOST: usize = 3;

impl<'i> Warning<'i> {
    /// Outliers, the farthest first; then dips: those of most shapes one by one, the others of an axis
    /// together.
    pub(super) fn of(checked: &Checked<'i>) -> Vec<Warning<'i>> {
        let mut outliers: Vec<&Outlier> = checked.outliers.iter().collect();
        outliers.sort_by(|a, b| b.far.total_cmp(&a.far));
        let mut warnings: Vec<Warning<'i>> = outliers
            .into_iter()
            .filter_map(|outlier| Warning::outlier(checked, outlier))
            .collect();
        let (common, single): (Vec<&Dips>, Vec<&Dips>) =
            checked.dips.iter().partition(|dips| dips.is_common());
        warnings.extend(common.into_iter().filter_map(|dips| {
            let where_from = format!("{} {} to {}", dips.axis, dips.from, dips.to);
            let times = format!(
                "in {} of {} neighbouring pairs",
                count(dips.dips.len() as u64),
                count(dips.lines as u64)
            );
            let advice = "most shapes do: the kernel is chosen so, or the first of the two was \
                          measured cold";
            Warning::dips(checked, dips.dips.iter(), &format!("from {where_from} {times}"), advice)
        }));
        for axis in checked.family.operation.axes() {
            let of_axis = || single.iter().filter(|dips| dips.axis == *axis);
            let found: usize = of_axis().map(|dips| dips.dips.len()).sum();
            let times = match found {
                1 => "once".to_owned(),
                found => format!("{} times", count(found as u64)),
            };
            let dips = of_axis().flat_map(|dips| &dips.dips);
            let advice = "measure both rows again; noise, or another kernel that takes over";
            warnings.extend(Warning::dips(checked, dips, &format!("along {axis} {times}"), advice));
        }
        warnings
    }

    fn outlier(checked: &Checked<'i>, outlier: &Outlier) -> Option<Warning<'i>> {
        let row = checked.family.rows.get(outlier.row)?;
        let expected = row.latency_us / outlier.ratio;
        let (how, times) = match outlier.ratio > 1.0 {
            true => ("as long", outlier.ratio),
            false => ("as fast", 1.0 / outlier.ratio),
        };
        let message = format!(
            "{}{} us, expected about {} us from the rows beside it: {} times {how} (efficiency {} % instead \
             of {} %); measure it again, or leave it out",
            told(row),
            row.latency_us,
            significant(expected),
            number(times, 2),
            number(100.0 * row.efficiency(), 0),
            number(100.0 * row.efficiency() * outlier.ratio, 0),
        );
        Some(Warning {
            kind: Kind::Outlier,
            kernels: &checked.family.name,
            rows: vec![row],
            message,
        })
    }

    /// `None` without dips.
    fn dips<'d>(
        checked: &Checked<'i>,
        dips: impl Iterator<Item = &'d Dip>,
        how_often: &str,
        advice: &str,
    ) -> Option<Warning<'i>> {
        let family = checked.family;
        let mut dips: Vec<&Dip> = dips.collect();
        dips.sort_by(|a, b| b.falls.total_cmp(&a.falls));
        let pairs = dips.iter().filter_map(|dip| {
            let (before, behind) = (family.rows.get(dip.from)?, family.rows.get(dip.to)?);
            Some((before, behind, dip.falls))
        });
        let pairs: Vec<(&Row, &Row, f64)> = pairs.collect();
        let worst = pairs.iter().take(MOST).map(|(before, behind, falls)| {
            format!(
                "{}{} us after {} us{} ({} % less)",
                told(behind),
                behind.latency_us,
                before.latency_us,
                before.place.as_ref().map_or(String::new(), |p| format!(" on line {}", p.line)),
                number(100.0 * falls, 0)
            )
        });
        let worst: Vec<String> = worst.collect();
        let more = match pairs.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!("; and {} more", count(more as u64)),
        };
        if worst.is_empty() {
            return None;
        }
        let message = format!(
            "{}: latency falls {how_often} although the work grows, expected at most {} % less: {}{more}; {advice}",
            family.name,
            number(100.0 * DIP, 0),
            worst.join("; "),
        );
        Some(Warning {
            kind: Kind::Dip,
            kernels: &family.name,
            rows: pairs.into_iter().flat_map(|(before, behind, _)| [behind, before]).collect(),
            message,
        })
    }
}

/// The place of a row and its kernel.
fn told(row: &Row) -> String {
    let kernel = fields::measured(&row.kernel);
    let operation = row.kernel.operation();
    match &row.place {
        Some(place) => format!("{place}: {operation}, {kernel}: "),
        None => format!("{operation}, {kernel}: "),
    }
}

/// Three digits.
fn significant(us: f64) -> String {
    let decimals = match us {
        large if large >= 99.5 => 0,
        middle if middle >= 9.95 => 1,
        _ => 2,
    };
    number(us, decimals)
}
