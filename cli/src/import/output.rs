//! The output of `rooflut import`.

use std::path::Path;

use rooflut_import::{Report, SetFile};
use serde::Serialize;

use super::destination::REPORT;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, plural, to_json, wrapped};

#[derive(Serialize)]
struct ImportJson<'r> {
    dest: String,
    files_written: Vec<&'static str>,
    #[serde(flatten)]
    report: &'r Report,
}

pub(crate) fn as_json(report: &Report, files: &[SetFile], dest: &Path) -> Result<String, Error> {
    to_json(&ImportJson {
        dest: dest.display().to_string(),
        files_written: written(files),
        report,
    })
}

pub(crate) fn text(report: &Report, files: &[SetFile], dest: &Path) -> String {
    let mut text = format!("{} from files of {}\n\n", dest.display(), report.layout);
    text += &wrapped("set", &format!("{} for {}", report.set, report.gpu));
    text += &wrapped("files", &written(files).join(", "));
    for (index, finding) in report.findings.iter().enumerate() {
        let label = if index == 0 { "found" } else { "" };
        let about = format!("{}, {}", finding.operation, finding.defect);
        text += &wrapped(label, &format!("{about}: {}", finding.text));
    }
    for (index, file) in report.not_imported.iter().enumerate() {
        let label = if index == 0 { "not read" } else { "" };
        let rows = file.rows.map_or(String::new(), |rows| {
            format!(", {}", plural(rows as u64, "row"))
        });
        text += &wrapped(label, &format!("{}{rows}: {}", file.path, file.why));
    }
    text.push('\n');
    text.push_str(&counts(report).render(2));
    let dest = dest.display();
    text.push_str(&format!(
        "\n{REPORT} has every row that was left out. Try next: rooflut tables check {dest}, then \
         rooflut --tables {dest} tables\n"
    ));
    text
}

/// The numbers of measurements: read, written, and left out by reason.
fn counts(report: &Report) -> Grid {
    let mut grid = Grid::new("table | >measurements | ");
    for table in &report.tables {
        let number = |rows: usize| count(rows as u64);
        grid.row(vec![
            table.operation.to_owned(),
            number(table.read),
            "read".to_owned(),
        ]);
        grid.row(vec![
            String::new(),
            number(table.written),
            "written".to_owned(),
        ]);
        for left_out in &table.left_out {
            let reason = format!("left out: {}", left_out.reason);
            grid.row(vec![String::new(), number(left_out.rows), reason]);
        }
    }
    grid
}

fn written(files: &[SetFile]) -> Vec<&'static str> {
    files.iter().map(|file| file.name).chain([REPORT]).collect()
}
