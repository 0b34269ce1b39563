//! A CSV with named columns whose errors name file, line and column.

use std::collections::BTreeSet;

use rooflut_roofline::operation::{Codes, Column, ColumnKind, Operation};
use rooflut_roofline::{Dtype, MeasuredKernel, OperationKind};

use crate::Error;
use crate::files::Part;
use crate::measured::MeasuredRow;

/// The rows of a CSV.
pub(crate) struct Rows {
    /// The file as messages call it.
    file: String,
    header_line: u64,
    header: Vec<String>,
    records: Vec<(u64, csv::StringRecord)>,
}

/// One row of [`Rows`].
pub(crate) struct Row<'a> {
    rows: &'a Rows,
    line: u64,
    record: &'a csv::StringRecord,
}

impl Rows {
    /// Reads a CSV, whatever its columns.
    ///
    /// # Errors
    /// A file that is no UTF-8 or empty.
    pub(crate) fn read(part: &Part) -> Result<Rows, Error> {
        let file = &part.name;
        let text = part.text()?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut lines = Lines::of(text);
        let mut records = Vec::new();
        for record in reader.records() {
            // Neither input nor encoding can fail here; the reader's type does not know.
            let record = record.map_err(|error| Error::Io {
                path: file.into(),
                source: error.into(),
            })?;
            let byte = record.position().map_or(0, csv::Position::byte);
            records.push((part.lines_before + lines.line_of(byte), record));
        }
        let mut records = records.into_iter();
        let (header_line, header) = records.next().ok_or_else(|| Error::Empty {
            file: file.to_owned(),
            line: part.lines_before + 1,
        })?;
        Ok(Rows {
            file: file.to_owned(),
            header_line,
            header: header.iter().map(str::to_owned).collect(),
            records: records.collect(),
        })
    }

    /// Checks that the CSV has the columns `required`, no others than these and those in `optional`,
    /// and rows that fill them.
    ///
    /// # Errors
    /// A missing, unknown or repeated column, a row of another length, no row at all.
    pub(crate) fn check(
        &self,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<(), Error> {
        let others = self.others(required, optional)?;
        if let Some(unknown) = others.first() {
            return Err(self.unknown(unknown, required, optional));
        }
        if self.records.is_empty() {
            return Err(self.empty());
        }
        self.iter().try_for_each(|row| row.check_length())
    }

    /// Checks that the CSV has the columns `required`, and these and those in `optional` only once,
    /// and rows. Answers with its other columns.
    ///
    /// # Errors
    /// A missing or repeated column, no row at all.
    pub(crate) fn check_known(
        &self,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Vec<String>, Error> {
        let others = self.others(required, optional)?;
        match self.iter().all(|row| row.is_blank()) {
            true => Err(self.empty()),
            false => Ok(others.into_iter().cloned().collect()),
        }
    }

    /// The columns that are neither `required` nor `optional`.
    fn others(
        &self,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Vec<&String>, Error> {
        let missing = |column: &&&str| !self.header.iter().any(|name| name == **column);
        if let Some(column) = required.iter().find(missing) {
            return Err(Error::MissingColumn {
                file: self.file.clone(),
                line: self.header_line,
                column,
                found: self.header.clone(),
            });
        }
        let known = |name: &str| {
            required
                .iter()
                .chain(optional)
                .any(|column| *column == name)
        };
        let mut seen = BTreeSet::new();
        let mut others = Vec::new();
        for name in &self.header {
            if !known(name) {
                others.push(name);
            } else if !seen.insert(name) {
                return Err(self.unknown(name, required, optional));
            }
        }
        Ok(others)
    }

    /// The error for a column that is not known, or again.
    fn unknown(&self, name: &str, required: &[&'static str], optional: &[&'static str]) -> Error {
        Error::UnknownColumn {
            file: self.file.clone(),
            line: self.header_line,
            found: name.to_owned(),
            expected: required.iter().chain(optional).copied().collect(),
        }
    }

    fn empty(&self) -> Error {
        Error::Empty {
            file: self.file.clone(),
            line: self.header_line,
        }
    }

    /// The file as messages call it.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The line of the header.
    pub(crate) fn header_line(&self) -> u64 {
        self.header_line
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// The rows in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|(line, record)| Row {
            rows: self,
            line: *line,
            record,
        })
    }
}

/// Line numbers of ascending byte positions. (The csv crate's own are those of the previous line's
/// end: too small after `\r\n` and blank lines.)
struct Lines<'a> {
    rest: std::iter::Peekable<std::iter::Enumerate<std::slice::Iter<'a, u8>>>,
    line: u64,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Lines<'a> {
        Lines {
            rest: text.as_bytes().iter().enumerate().peekable(),
            line: 1,
        }
    }

    /// The line of the first byte at or after `position` that ends no line.
    fn line_of(&mut self, position: u64) -> u64 {
        let passed = |(place, byte): &(usize, &u8)| {
            (*place as u64) < position || matches!(byte, b'\r' | b'\n')
        };
        while let Some((_, byte)) = self.rest.next_if(passed) {
            let newline = match byte {
                b'\n' => true,
                b'\r' => self.rest.peek().is_none_or(|(_, next)| **next != b'\n'),
                _ => false,
            };
            self.line += u64::from(newline);
        }
        self.line
    }
}

