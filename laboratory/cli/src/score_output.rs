//! The text output of `rooflut-lab tables score`.

use rooflut_validation::Summary;

use crate::grid::Grid;
use crate::output::{count, number, signed, title, wrapped};
use crate::score::{Group, Score, Scored, Split};
use crate::tallied;
use rooflut_report::fields::{self, Fields};

/// Most rows of the largest errors that are listed.
const WORST: usize = 5;

impl Score<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = title(&format!("{} against {}", self.set.name(), self.file.display()));
        let tables = format!("{}: {}", self.set.name(), self.set.origin().engine.as_str());
        text += &wrapped("tables", &tables);
        let rows = format!(
            "{} of {} scored ({})",
            count(self.rows.len() as u64),
            count(self.rows_in_file() as u64),
            self.operation
        );
        text += &wrapped("rows", &rows);
        if let Some(note) = &self.note {
            text += &wrapped("NOTE", note);
        }
        for (index, skipped) in self.skipped.iter().enumerate() {
            let label = if index == 0 { "left out" } else { "" };
            let told = format!("{}: {}", tallied::rows(skipped), skipped.text);
            text += &wrapped(label, &told);
        }
        let meaning = "predicted / measured - 1 in %: above 0 the tables are too slow, below 0 too fast";
        text += &wrapped("error", meaning);
        text + "\n" + &self.errors().render(2) + "\n" + &self.worst()
    }

    /// Returns the errors of each metric, by provenance if there are several.
    fn errors(&self) -> Grid {
        let mut grid = Grid::new("kernels | origin | >rows | >median % | >mean % | >p90 % | >worst % | >signed mean %");
        let split = self.groups(Split::ByProvenance);
        for group in self.groups(Split::None) {
            let parts: Vec<&Group<'_>> = split.iter().filter(|part| part.metric == group.metric).collect();
            match parts.as_slice() {
                [only] => grid.row(cells(group.metric, &only.origin(), &only.errors)),
                several => {
                    grid.row(cells(group.metric, &group.origin(), &group.errors));
                    for part in several {
                        grid.row(cells("", &part.origin(), &part.errors));
                    }
                }
            }
        }
        grid
    }

    /// Returns the rows of the largest errors.
    fn worst(&self) -> String {
        let mut rows: Vec<&Scored> = self.rows.iter().collect();
        rows.sort_by(|a, b| b.signed.abs().total_cmp(&a.signed.abs()));
        rows.truncate(WORST);
        let kernels: Vec<&Fields> = rows.iter().map(|row| &row.kernel).collect();
        let (common, varying) = fields::split(&kernels);
        let parts = ["the largest errors, times in us".to_owned()].into_iter();
        let heading: Vec<String> = parts.chain(common).collect();
        let varied: String = varying.iter().map(|name| format!(" | >{name}")).collect();
        let columns = ">predicted | >measured | >error % | origin";
        let mut grid = Grid::new(&format!(">line{varied} | {columns}"));
        for row in rows {
            let fields = row.kernel.iter().filter(|(name, _)| varying.contains(name));
            let cells = [row.line.to_string()].into_iter().chain(fields.map(|(_, value)| value.to_string()));
            let answer =
                [number(row.predicted, 2), number(row.actual, 2), signed(row.signed), row.provenance.to_string()];
            grid.row(cells.chain(answer).collect());
        }
        wrapped("worst", &heading.join(", ")) + "\n" + &grid.render(2)
    }
}

fn cells(kernels: &str, origin: &str, errors: &Summary) -> Vec<String> {
    vec![
        kernels.to_owned(),
        origin.to_owned(),
        count(errors.n as u64),
        number(errors.median_ape, 1),
        number(errors.mean_ape, 1),
        number(errors.p90_ape, 1),
        number(errors.max_ape, 1),
        signed(errors.mean_signed),
    ]
}
