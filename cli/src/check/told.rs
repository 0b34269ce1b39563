//! Warnings of one kind as a table.

use std::fmt::{self, Write};

use rooflut_inspect::{DIP, Row};

use super::Checked;
use super::warning::{MEASURE_AGAIN, Warning, expected, falls};
use crate::fields::{self, Fields};
use crate::output::{Align, Grid, count, number, plural, wrapped};

/// Outliers that are told.
const MOST_OUTLIERS: usize = 8;
/// Dips that are told.
const MOST_DIPS: usize = 3;

/// Rows and what is said of them.
pub(super) struct Told<'w> {
    label: &'static str,
    meaning: String,
    /// What is said of each row.
    columns: &'static [&'static str],
    rows: Vec<(&'w Row, Vec<String>)>,
    /// The most rows that are told.
    most: usize,
}

impl<'w> Told<'w> {
    /// The outliers among the warnings, if there are any.
    pub(super) fn outliers(checked: &Checked<'_>, warnings: &[&Warning<'w>]) -> Option<Told<'w>> {
        let rows = warnings.iter().filter_map(|warning| match warning {
            Warning::Outlier { row, ratio, .. } => {
                let said = [
                    row.latency_us.to_string(),
                    expected(row, *ratio),
                    number(*ratio, 2),
                ];
                Some((*row, said.to_vec()))
            }
            Warning::Dips { .. } => None,
        });
        let rows: Vec<_> = rows.collect();
        let found = plural(rows.len() as u64, "row");
        (!rows.is_empty()).then(|| Told {
            label: "OUTLIERS",
            meaning: format!(
                "{}: {found} far from what the rows beside let expect; {MEASURE_AGAIN}",
                checked.family.name
            ),
            columns: &["us", "expected", "times"],
            rows,
            most: MOST_OUTLIERS,
        })
    }

    /// The dips of a warning, if it is about such.
    pub(super) fn dips(checked: &Checked<'_>, warning: &Warning<'w>) -> Option<Told<'w>> {
        let Warning::Dips {
            where_from,
            pairs,
            advice,
            ..
        } = warning
        else {
            return None;
        };
        let rows = pairs.iter().map(|&[behind, before]| {
            let mut said = vec![behind.latency_us.to_string()];
            said.extend(before.place.as_ref().map(|place| place.line.to_string()));
            said.push(before.latency_us.to_string());
            said.push(number(falls(behind, before), 0));
            (behind, said)
        });
        let has_places = pairs.iter().flatten().any(|row| row.place.is_some());
        Some(Told {
            label: "DIPS",
            meaning: format!(
                "{}: latency falls {where_from} although the work grows, by more than {} %; {advice}",
                checked.family.name,
                number(100.0 * DIP, 0)
            ),
            columns: match has_places {
                true => &["us", "after line", "of us", "less %"],
                false => &["us", "after us", "less %"],
            },
            rows: rows.collect(),
            most: MOST_DIPS,
        })
    }

    /// A heading with what all kernels have in common, and the first rows.
    pub(super) fn write(&self, text: &mut String) -> fmt::Result {
        let kernels = self.rows.iter();
        let kernels: Vec<Fields> = kernels
            .map(|(row, _)| fields::measured(&row.kernel))
            .collect();
        let (_, varying) = fields::split(&kernels.iter().collect::<Vec<_>>());
        let axes = self
            .rows
            .first()
            .map(|(row, _)| row.kernel.operation().declared().axes);
        let axes = axes.unwrap_or_default();
        // The formats are in the name of the kernels.
        let named = |kernel: &Fields| {
            let fields = kernel.iter();
            let fields = fields.filter(|(name, _)| !name.ends_with("dtype"));
            fields.partition::<Vec<_>, _>(|(name, _)| axes.contains(name) || varying.contains(name))
        };
        let (shown, common) = kernels.first().map(named).unwrap_or_default();
        let common = common
            .iter()
            .map(|(name, value)| format!("; {name} {value}"));
        let heading = format!("{}{}", self.meaning, common.collect::<String>());
        write!(text, "\n{}", wrapped(self.label, &heading))?;
        let has_places = self.rows.iter().any(|(row, _)| row.place.is_some());
        let place = has_places.then_some(("row", Align::Left));
        let fields = shown.iter().map(|(name, _)| name).chain(self.columns);
        let fields = fields.map(|name| (*name, Align::Right));
        let mut grid = Grid::new(&place.into_iter().chain(fields).collect::<Vec<_>>());
        for ((row, said), kernel) in self.rows.iter().zip(&kernels).take(self.most) {
            let place = row.place.as_ref().map(ToString::to_string);
            let (shown, _) = named(kernel);
            let values = shown.into_iter().map(|(_, value)| value.to_string());
            let cells = place.into_iter().chain(values);
            grid.row(cells.chain(said.iter().cloned()).collect());
        }
        write!(text, "\n{}", grid.render(2))?;
        match self.rows.len().saturating_sub(self.most) {
            0 => Ok(()),
            more => writeln!(text, "  and {} more (--json lists all)", count(more as u64)),
        }
    }
}