/// What to do about a value that is not a number of the kind expected.
const CORRECT: &str = "correct it or leave the row out";

impl Row<'_> {
    /// The line in the file.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether there is nothing in it: spreadsheets write empty lines as commas.
    pub(crate) fn is_blank(&self) -> bool {
        self.record.iter().all(str::is_empty)
    }

    /// Checks that it fills the columns.
    ///
    /// # Errors
    /// It has more or fewer fields.
    pub(crate) fn check_length(&self) -> Result<(), Error> {
        let header = &self.rows.header;
        if self.record.len() == header.len() {
            return Ok(());
        }
        let expected = format!("{} fields ({})", header.len(), header.join(","));
        let found = self.record.iter().collect::<Vec<_>>().join(",");
        Err(self.refuse("row", &found, &expected, "mend or remove the row"))
    }

    /// The text in `column`, `None` where the table has no such column.
    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        let place = self.rows.header.iter().position(|name| name == column)?;
        self.record.get(place)
    }

    /// The values of those of `columns` that the table has, as messages call a key:
    /// `dtype bf16, k 512, n 512`.
    pub(crate) fn key(&self, columns: &[&str]) -> String {
        let named = |column: &&str| Some(format!("{column} {}", self.text(column)?));
        columns
            .iter()
            .filter_map(named)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The kernel of an operation and the latency that the row says.
    ///
    /// # Errors
    /// A column that cannot be read, a shape that contradicts itself.
    pub(crate) fn measurement(&self, operation: OperationKind) -> Result<MeasuredRow, Error> {
        let declared = operation.declared();
        let shape = self.shape(declared)?;
        let mut point = [1; 2];
        for (coordinate, axis) in point.iter_mut().zip(declared.axes) {
            *coordinate = self.whole(axis, 1)?;
        }
        Ok(MeasuredRow {
            line: self.line,
            kernel: MeasuredKernel::new(operation, shape, point),
            latency_us: self.positive("latency_us")?,
        })
    }

    fn shape(&self, operation: &Operation) -> Result<Codes, Error> {
        let mut shape = Codes::default();
        for (code, column) in shape.iter_mut().zip(operation.shape) {
            *code = self.code(column)?;
        }
        (operation.check)(&shape).map_err(|refused| {
            let found = self.text(refused.column).unwrap_or_default();
            let expected = refused.expected.to_string();
            self.refuse(refused.column, found, &expected, refused.hint)
        })?;
        Ok(shape)
    }

    /// The number that stands for a cell of a shape.
    fn code(&self, column: &Column) -> Result<u32, Error> {
        match column.kind {
            ColumnKind::Dtype => self.dtype(column.name).map(Dtype::code),
            ColumnKind::CountOr(number) if self.text(column.name).is_none() => Ok(number),
            ColumnKind::Whole => self.whole(column.name, 0),
            _ => self.whole(column.name, 1),
        }
    }

    /// A whole number of at least `least`: 0 or 1.
    fn whole(&self, column: &'static str, least: u32) -> Result<u32, Error> {
        let text = self.text(column).unwrap_or_default();
        match text.parse() {
            Ok(number) if number >= least => Ok(number),
            _ => {
                let expected = match least {
                    0 => "a whole number below 2^32",
                    _ => "a positive whole number below 2^32",
                };
                let whole = text.parse().is_ok_and(|value: f64| {
                    value >= f64::from(least)
                        && value <= f64::from(u32::MAX)
                        && value.fract() <= 0.0
                });
                let hint = if whole {
                    "write it in plain digits"
                } else {
                    CORRECT
                };
                Err(self.refuse(column, text, expected, hint))
            }
        }
    }

    /// A positive, finite number that is neither 0 nor infinite as f32 either.
    fn positive(&self, column: &'static str) -> Result<f64, Error> {
        let text = self.text(column).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if (number as f32).is_normal() && number > 0.0 => Ok(number),
            Ok(number) if number > 0.0 && number.is_finite() => Err(self.refuse(
                column,
                text,
                "a positive number between 1.2e-38 and 3.4e38",
                CORRECT,
            )),
            _ => Err(self.refuse(column, text, "a positive number", CORRECT)),
        }
    }

    /// A dtype by name.
    fn dtype(&self, column: &'static str) -> Result<Dtype, Error> {
        let text = self.text(column).unwrap_or_default();
        text.parse().map_err(|_| {
            let expected = format!("one of {}", Dtype::ALL.map(Dtype::name).join(", "));
            self.refuse(column, text, &expected, "rename it or leave the row out")
        })
    }

    /// The error for a value in `column` of this row.
    pub(crate) fn refuse(
        &self,
        column: &'static str,
        found: &str,
        expected: &str,
        hint: &'static str,
    ) -> Error {
        Error::Value {
            file: self.rows.file.clone(),
            line: self.line(),
            column,
            found: found.to_owned(),
            expected: expected.to_owned(),
            hint,
        }
    }
}
