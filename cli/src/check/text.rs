//! What `rooflut tables check` prints for people.

use std::fmt::{self, Write};

use rooflut_inspect::{Cover, Coverage, DIP, Row, TENSOR_PARALLEL};

use super::warning::{MEASURE_AGAIN, Warning, expected, falls};
use super::{Check, Checked};
use crate::fields::{self, Fields};
use crate::output::{Align, Grid, count, number, plural, wrapped};

/// Outliers of one kind of kernels that are told.
const MOST: usize = 8;
/// Dips of one warning that are told.
const MOST_DIPS: usize = 3;

impl Check<'_> {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) -> fmt::Result {
        let set = self.inspection.set;
        writeln!(text, "{}: {}\n", set.name, set.gpu.description)?;
        text.push_str(&wrapped("tables", set.origin.engine));
        text.push_str(&wrapped("source", set.origin.source));
        let rows = format!(
            "{} of {}, none of them impossible",
            count(self.inspection.rows() as u64),
            plural(self.families.len() as u64, "kind") + " of kernels"
        );
        text.push_str(&wrapped("rows", &rows));
        text.push_str(&wrapped("warnings", &self.warning_count()));
        writeln!(text, "\n{}", self.families().render(2))?;
        text.push_str(&wrapped(
            "errors",
            "of rows that are left out and predicted from the others, between neighbours on all sides",
        ));
        for checked in &self.families {
            self.write_warnings(text, checked)?;
        }
        self.write_coverage(text)
    }

    fn warning_count(&self) -> String {
        let outliers: usize = self
            .families
            .iter()
            .map(|checked| checked.outliers.len())
            .sum();
        match self.warnings.len() {
            0 => "none".to_owned(),
            all => format!(
                "{}: {}, {}",
                count(all as u64),
                plural(outliers as u64, "outlier"),
                plural((all - outliers) as u64, "group") + " of dips"
            ),
        }
    }

    fn families(&self) -> Grid {
        let mut grid = Grid::new(&[
            ("kernels", Align::Left),
            ("rows", Align::Right),
            ("outliers", Align::Right),
            ("dips", Align::Right),
            ("left out", Align::Right),
            ("median error %", Align::Right),
            ("p95 %", Align::Right),
        ]);
        for checked in &self.families {
            let errors = checked.errors.as_ref();
            let error = |pick: fn(&rooflut_inspect::Errors) -> f64| {
                errors.map_or("-".to_owned(), |errors| number(100.0 * pick(errors), 1))
            };
            grid.row(vec![
                checked.family.name.clone(),
                count(checked.family.rows.len() as u64),
                count(checked.outliers.len() as u64),
                count(checked.dip_count() as u64),
                errors.map_or("-".to_owned(), |errors| count(errors.rows as u64)),
                error(|errors| errors.median),
                error(|errors| errors.p95),
            ]);
        }
        grid
    }

    fn write_warnings(&self, text: &mut String, checked: &Checked<'_>) -> fmt::Result {
        let own = || {
            let warnings = self.warnings.iter();
            warnings.filter(|warning| warning.kernels() == checked.family.name)
        };
        let outliers = own().filter_map(|warning| match warning {
            Warning::Outlier { row, ratio, .. } => Some((*row, *ratio)),
            Warning::Dips { .. } => None,
        });
        let outliers: Vec<(&Row, f64)> = outliers.collect();
        if !outliers.is_empty() {
            let found = plural(outliers.len() as u64, "row");
            let found = format!("{found} far from what the rows beside let expect");
            let meaning = format!("{}: {found}; {MEASURE_AGAIN}", checked.family.name);
            let rows = outliers.iter().take(MOST).map(|&(row, ratio)| {
                let more = [
                    row.latency_us.to_string(),
                    expected(row, ratio),
                    number(ratio, 2),
                ];
                (row, more.to_vec())
            });
            let columns = ["us", "expected", "times"];
            write_rows(text, "OUTLIERS", &meaning, &columns, rows.collect())?;
            write_more(text, outliers.len())?;
        }
        for warning in own() {
            if let Warning::Dips {
                where_from,
                pairs,
                advice,
                ..
            } = warning
            {
                let meaning = format!(
                    "{}: latency falls {where_from} although the work grows, by more than {} %; {advice}",
                    checked.family.name,
                    number(100.0 * DIP, 0)
                );
                let rows = pairs.iter().take(MOST_DIPS).map(|&[behind, before]| {
                    let line = before.place.as_ref().map(|place| place.line.to_string());
                    let mut more = vec![behind.latency_us.to_string()];
                    more.extend(line);
                    more.push(before.latency_us.to_string());
                    more.push(number(falls(behind, before), 0));
                    (behind, more)
                });
                let columns: &[&str] = match pairs.first() {
                    Some([row, _]) if row.place.is_some() => {
                        &["us", "after line", "of us", "less %"]
                    }
                    _ => &["us", "after us", "less %"],
                };
                write_rows(text, "DIPS", &meaning, columns, rows.collect())?;
                write_more(
                    text,
                    pairs.len().saturating_sub(MOST_DIPS).saturating_add(MOST),
                )?;
            }
        }
        Ok(())
    }

    /// A line for each model; reasons of refusals below.
    fn write_coverage(&self, text: &mut String) -> fmt::Result {
        text.push('\n');
        text.push_str(&wrapped(
            "models",
            "the worst origin of their kernels at best: beyond the measured ranges it is worse",
        ));
        let columns = TENSOR_PARALLEL.map(|tp| format!("tp {tp}"));
        let columns = columns.iter().map(|name| (name.as_str(), Align::Left));
        let columns: Vec<_> = [("model", Align::Left)]
            .into_iter()
            .chain(columns)
            .collect();
        let mut grid = Grid::new(&columns);
        let mut reasons = Vec::new();
        for covered in self.coverage.chunks(TENSOR_PARALLEL.len()) {
            let name = covered.first().map(|first| first.model.name.to_owned());
            let cells = covered.iter().map(|coverage| cell(coverage, &mut reasons));
            grid.row(name.into_iter().chain(cells).collect());
        }
        writeln!(text, "\n{}", grid.render(2))?;
        for (index, reason) in reasons.iter().enumerate() {
            text.push_str(&wrapped(&format!("({})", index + 1), reason));
        }
        text.push_str(&wrapped("-", "so many GPUs cannot share the model evenly"));
        Ok(())
    }
}

