//! The cells of a CSV file by the names of their columns.

use std::collections::BTreeSet;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::error::{Error, Problem};

/// A CSV file with a header.
pub(crate) struct Sheet<'s> {
    file: &'s str,
    bytes: &'s [u8],
    header: StringRecord,
    header_line: u64,
    records: Vec<StringRecord>,
}

/// One row.
pub(crate) struct Cells<'s> {
    sheet: &'s Sheet<'s>,
    record: &'s StringRecord,
}

/// Characters that separate columns in other files, and what they are called.
const SEPARATORS: [(char, &str); 3] = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];

impl<'s> Sheet<'s> {
    /// Reads all of `bytes`, the contents of `file`.
    pub(crate) fn read(file: &'s str, bytes: &'s [u8]) -> Result<Sheet<'s>, Error> {
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(bytes);
        let refused = |error: csv::Error| Error {
            file: file.to_owned(),
            line: error.position().map(|at| line_of(bytes, Some(at))),
            problem: problem(&error),
        };
        let header = reader.headers().map_err(refused)?.clone();
        let sheet = Sheet {
            file,
            bytes,
            header_line: line_of(bytes, header.position()),
            header,
            records: reader
                .into_records()
                .collect::<Result<_, _>>()
                .map_err(refused)?,
        };
        sheet.check()?;
        Ok(sheet)
    }

    fn check(&self) -> Result<(), Error> {
        if self.header.is_empty() || self.bytes.trim_ascii().is_empty() {
            return Err(self.error(None, Problem::Empty));
        }
        let alone = (self.header.len() == 1)
            .then(|| self.header.get(0))
            .flatten();
        let separates = |(character, _): &(char, _)| alone.is_some_and(|h| h.contains(*character));
        if let Some((_, found)) = SEPARATORS.into_iter().find(separates) {
            return Err(self.header_error(Problem::Separator { found }));
        }
        // Several columns without a name, as trailing commas make them, do no harm.
        let mut names = BTreeSet::new();
        let mut named = self.header.iter().filter(|name| !name.is_empty());
        match named.find(|name| !names.insert(*name)) {
            Some(column) => Err(self.header_error(Problem::ColumnTwice {
                column: column.to_owned(),
            })),
            None => Ok(()),
        }
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> Vec<&str> {
        self.header.iter().collect()
    }

    /// The rows, at least one.
    pub(crate) fn rows(&'s self) -> Result<impl Iterator<Item = Cells<'s>>, Error> {
        if self.records.is_empty() {
            return Err(self.error(None, Problem::NoRows));
        }
        let cells = |record| Cells {
            sheet: self,
            record,
        };
        Ok(self.records.iter().map(cells))
    }

    /// That something is wrong with the header.
    pub(crate) fn header_error(&self, problem: Problem) -> Error {
        self.error(Some(self.header_line), problem)
    }

    fn error(&self, line: Option<u64>, problem: Problem) -> Error {
        Error {
            file: self.file.to_owned(),
            line,
            problem,
        }
    }
}

impl<'s> Cells<'s> {
    /// A text; empty where the file has no such column.
    pub(crate) fn text(&self, column: &str) -> &'s str {
        let mut names = self.sheet.header.iter();
        let place = names.position(|name| name == column);
        place
            .and_then(|place| self.record.get(place))
            .unwrap_or_default()
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

    /// A number that is not negative; `None` in an empty cell.
    pub(crate) fn optional_number(&self, column: &'static str) -> Result<Option<f64>, Error> {
        self.unless_empty(column, Cells::number)
    }

    /// That the cell does not hold what is expected of it.
    pub(crate) fn refuse(&self, column: &'static str, expected: &'static str) -> Error {
        let line = line_of(self.sheet.bytes, self.record.position());
        let found = self.text(column).to_owned();
        let problem = Problem::Value {
            column,
            expected,
            found,
        };
        self.sheet.error(Some(line), problem)
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

/// A whole number, also as spreadsheets write one in a column with empty cells: `7463.0`.
fn whole(text: &str) -> Option<u32> {
    let digits = match text.split_once('.') {
        Some((digits, zeros)) if zeros.bytes().all(|byte| byte == b'0') => digits,
        _ => text,
    };
    digits.parse().ok()
}

fn problem(error: &csv::Error) -> Problem {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Problem::Fields {
            expected: *expected_len,
            found: *len,
        },
        csv::ErrorKind::Utf8 { .. } => Problem::NotText,
        _ => Problem::Csv(error.to_string()),
    }
}

/// The line on which the record at `position` begins. The position is that of the blank lines before
/// the record.
fn line_of(bytes: &[u8], position: Option<&csv::Position>) -> u64 {
    let start = position.map_or(0, |position| position.byte() as usize);
    let rest = bytes.get(start..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| b"\r\n".contains(byte));
    let before = bytes.get(..start + blank.count()).unwrap_or(bytes);
    // A line ends with LF, CR LF or CR.
    let ends = before.iter().zip(before.iter().skip(1).chain([&0]));
    let ends = ends.filter(|&(&byte, &next)| byte == b'\n' || byte == b'\r' && next != b'\n');
    1 + ends.count() as u64
}
