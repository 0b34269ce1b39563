//! The output of `rooflut-lab import`.

use std::path::Path;

use rooflut_import::{NotImported, Report, SetFile};
use serde::Serialize;

use super::destination::REPORT;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, plural, title, to_json, wrapped};

#[derive(Serialize)]
struct ImportJson<'r> {
    dest: String,
    files_written: Vec<&'static str>,
    #[serde(flatten)]
    report: &'r Report,
}

pub(crate) fn as_json(report: &Report, files: &[SetFile], dest: &Path) -> Result<String, Error> {
    to_json(&ImportJson { dest: dest.display().to_string(), files_written: written(files), report })
}

pub(crate) fn text(report: &Report, files: &[SetFile], dest: &Path) -> String {
    let mut text = title(&format!("{} from files of {}", dest.display(), report.layout));
    text += &wrapped("set", &format!("{} for {}", report.set, report.gpu));
    text += &wrapped("files", &written(files).join(", "));
    for (index, finding) in report.findings.iter().enumerate() {
        let label = if index == 0 { "found" } else { "" };
        let about = format!("{}, {}", finding.operation, finding.defect);
        text += &wrapped(label, &format!("{about}: {}", finding.text));
    }
    for (index, files) in not_read(report).iter().enumerate() {
        let label = if index == 0 { "not read" } else { "" };
        text += &wrapped(label, files);
    }
    text.push('\n');
    text.push_str(&counts(report).render(2));
    let dest = dest.display();
    text + &format!(
        "\n{REPORT} has every row that was left out. Try next:\n  rooflut-lab tables check {dest}\n  rooflut --tables \
         {dest} tables\n"
    )
}

/// Most files that are listed with one reason.
const MAX_LISTED: usize = 3;

/// Lists the files that were not read; of many with one reason the first.
fn not_read(report: &Report) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&NotImported>)> = Vec::new();
    for file in &report.not_imported {
        match by_reason.iter_mut().find(|(why, _)| *why == file.why) {
            Some((_, files)) => files.push(file),
            None => by_reason.push((&file.why, vec![file])),
        }
    }
    let lines = by_reason.into_iter().flat_map(|(why, mut files)| {
        let many = files.len().saturating_sub(1);
        if many >= MAX_LISTED {
            files.truncate(1);
        }
        files.into_iter().map(move |file| match file.rows {
            _ if many >= MAX_LISTED => format!("{} and {many} more: {why}", file.path),
            Some(rows) => format!("{}, {}: {why}", file.path, plural(rows as u64, "row")),
            None => format!("{}: {why}", file.path),
        })
    });
    lines.collect()
}

/// The numbers of measurements: read, written, and left out by reason.
fn counts(report: &Report) -> Grid {
    let mut grid = Grid::new("table | >measurements | ");
    for table in &report.tables {
        let number = |rows: usize| count(rows as u64);
        grid.row(vec![table.operation.to_owned(), number(table.read), "read".to_owned()]);
        grid.row(vec![String::new(), number(table.written), "written".to_owned()]);
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
