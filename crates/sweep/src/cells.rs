//! Cells of CSV that a sweep wrote, checked as they are read.

use std::borrow::Cow;
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
/// The problem of a line whose cells readers of CSV divide in other ways.
const OTHER_QUOTE: &str = "expected quotes around cells and twice within them, found others";

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
    cells(line, columns)?;
    checksum::check(line)?;
    // Other readers end a row there.
    if line.contains(&b'\r') { Err("expected a row in a line, found a carriage return".to_owned()) } else { Ok(()) }
}

/// Returns the cells of a line, which are those of the columns.
///
/// # Errors
/// The problem: the column, expected and found.
pub(crate) fn cells<'l>(line: &'l [u8], columns: &[Named]) -> Result<Vec<Cow<'l, str>>, String> {
    let line = str::from_utf8(line).map_err(|_| "expected UTF-8 text, found other bytes".to_owned())?;
    let cells = split(line.strip_suffix('\n').unwrap_or(line), columns.len())?;
    check(cells.iter().map(AsRef::as_ref), cells.len(), columns)?;
    Ok(cells)
}

/// Returns the cells of a line, about `count`. A reader of `csv` takes six times as long to create as a line takes here.
fn split(line: &str, count: usize) -> Result<Vec<Cow<'_, str>>, &'static str> {
    let (mut cells, mut rest, mut is_quoted) = (Vec::with_capacity(count), line, false);
    let mut separates = |byte| {
        is_quoted ^= byte == b'"';
        byte == b',' && !is_quoted
    };
    while let Some((cell, behind)) = rest.bytes().position(&mut separates).and_then(|at| rest.split_at_checked(at)) {
        cells.push(unquoted(cell)?);
        rest = behind.strip_prefix(',').unwrap_or(behind);
    }
    if is_quoted {
        return Err(OPEN_QUOTE);
    }
    cells.push(unquoted(rest)?);
    Ok(cells)
}

/// Returns the text of a cell.
fn unquoted(cell: &str) -> Result<Cow<'_, str>, &'static str> {
    if !cell.as_bytes().contains(&b'"') {
        return Ok(cell.into());
    }
    let quoted = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).ok_or(OTHER_QUOTE)?;
    let is_pairs = quoted.split("\"\"").all(|text| !text.contains('"'));
    if is_pairs { Ok(quoted.replace("\"\"", "\"").into()) } else { Err(OTHER_QUOTE) }
}

/// Returns the columns of a header.
pub(crate) fn columns(header: &[u8]) -> Result<Vec<Named>, Error> {
    Ok(CheckedRows::try_new(header)?.columns)
}

fn check<'c>(cells: impl Iterator<Item = &'c str>, count: usize, columns: &[Named]) -> Result<(), String> {
    if count != columns.len() {
        return Err(format!("expected {} cells, found {count}", columns.len()));
    }
    match cells.zip(columns).find(|(cell, (_, kind))| !kind.has(cell)) {
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
        let checked = if is_open { Err(OPEN_QUOTE.to_owned()) } else { check(row.iter(), row.len(), &self.columns) };
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
            assert_eq!(split(line, 2).unwrap(), expected.iter().collect::<Vec<_>>(), "{line}");
        }
        for line in ["\"", "a,\"b,c", "\"a\"\"", "\"a\"\",b", "a\",=b"] {
            assert_eq!(split(line, 2), Err(OPEN_QUOTE), "{line}");
        }
        // Other readers find a cell `=b` in some.
        for line in ["\"a\"b,c", "a\",=b\"", "\"a\"b\",=b\"", "\"a\"\"\"b\"\",=b\""] {
            assert_eq!(split(line, 2), Err(OTHER_QUOTE), "{line}");
        }
    }
}
