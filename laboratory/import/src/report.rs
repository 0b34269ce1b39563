//! The report of an import: every row is written or left out for a reason.

use std::fmt;

use serde::Serialize;

/// The report of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The layout.
    pub layout: &'static str,
    /// The name of the set.
    pub set: String,
    /// Its GPU.
    pub gpu: String,
    /// The measurements of each operation, counted.
    pub tables: Vec<TableCount>,
    /// Defects of the files.
    pub findings: Vec<Finding>,
    /// The files that were read.
    pub files: Vec<FileRead>,
    /// The files that were not read.
    pub not_imported: Vec<NotImported>,
    /// Every measurement that was left out.
    pub left_out: Vec<LeftOutRows>,
}

/// The measurements of an operation, counted: `read` is `written` plus all of `left_out`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableCount {
    /// The name of the operation, as in `set.toml`.
    pub operation: &'static str,
    /// Measurements in the files.
    pub read: usize,
    /// Rows of the set.
    pub written: usize,
    /// The number of rows left out, by reason.
    pub left_out: Vec<ReasonCount>,
}

/// Measurements that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The reason.
    pub reason: String,
    /// The number of measurements.
    pub rows: usize,
}

/// A defect of the files, or a fact that users of the set need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The operation.
    pub operation: &'static str,
    /// The kind of defect.
    pub defect: &'static str,
    /// The finding and the action taken.
    pub text: String,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// The file.
    pub path: String,
    /// The measured operation.
    pub operation: &'static str,
    /// The number of its rows.
    pub rows: usize,
    /// The number of measurements in each row.
    pub measurements_per_row: usize,
    /// Its columns that were not read.
    pub ignored: Vec<String>,
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotImported {
    /// The file.
    pub path: String,
    /// The number of its rows; `None` if they could not be counted.
    pub rows: Option<usize>,
    /// The reason.
    pub why: String,
}

/// Measurements of one file that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutRows {
    /// The file.
    pub file: String,
    /// The unit of `places`: `line` or `row`.
    pub numbering: &'static str,
    /// Numbers of lines or rows: `3-17, 20`.
    pub places: String,
    /// The number of measurements.
    pub rows: usize,
    /// The reason.
    pub reason: String,
    /// A detail; may be empty.
    pub detail: String,
}

impl TableCount {
    /// Returns the number of measurements that were left out.
    fn left_out(&self) -> usize {
        self.left_out.iter().map(|left_out| left_out.rows).sum()
    }

    /// Returns whether every measurement is accounted for.
    pub fn adds_up(&self) -> bool {
        self.read == self.written + self.left_out()
    }
}

impl Report {
    /// Returns the number of measurements in all files.
    pub fn read(&self) -> usize {
        self.tables.iter().map(|table| table.read).sum()
    }

    /// Returns the number of rows of the set.
    pub fn written(&self) -> usize {
        self.tables.iter().map(|table| table.written).sum()
    }
}

/// Writes the whole report.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (set, gpu, layout) = (&self.set, &self.gpu, self.layout);
        writeln!(f, "set {set} for {gpu}, imported by rooflut from files of {layout}")?;
        writeln!(f, "\nMeasurements: read = written + left out")?;
        for table in &self.tables {
            let (read, written) = (table.read, table.written);
            writeln!(f, "{}: {read} = {written} + {}", table.operation, table.left_out())?;
            for ReasonCount { reason, rows } in &table.left_out {
                writeln!(f, "  {rows} left out: {reason}")?;
            }
        }
        writeln!(f, "\nDefects and remarks")?;
        if self.findings.is_empty() {
            writeln!(f, "none")?;
        }
        for found in &self.findings {
            writeln!(f, "{}: {}: {}", found.operation, found.defect, found.text)?;
        }
        writeln!(f, "\nFiles")?;
        for file in &self.files {
            write!(f, "{}: {}, {}", file.path, file.operation, counted(file.rows, "row"))?;
            if file.measurements_per_row > 1 {
                write!(f, " of {} measurements", file.measurements_per_row)?;
            }
            if !file.ignored.is_empty() {
                write!(f, "; columns not read: {}", file.ignored.join(", "))?;
            }
            writeln!(f)?;
        }
        for NotImported { path, rows, why } in &self.not_imported {
            let rows = rows.map_or("rows not counted".to_owned(), |rows| counted(rows, "row"));
            writeln!(f, "{path}: not imported, {rows}: {why}")?;
        }
        if !self.left_out.is_empty() {
            writeln!(f, "\nLeft out")?;
        }
        for rows in &self.left_out {
            let (file, numbering, places) = (&rows.file, rows.numbering, &rows.places);
            write!(f, "{file}: {numbering} {places}: {}", rows.reason)?;
            if !rows.detail.is_empty() {
                write!(f, ": {}", rows.detail)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Counts things: `1 row`, `2 rows`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{s}")
}

/// Joins ascending numbers: `3-17, 20`.
pub(crate) fn ranges(numbers: &[u64]) -> String {
    let mut numbers: Vec<u64> = numbers.to_vec();
    numbers.dedup();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let ranges = runs.filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        Some(if first == last { first.to_string() } else { format!("{first}-{last}") })
    });
    ranges.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_joined_to_ranges() {
        assert_eq!(ranges(&[3, 4, 5, 9, 9, 11]), "3-5, 9, 11");
        assert_eq!(ranges(&[]), "");
    }
}
