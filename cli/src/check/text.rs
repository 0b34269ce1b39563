//! What `rooflut tables check` prints for people.

use std::fmt::{self, Write};

use rooflut_inspect::{Cover, Coverage, TENSOR_PARALLEL};

use super::warning::{Kind, Warning};
use super::{Check, Checked};
use crate::output::{Align, Grid, count, number, plural, wrapped};

/// Outliers of one kind of kernels that are told.
const MOST: usize = 8;

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
        let of_kind = |kind| {
            let warnings = self.warnings.iter();
            warnings.filter(|warning| warning.kind == kind).count() as u64
        };
        match self.warnings.len() {
            0 => "none".to_owned(),
            all => format!(
                "{}: {}, {}",
                count(all as u64),
                plural(of_kind(Kind::Outlier), "outlier"),
                plural(of_kind(Kind::Dip), "group") + " of dips"
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
        let warnings = self.warnings.iter();
        let own = warnings.filter(|warning| warning.kernels == checked.family.name);
        let (outliers, dips): (Vec<_>, Vec<_>) =
            own.partition(|warning| warning.kind == Kind::Outlier);
        if outliers.is_empty() && dips.is_empty() {
            return Ok(());
        }
        writeln!(text)?;
        let told = |warning: &&Warning<'_>| wrapped(warning.kind.name(), &warning.message);
        let more = outliers.len().saturating_sub(MOST);
        text.extend(outliers.iter().take(MOST).map(told));
        if more > 0 {
            let more = format!("and {} more outliers (--json has all)", count(more as u64));
            text.push_str(&wrapped("", &more));
        }
        text.extend(dips.iter().map(told));
        Ok(())
    }

    /// A line for each model; reasons of refusals below.
    fn write_coverage(&self, text: &mut String) -> fmt::Result {
        text.push('\n');
        text.push_str(&wrapped(
            "models",
            "the worst origin among the kernels of a step at best, and the first kernel of that origin",
        ));
        let columns = TENSOR_PARALLEL.map(|tp| format!("tp {tp}"));
        let columns = columns.iter().map(|name| (name.as_str(), Align::Left));
        let columns: Vec<_> = [("model", Align::Left)].into_iter().chain(columns).collect();
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

fn cell(coverage: &Coverage, reasons: &mut Vec<String>) -> String {
    match coverage.cover {
        Cover::Answers {
            provenance,
            part: None,
        } => provenance.to_string(),
        Cover::Answers {
            provenance,
            part: Some(part),
        } => format!("{provenance} ({part})"),
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
