//! The text output of `rooflut-lab tables check`.

use crate::coverage::{Cover, Coverage, TENSOR_PARALLEL};

use super::Check;
use super::warning::Warning;
use super::warnings_table::WarningsTable;
use crate::errors::Errors;
use crate::grid::Grid;
use crate::output::{count, number, plural, title, wrapped};

impl Check<'_> {
    pub(super) fn text(&self) -> String {
        let set = &self.inspection.set;
        let mut text = title(&format!("{}: {}", set.name(), set.gpu().description.as_str()));
        text += &wrapped("tables", set.origin().engine.as_str());
        text += &wrapped("source", set.origin().source.as_str());
        let rows = format!(
            "{} of {}, none of them impossible",
            count(self.inspection.rows() as u64),
            plural(self.families.len() as u64, "kind") + " of kernels"
        );
        text += &wrapped("rows", &rows);
        for excluded in &self.inspection.excluded {
            let rows = plural(excluded.rows.len() as u64, "row");
            let of_file = format!("{rows} of {}: {}", excluded.file, excluded.reason);
            let label = if excluded.latency_us.is_empty() { "excluded" } else { "replaced" };
            text += &wrapped(label, &of_file);
        }
        text += &wrapped("warnings", &self.warning_count());
        text += &format!("\n{}\n", self.families().render(2));
        text += &wrapped(
            "errors",
            "each row with neighbours on all sides is predicted from the others and compared with its latency",
        );
        for checked in &self.families {
            let own = |warning: &&Warning<'_>| warning.kernels() == checked.family.name;
            let warnings: Vec<&Warning<'_>> = self.warnings.iter().filter(own).collect();
            let outliers = WarningsTable::outliers(checked, &warnings);
            let dips = warnings.iter().filter_map(|warning| WarningsTable::dips(checked, warning));
            let suspects = warnings.iter();
            let suspects = suspects.filter_map(|warning| WarningsTable::suspects(checked, warning));
            for table in outliers.into_iter().chain(dips).chain(suspects) {
                text += &table.text();
            }
        }
        text + &self.coverage()
    }

    fn warning_count(&self) -> String {
        let of_kind = |kind: &str| {
            let warnings = self.warnings.iter();
            warnings.filter(|warning| warning.kind() == kind).count() as u64
        };
        match self.warnings.len() {
            0 => "none".to_owned(),
            all => format!(
                "{}: {}, {} of dips, {} of suspects",
                count(all as u64),
                plural(of_kind("outlier"), "outlier"),
                plural(of_kind("dips"), "group"),
                plural(of_kind("suspects"), "group")
            ),
        }
    }

    fn families(&self) -> Grid {
        let mut grid =
            Grid::new("kernels | >rows | >outliers | >dips | >suspects | >predicted | >median error % | >p95 error %");
        for checked in &self.families {
            let errors = checked.errors.as_ref();
            let error =
                |pick: fn(&Errors) -> f64| errors.map_or("-".to_owned(), |errors| number(100.0 * pick(errors), 1));
            grid.row(vec![
                checked.family.name.clone(),
                count(checked.family.rows.len() as u64),
                count(checked.outliers.len() as u64),
                count(checked.dip_count() as u64),
                count(checked.suspect_count() as u64),
                errors.map_or("-".to_owned(), |errors| count(errors.rows as u64)),
                error(|errors| errors.median),
                error(|errors| errors.p95),
            ]);
        }
        grid
    }

    /// Returns a line for each model, and the reasons of refusals below.
    fn coverage(&self) -> String {
        let mut grid = Grid::new("model | answers");
        let mut reasons = Vec::new();
        for covered in self.coverage.chunks(TENSOR_PARALLEL.len()) {
            let name = covered.first().map_or("", |first| first.model.name);
            grid.row(vec![name.to_owned(), answers(covered, &mut reasons)]);
        }
        let meaning = "the worst class of their looked-up kernels, at best; a step can be outside of the measured \
                       ranges; GPUs (tp) that are not listed cannot share the layers evenly";
        let mut text = format!("\n{}\n{}\n", wrapped("models", meaning), grid.render(2));
        for (index, reason) in reasons.iter().enumerate() {
            text += &wrapped(&format!("({})", index + 1), reason);
        }
        text
    }
}

/// Returns the answers for a model: `tp 1, 2: measured; tp 4: refused (1)`.
fn answers(covered: &[Coverage], reasons: &mut Vec<String>) -> String {
    let mut answers: Vec<(String, String)> = Vec::new();
    for coverage in covered {
        let Some(answer) = answer(&coverage.cover, reasons) else {
            continue;
        };
        match answers.last_mut().filter(|(_, last)| *last == answer) {
            Some((tps, _)) => *tps += &format!(", {}", coverage.tp),
            None => answers.push((format!("tp {}", coverage.tp), answer)),
        }
    }
    let answers = answers.iter().map(|(tps, answer)| format!("{tps}: {answer}"));
    answers.collect::<Vec<_>>().join("; ")
}

/// Returns the class of an answer, or the number of the reason why there is none.
fn answer(cover: &Cover, reasons: &mut Vec<String>) -> Option<String> {
    match cover {
        Cover::Answers { class, .. } => Some(class.to_string()),
        Cover::Uneven(_) => None,
        Cover::Refused(error) => {
            let reason = error.to_string();
            let place = reasons.iter().position(|other| *other == reason).unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            Some(format!("refused ({})", place + 1))
        }
    }
}
