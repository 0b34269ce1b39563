//! Warnings of one kind as a table.

use rooflut_inspect::{DIP, Row};
use rooflut_roofline::operation::Operation;

use super::Checked;
use super::warning::{MEASURE_AGAIN, Warning, expected, falls, finding, remedy};
use crate::grid::Grid;
use crate::output::{count, number, wrapped};
use rooflut_report::fields::{self, Fields};

/// Most outliers that are listed.
const MAX_OUTLIERS: usize = 8;
/// Most dips that are listed.
const MAX_DIPS: usize = 3;

/// Rows with the figures of their warnings.
pub(super) struct WarningsTable<'w> {
    label: &'static str,
    meaning: String,
    /// The names of the figures.
    columns: &'static [&'static str],
    rows: Vec<(&'w Row, Vec<String>)>,
    /// Most rows that are listed.
    max_rows: usize,
}

impl<'w> WarningsTable<'w> {
    /// Lists the outliers among the warnings, if there are any.
    pub(super) fn outliers(checked: &Checked<'_>, warnings: &[&Warning<'w>]) -> Option<WarningsTable<'w>> {
        let rows = warnings.iter().filter_map(|warning| match warning {
            Warning::Outlier { row, ratio, .. } => {
                let figures = [row.latency_us.to_string(), expected(row, *ratio), number(*ratio, 2)];
                Some((*row, figures.to_vec()))
            }
            Warning::Dips { .. } | Warning::Suspect { .. } => None,
        });
        let rows: Vec<_> = rows.collect();
        let found = match rows.len() {
            1 => "1 row far from its neighbours".to_owned(),
            rows => format!("{} rows far from their neighbours", count(rows as u64)),
        };
        (!rows.is_empty()).then(|| WarningsTable {
            label: "OUTLIERS",
            meaning: format!("{}: {found}; {MEASURE_AGAIN}", checked.family.name),
            columns: &["us", "expected us", "ratio"],
            rows,
            max_rows: MAX_OUTLIERS,
        })
    }

    /// Lists the dips of a warning, if it is about dips.
    pub(super) fn dips(checked: &Checked<'_>, warning: &Warning<'w>) -> Option<WarningsTable<'w>> {
        let Warning::Dips { where_from, pairs, advice, .. } = warning else {
            return None;
        };
        let rows = pairs.iter().map(|&[behind, before]| {
            let mut figures = vec![behind.latency_us.to_string()];
            figures.extend(before.location.as_ref().map(|location| location.line.to_string()));
            figures.push(before.latency_us.to_string());
            figures.push(number(falls(behind, before), 0));
            (behind, figures)
        });
        let has_locations = pairs.iter().flatten().any(|row| row.location.is_some());
        Some(WarningsTable {
            label: "DIPS",
            meaning: format!(
                "{}: latency falls {where_from} although the work grows, by more than {} %; {advice}",
                checked.family.name,
                number(100.0 * DIP, 0)
            ),
            columns: if has_locations {
                &["us", "line before", "its us", "less %"]
            } else {
                &["us", "us before", "less %"]
            },
            rows: rows.collect(),
            max_rows: MAX_DIPS,
        })
    }

    /// Lists the rows of a warning, if it is about suspects.
    pub(super) fn suspects(checked: &Checked<'_>, warning: &Warning<'w>) -> Option<WarningsTable<'w>> {
        let Warning::Suspect { cause, rows, .. } = warning else {
            return None;
        };
        let (finding, remedy) = (finding(*cause, rows.len()), remedy(*cause));
        let rows = rows.iter().map(|(row, us)| {
            let ratio = number(row.latency_us / us, 1);
            (*row, vec![row.latency_us.to_string(), number(*us, 1), ratio])
        });
        Some(WarningsTable {
            label: "SUSPECTS",
            meaning: format!("{}: {finding}; {remedy}", checked.family.name),
            columns: &["us", "against us", "ratio"],
            rows: rows.collect(),
            max_rows: MAX_DIPS,
        })
    }

    /// Returns a heading with the fields that all kernels share, and the first rows.
    pub(super) fn text(&self) -> String {
        let kernels = self.rows.iter();
        let kernels: Vec<Fields> = kernels.map(|(row, _)| fields::measured(&row.kernel)).collect();
        let (_, varying) = fields::split(&kernels.iter().collect::<Vec<_>>());
        let declared = self.rows.first().map(|(row, _)| row.kernel.operation().declared());
        let axes = declared.map_or(&[][..], |declared| declared.axes);
        let has_locations = self.rows.iter().any(|(row, _)| row.location.is_some());
        // Beside the places of the rows there is no room for columns that a file may lack, nor for those of an indexer.
        let is_left_out = |name: &str| {
            let mut optional = declared.into_iter().flat_map(Operation::optional_columns);
            let is_apart = name.starts_with("index_") || optional.any(|column| column == name);
            has_locations && varying.contains(&name) && is_apart
        };
        // The formats are in the name of the kernels.
        let named = |kernel: &Fields| {
            let fields = kernel.iter().filter(|(name, _)| !name.ends_with("dtype") && !is_left_out(name));
            fields.partition::<Vec<_>, _>(|(name, _)| axes.contains(name) || varying.contains(name))
        };
        let (shown, common) = kernels.first().map(named).unwrap_or_default();
        let common = common.iter().map(|(name, value)| format!("; {name} {value}"));
        let heading = format!("{}{}", self.meaning, common.collect::<String>());
        let location: &[&str] = if has_locations { &["row"] } else { &[] };
        let fields = shown.iter().map(|(name, _)| name).chain(self.columns);
        let mut grid = Grid::of(location, &fields.copied().collect::<Vec<_>>());
        for ((row, figures), kernel) in self.rows.iter().zip(&kernels).take(self.max_rows) {
            let location = row.location.as_ref().map(ToString::to_string);
            let (shown, _) = named(kernel);
            let values = shown.into_iter().map(|(_, value)| value.to_string());
            let cells = location.into_iter().chain(values);
            grid.row(cells.chain(figures.iter().cloned()).collect());
        }
        let more = match self.rows.len().saturating_sub(self.max_rows) {
            0 => String::new(),
            more => format!("  and {} more (--json lists all)\n", count(more as u64)),
        };
        format!("\n{}\n{}{more}", wrapped(self.label, &heading), grid.render(2))
    }
}
