//! What an import did: every row that was read has become a row of the set or is told with its reason.

use std::fmt;

use serde::Serialize;

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The layout.
    pub layout: &'static str,
    /// The name of the set.
    pub set: String,
    /// Its GPU.
    pub gpu: String,
    /// What became of the measurements of each operation.
    pub tables: Vec<TableCount>,
    /// What is known to be wrong with the files.
    pub findings: Vec<Finding>,
    /// The files that were read.
    pub files: Vec<FileRead>,
    /// The files that were not.
    pub not_imported: Vec<NotImported>,
    /// Every measurement that was left out.
    pub left_out: Vec<LeftOutRows>,
}

/// What became of the measurements of an operation: `read` is `written` and all of `left_out`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableCount {
    /// The operation, as `set.toml` calls it.
    pub operation: &'static str,
    /// Measurements in the files.
    pub read: usize,
    /// Rows of the set.
    pub written: usize,
    /// The others.
    pub left_out: Vec<ReasonCount>,
}

/// Measurements that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The reason.
    pub reason: String,
    /// How many.
    pub rows: usize,
}

/// Something that is wrong with the files, or that a reader of the set has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The operation, empty where it is about all.
    pub operation: &'static str,
    /// The kind of defect.
    pub defect: &'static str,
    /// What was found, and what was done.
    pub text: String,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// The file.
    pub path: String,
    /// What it measures.
    pub operation: &'static str,
    /// Its rows.
    pub rows: usize,
    /// Measurements in each of them.
    pub measurements_per_row: usize,
    /// Its columns that were not read.
    pub ignored: Vec<String>,
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotImported {
    /// The file.
    pub path: String,
    /// Its rows; `None` where nothing could count them.
    pub rows: Option<usize>,
    /// Why.
    pub why: String,
}

/// Measurements of one file that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutRows {
    /// The file.
    pub file: String,
    /// What its places are: `line` or `row`.
    pub numbering: &'static str,
    /// Where: `3-17, 20`.
    pub places: String,
    /// How many measurements.
    pub rows: usize,
    /// Why.
    pub reason: String,
    /// What was found; may be empty.
    pub detail: String,
}

impl TableCount {
    /// Whether nothing was lost.
    pub fn adds_up(&self) -> bool {
        let left_out: usize = self.left_out.iter().map(|left_out| left_out.rows).sum();
        self.read == self.written + left_out
    }
}

impl Report {
    /// Measurements in all files.
    pub fn read(&self) -> usize {
        self.tables.iter().map(|table| table.read).sum()
    }

    /// Rows of the set.
    pub fn written(&self) -> usize {
        self.tables.iter().map(|table| table.written).sum()
    }
}

/// The whole report as text.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            layout, set, gpu, ..
        } = self;
        writeln!(
            f,
            "set {set} for {gpu}, imported by rooflut from files of {layout}"
        )?;
        writeln!(f, "\nMeasurements: read = written + left out")?;
        for TableCount {
            operation,
            read,
            written,
            left_out,
        } in &self.tables
        {
            let total: usize = left_out.iter().map(|left_out| left_out.rows).sum();
            writeln!(f, "{operation}: {read} = {written} + {total}")?;
            for ReasonCount { reason, rows } in left_out {
                writeln!(f, "  {rows} left out: {reason}")?;
            }
        }
        writeln!(f, "\nDefects and remarks")?;
        if self.findings.is_empty() {
            writeln!(f, "none")?;
        }
        for Finding {
            operation,
            defect,
            text,
        } in &self.findings
        {
            let about = if operation.is_empty() {
                "all"
            } else {
                operation
            };
            writeln!(f, "{about}: {defect}: {text}")?;
        }
        writeln!(f, "\nFiles")?;
        for FileRead {
            path,
            operation,
            rows,
            measurements_per_row,
            ignored,
        } in &self.files
        {
            write!(f, "{path}: {operation}, {}", counted(*rows, "row"))?;
            if *measurements_per_row > 1 {
                write!(f, " of {measurements_per_row} measurements")?;
            }
            if !ignored.is_empty() {
                write!(f, "; columns not read: {}", ignored.join(", "))?;
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
        for LeftOutRows {
            file,
            numbering,
            places,
            reason,
            detail,
            ..
        } in &self.left_out
        {
            write!(f, "{file}: {numbering} {places}: {reason}")?;
            if !detail.is_empty() {
                write!(f, ": {detail}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A number of things: `1 row`, `2 rows`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{s}")
}

/// Ascending places as text: `3-17, 20`.
pub(crate) fn ranges(places: &[u64]) -> String {
    let mut places: Vec<u64> = places.to_vec();
    places.dedup();
    let runs = places.chunk_by(|a, b| a + 1 == *b);
    let told = runs.filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        Some(match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_ranges() {
        assert_eq!(ranges(&[3, 4, 5, 9, 9, 11]), "3-5, 9, 11");
        assert_eq!(ranges(&[]), "");
    }
}
