//! The cells of a CSV file by column name.

use std::collections::BTreeSet;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use rooflut_codegen::{RecordLines, line_ends};
use rooflut_error::{Error, Kind};

use crate::kind;
use crate::tally::{quoted, shortened};

/// A CSV file with a header.
pub(crate) struct Sheet<'s> {
    file: &'s str,
    bytes: &'s [u8],
    header: StringRecord,
    header_line: u64,
    /// The rows with at least one cell that is not empty, and their lines.
    records: Vec<(u64, StringRecord)>,
}

/// One row.
pub(crate) struct Cells<'s> {
    sheet: &'s Sheet<'s>,
    line: u64,
    record: &'s StringRecord,
}

/// Spellings of a missing value, in any case.
const MISSING: [&str; 3] = ["nan", "na", "null"];

/// Column separators of other formats, and their names.
const SEPARATORS: [(char, &str); 3] = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];

impl<'s> Sheet<'s> {
    /// Reads all of `bytes`, the contents of `file`.
    pub(crate) fn read(file: &'s str, bytes: &'s [u8]) -> Result<Sheet<'s>, Error> {
        let text = str::from_utf8(bytes).map_err(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = line_ends(&String::from_utf8_lossy(valid)) + 1;
            wrong(file, line, "expected UTF-8 text, found other bytes; save the file as UTF-8")
        })?;
        let reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).flexible(true).from_reader(bytes);
        let mut lines = RecordLines::new(text, 1);
        let mut line = 1;
        let mut records = Vec::new();
        for record in reader.into_records() {
            // Cannot fail: the text is in memory and UTF-8, and rows may have any length.
            let record = record.map_err(|error| wrong(file, line, error.to_string()))?;
            let byte = record.position().map_or(0, csv::Position::byte);
            line = lines.line_at(byte);
            records.push((line, record));
        }
        let mut records = records.into_iter();
        let (header_line, header) = records.next().unwrap_or_default();
        // Spreadsheets write empty lines as commas.
        let records = records.filter(|(_, record)| record.iter().any(|cell| !cell.is_empty())).collect();
        let sheet = Sheet { file, bytes, header, header_line, records };
        sheet.check()?;
        Ok(sheet)
    }

    fn check(&self) -> Result<(), Error> {
        if self.header.is_empty() || self.bytes.trim_ascii().is_empty() {
            let problem =
                format!("the file is empty; expected a header and one line per measurement, as in {}", kind::files());
            return Err(wrong(self.file, None, problem));
        }
        let alone = (self.header.len() == 1).then(|| self.header.get(0)).flatten();
        let separates = |(character, _): &(char, _)| alone.is_some_and(|h| h.contains(*character));
        if let Some((_, found)) = SEPARATORS.into_iter().find(separates) {
            let problem = format!("expected columns separated by commas, found {found}; replace them");
            return Err(self.header_error(problem));
        }
        // Trailing commas make several columns without a name, which are harmless.
        let mut names = BTreeSet::new();
        let mut named = self.header.iter().filter(|name| !name.is_empty());
        if let Some(column) = named.find(|name| !names.insert(*name)) {
            let column = shortened(column);
            let problem = format!("expected one column {column}, found several; rename or remove the others");
            return Err(self.header_error(problem));
        }
        let expected = self.header.len();
        let mut records = self.records.iter();
        match records.find(|(_, record)| record.len() != expected) {
            Some((line, record)) => {
                let found = record.len();
                let problem = format!("expected {expected} fields, found {found}; correct this line");
                Err(wrong(self.file, *line, problem))
            }
            None => Ok(()),
        }
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> Vec<&str> {
        self.header.iter().collect()
    }

    /// The rows, of which there is at least one.
    pub(crate) fn rows(&'s self) -> Result<impl Iterator<Item = Cells<'s>>, Error> {
        if self.records.is_empty() {
            let problem = "no rows; expected one line per measurement under the header";
            return Err(wrong(self.file, None, problem));
        }
        let cells = |(line, record): &'s (u64, StringRecord)| Cells { sheet: self, line: *line, record };
        Ok(self.records.iter().map(cells))
    }

    /// Returns `problem` as an error on the line of the header.
    pub(crate) fn header_error(&self, problem: String) -> Error {
        wrong(self.file, self.header_line, problem)
    }
}

/// The file has other contents than expected.
fn wrong(file: &str, line: impl Into<Option<u64>>, problem: impl Into<String>) -> Error {
    Error::new(Kind::Contents, problem).at_line(line).in_file(Path::new(file))
}

impl<'s> Cells<'s> {
    /// The line in the file, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The text of a cell; empty if the file has no such column or the value is missing.
    pub(crate) fn text(&self, column: &str) -> &'s str {
        let text = self.raw(column);
        if MISSING.iter().any(|word| text.eq_ignore_ascii_case(word)) { "" } else { text }
    }

    /// The unchanged text of a cell.
    fn raw(&self, column: &str) -> &'s str {
        let mut names = self.sheet.header.iter();
        let place = names.position(|name| name == column);
        place.and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    /// A whole number.
    pub(crate) fn whole(&self, column: &'static str) -> Result<u32, Error> {
        let number = whole(self.text(column));
        number.ok_or_else(|| self.refuse(column, "a whole number, 0 or more"))
    }

    /// A whole number; `None` in an empty cell.
    pub(crate) fn optional_whole(&self, column: &'static str) -> Result<Option<u32>, Error> {
        self.unless_empty(column, Cells::whole)
    }

    /// A number that is not negative.
    pub(crate) fn number(&self, column: &'static str) -> Result<f64, Error> {
        let number = self.text(column).parse::<f64>().ok();
        number
            .filter(|number| *number >= 0.0 && number.is_finite())
            .ok_or_else(|| self.refuse(column, "a number, 0 or more"))
    }

    /// A number of any sign.
    pub(crate) fn finite(&self, column: &'static str) -> Result<f64, Error> {
        let number = self.text(column).parse::<f64>().ok();
        number.filter(|number| number.is_finite()).ok_or_else(|| self.refuse(column, "a finite number"))
    }

    /// A number of any sign; `None` in an empty cell.
    pub(crate) fn optional_finite(&self, column: &'static str) -> Result<Option<f64>, Error> {
        self.unless_empty(column, Cells::finite)
    }

    /// A number that is not negative; `None` in an empty cell.
    pub(crate) fn optional_number(&self, column: &'static str) -> Result<Option<f64>, Error> {
        self.unless_empty(column, Cells::number)
    }

    /// Returns whether a column says yes, or `None` where it is empty.
    pub(crate) fn flag(&self, column: &'static str) -> Result<Option<bool>, Error> {
        Ok(match self.text(column).to_ascii_lowercase().as_str() {
            "" => None,
            "1" | "1.0" | "true" => Some(true),
            "0" | "0.0" | "false" => Some(false),
            _ => return Err(self.refuse(column, "0 or 1")),
        })
    }

    /// Returns the error of a cell that does not hold what is expected.
    pub(crate) fn refuse(&self, column: &'static str, expected: &'static str) -> Error {
        let found = quoted(self.raw(column));
        let problem = format!("{column}: expected {expected}, found {found}; correct this line");
        wrong(self.sheet.file, self.line, problem)
    }

    fn unless_empty<T>(
        &self,
        column: &'static str,
        read: fn(&Self, &'static str) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.text(column) {
            "" => Ok(None),
            _ => read(self, column).map(Some),
        }
    }
}

/// Parses a whole number. Spreadsheets write `7463.0` in a column with empty cells.
fn whole(text: &str) -> Option<u32> {
    let digits = match text.split_once('.') {
        Some((digits, zeros)) if zeros.bytes().all(|byte| byte == b'0') => digits,
        _ => text,
    };
    digits.parse().ok()
}
