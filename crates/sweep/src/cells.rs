//! Cells of CSV that a sweep wrote, checked as they are read.

use std::io::{BufRead, Read};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use rooflut_error::{Error, Kind as ErrorKind, MAX_LINE, not_text, reading};

use crate::checksum::{self, CHECKSUM};
use crate::column::kinds;
use crate::keys::shown;
use crate::kind::Kind;

/// Advice for a file with a wrong cell.
pub(crate) const REMOVE: &str = "remove this row and those below it, then resume";

/// The problem of a line that ends within quotes.
const OPEN_QUOTE: &str = "expected a whole row, found a quote that does not end in its line";

/// A column of CSV: its name and the kind of its values.
pub(crate) type Named = (String, Kind);

/// Reads a line with its end; an empty one at the end of the file. `file` and `number` name it in errors.
pub(crate) fn read_line(csv: &mut impl BufRead, file: &str, number: u64) -> Result<Vec<u8>, Error> {
    let mut line = Vec::new();
    let read = csv.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line);
    // The lines of a part in Parquet have errors of their own.
    read.map_err(|error| error.downcast().unwrap_or_else(reading(Path::new(file))))?;
    if line.len() as u64 > MAX_LINE {
        let text = "expected a line of at most 1 MiB, found a longer one; name a file of a sweep";
        return Err(Error::new(ErrorKind::Contents, text).at_line(number).in_file(Path::new(file)));
    }
    Ok(line)
}

/// Whether columns are those of a sweep.
pub(crate) fn is_sweep(columns: &[Named]) -> bool {
    let mut names = columns.iter().map(|(name, _)| name.as_str());
    [names.next(), names.next(), names.next_back()] == ["index", "grid", CHECKSUM].map(Some)
}

/// Checks that a row of these columns is as it was written.
///
/// # Errors
/// The problem: the column of the first cell that no sweep writes there, or the checksum; expected and found.
pub(crate) fn check_row(line: &[u8], columns: &[Named]) -> Result<(), String> {
    checksum::check(line).map_err(|problem| cells(line, columns).err().unwrap_or(problem))
}

/// Returns the cells of a line, which are those of the columns.
///
/// # Errors
/// The problem: the column, expected and found.
pub(crate) fn cells(line: &[u8], columns: &[Named]) -> Result<StringRecord, String> {
    let line = str::from_utf8(line).map_err(|_| "expected UTF-8 text, found other bytes".to_owned())?;
    let cells = split(line.strip_suffix('\n').unwrap_or(line), columns.len()).ok_or(OPEN_QUOTE)?;
    check(&cells, columns)?;
    Ok(cells)
}

/// Returns the cells of a line, about `count`; `None` for a quote that does not end. A reader of `csv` takes six times as
/// long to create as a line takes here.
fn split(line: &str, count: usize) -> Option<StringRecord> {
    let (mut cells, mut is_quoted) = (StringRecord::with_capacity(line.len(), count), false);
    if !line.as_bytes().contains(&b'"') {
        line.split(',').for_each(|cell| cells.push_field(cell));
        return Some(cells);
    }
    let separates = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    for cell in line.split(separates) {
        match cell.strip_prefix('"') {
            Some(quoted) => cells.push_field(&quoted.strip_suffix('"')?.replace("\"\"", "\"")),
            None => cells.push_field(cell),
        }
    }
    (!is_quoted).then_some(cells)
}

/// Returns the columns of a header.
pub(crate) fn columns(header: &[u8]) -> Result<Vec<Named>, Error> {
    Ok(CheckedRows::try_new(header)?.columns)
}

fn check(cells: &StringRecord, columns: &[Named]) -> Result<(), String> {
    if cells.len() != columns.len() {
        return Err(format!("expected {} cells, found {}", columns.len(), cells.len()));
    }
    let mut cells = cells.iter().zip(columns);
    match cells.find(|(cell, (_, kind))| !kind.has(cell)) {
        Some((cell, (name, kind))) => {
            Err(format!("{}: expected {}, found \"{}\"", shown(name), kind.described(), shown(cell)))
        }
        None => Ok(()),
    }
}

fn reader<R: Read>(csv: R) -> csv::Reader<R> {
    ReaderBuilder::new().has_headers(false).flexible(true).from_reader(csv)
}

/// Rows of CSV whose cells are those of their columns.
pub(crate) struct CheckedRows<R> {
    csv: csv::Reader<R>,
    /// The columns of the header.
    pub(crate) columns: Vec<Named>,
}

impl<R: Read> CheckedRows<R> {
    pub(crate) fn try_new(csv: R) -> Result<CheckedRows<R>, Error> {
        let mut csv = reader(csv);
        let mut header = StringRecord::new();
        csv.read_record(&mut header).map_err(unreadable)?;
        let names: Vec<String> = header.iter().map(str::to_owned).collect();
        Ok(CheckedRows { csv, columns: kinds(names) })
    }

    /// Returns the names of the columns.
    pub(crate) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Reads the next row; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<StringRecord>, Error> {
        let mut row = StringRecord::new();
        if !self.csv.read_record(&mut row).map_err(unreadable)? {
            return Ok(None);
        }
        // A row is a line, so this is one whose end is missing, with the next one.
        let is_open = row.iter().any(|cell| cell.contains('\n'));
        let checked = if is_open { Err(OPEN_QUOTE.to_owned()) } else { check(&row, &self.columns) };
        checked.map_err(|problem| {
            let line = row.position().map(csv::Position::line);
            Error::new(ErrorKind::Contents, format!("{problem}; {REMOVE}")).at_line(line)
        })?;
        Ok(Some(row))
    }
}

fn unreadable(error: csv::Error) -> Error {
    match error.kind() {
        csv::ErrorKind::Utf8 { pos, .. } => not_text().at_line(pos.as_ref().map(csv::Position::line)),
        _ => Error::new(ErrorKind::Io, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_cells_that_a_reader_of_csv_finds() {
        for line in [
            ",",
            "a,b",
            "a,\"b,c\",",
            "\"a \"\"b\"\", c\",d",
            "\"\",x",
            "1,\"\"\"a\"\"\"",
            "\"a,b\",\"c\"",
            "é,\"模,型\"",
        ] {
            let mut expected = StringRecord::new();
            reader(format!("{line}\n").as_bytes()).read_record(&mut expected).unwrap();
            assert_eq!(split(line, 2), Some(expected), "{line}");
        }
        for line in ["\"", "a,\"b,c", "\"a\"\"", "\"a\"\",b", "\"a\"b,c"] {
            assert_eq!(split(line, 2), None, "{line}");
        }
    }
}