/// A heading and rows with what is said of each.
fn write_rows(
    text: &mut String,
    label: &str,
    meaning: &str,
    columns: &[&str],
    rows: Vec<(&Row, Vec<String>)>,
) -> fmt::Result {
    let kernels: Vec<Fields> = rows
        .iter()
        .map(|(row, _)| fields::measured(&row.kernel))
        .collect();
    let (_, varying) = fields::split(&kernels.iter().collect::<Vec<_>>());
    let axes = rows.first().map(|(row, _)| row.kernel.operation().axes());
    let axes = axes.unwrap_or_default();
    // The formats are in the name of the kernels.
    let named = |kernel: &Fields| {
        let fields = kernel.iter();
        let fields = fields.filter(|(name, _)| !name.ends_with("dtype"));
        fields.partition::<Vec<_>, _>(|(name, _)| axes.contains(name) || varying.contains(name))
    };
    let (shown, common) = kernels.first().map(named).unwrap_or_default();
    let common = common.iter().map(|(name, value)| format!("{name} {value}"));
    let heading: Vec<String> = [meaning.to_owned()].into_iter().chain(common).collect();
    write!(text, "\n{}", wrapped(label, &heading.join("; ")))?;
    let has_places = rows.iter().any(|(row, _)| row.place.is_some());
    let place = has_places.then_some(("row", Align::Left));
    let fields = shown.iter().map(|(name, _)| name).chain(columns);
    let fields = fields.map(|name| (*name, Align::Right));
    let mut grid = Grid::new(&place.into_iter().chain(fields).collect::<Vec<_>>());
    for ((row, more), kernel) in rows.into_iter().zip(&kernels) {
        let place = row.place.as_ref().map(ToString::to_string);
        let (shown, _) = named(kernel);
        let values = shown.into_iter().map(|(_, value)| value.to_string());
        grid.row(place.into_iter().chain(values).chain(more).collect());
    }
    write!(text, "\n{}", grid.render(2))
}

/// Says how many rows are not told.
fn write_more(text: &mut String, rows: usize) -> fmt::Result {
    match rows.saturating_sub(MOST) {
        0 => Ok(()),
        more => writeln!(text, "  and {} more (--json lists all)", count(more as u64)),
    }
}

fn cell(coverage: &Coverage, reasons: &mut Vec<String>) -> String {
    match coverage.cover {
        Cover::Answers { provenance, .. } => provenance.to_string(),
        Cover::Uneven(_) => "-".to_owned(),
        Cover::Refused(error) => {
            let reason = error.to_string();
            let place = reasons.iter().position(|other| *other == reason);
            let place = place.unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            format!("refused ({})", place + 1)
        }
    }
}
