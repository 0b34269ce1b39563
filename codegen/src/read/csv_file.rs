//! A CSV with named columns whose errors name file, line and column.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::error::{Error, ErrorKind, Found, Location};
use super::files::Part;
use super::record_lines::RecordLines;

/// The rows of a CSV.
pub(crate) struct Rows {
    /// Location of the header.
    location: Location,
    header: Vec<String>,
    /// Each with its line in the file.
    records: Vec<(u64, csv::StringRecord)>,
}

/// One row of [`Rows`].
pub(crate) struct Row<'a> {
    rows: &'a Rows,
    line: u64,
    record: &'a csv::StringRecord,
}

impl Rows {
    /// Reads a CSV with any columns.
    ///
    /// # Errors
    /// The file is not UTF-8, or empty.
    pub(crate) fn read(part: &Part) -> Result<Rows, Error> {
        let text = part.text()?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut lines = RecordLines::new(text, part.lines_before + 1);
        let mut records = Vec::new();
        for record in reader.records() {
            // Cannot fail: the text is in memory and UTF-8, and rows may have any length.
            let record = record.map_err(|error| Error::io(part.name.as_ref(), error.into()))?;
            let byte = record.position().map_or(0, csv::Position::byte);
            records.push((lines.line_at(byte), record));
        }
        let mut records = records.into_iter();
        let (line, header) = records.next().ok_or_else(|| no_rows(part.line(1)))?;
        Ok(Rows {
            location: Location::file(part.name.clone()).line(line),
            header: header.iter().map(str::to_owned).collect(),
            records: records.collect(),
        })
    }

    /// Checks that the CSV has the columns `required`, no others except `optional` ones, and rows with a
    /// field for each.
    ///
    /// # Errors
    /// A column is missing, unknown or repeated; a row has another length; there are no rows.
    pub(crate) fn check(&self, required: &[&'static str], optional: &[&'static str]) -> Result<(), Error> {
        let others = self.others(required, optional)?;
        if let Some(unknown) = others.first() {
            return Err(self.unknown(unknown, required, optional));
        }
        if self.records.is_empty() {
            return Err(self.empty());
        }
        self.iter().try_for_each(|row| row.check_length())
    }

    /// Checks that the CSV has the columns `required`, none of `required` and `optional` twice, and rows.
    /// Returns its other columns.
    ///
    /// # Errors
    /// A column is missing or repeated; there are no rows.
    pub(crate) fn check_known(
        &self,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Vec<String>, Error> {
        let others = self.others(required, optional)?;
        if self.iter().all(|row| row.is_blank()) {
            Err(self.empty())
        } else {
            Ok(others.into_iter().cloned().collect())
        }
    }

    /// The columns that are neither `required` nor `optional`.
    fn others(&self, required: &[&'static str], optional: &[&'static str]) -> Result<Vec<&String>, Error> {
        let missing = |column: &&&str| !self.header.iter().any(|name| name == **column);
        if let Some(column) = required.iter().find(missing) {
            return Err(Error::new(
                ErrorKind::Columns,
                self.location.clone().field(*column),
                "a column of that name",
                self.found(),
                self.unseparated().unwrap_or("add it, or rename the column that is meant"),
            ));
        }
        let known = |name: &str| required.iter().chain(optional).any(|column| *column == name);
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

    /// The error for an unknown or repeated column.
    fn unknown(&self, name: &str, required: &[&'static str], optional: &[&'static str]) -> Error {
        let columns = [required, optional].concat().join(",");
        Error::new(
            ErrorKind::Columns,
            self.location.clone(),
            format!("the columns {columns} once each"),
            Found::text(name),
            "rename or remove it",
        )
    }

    /// The error for a file without rows.
    pub(crate) fn empty(&self) -> Error {
        no_rows(self.location.clone())
    }

    /// The location of the header.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// The header as messages show it.
    pub(crate) fn found(&self) -> Found {
        Found::text(self.header.join(","))
    }

    /// The hint for a header with another separator than the comma, or `None`.
    pub(crate) fn unseparated(&self) -> Option<&'static str> {
        match self.header.as_slice() {
            [one] if one.contains([';', '\t']) => Some("separate the columns by commas"),
            _ => None,
        }
    }

    /// The rows in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|(line, record)| Row { rows: self, line: *line, record })
    }
}

fn no_rows(location: Location) -> Error {
    Error::new(
        ErrorKind::Empty,
        location,
        "at least one row of measurements",
        Found::NONE,
        "add some or leave the file out",
    )
}

impl Row<'_> {
    /// The line in the file.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether all fields are empty: spreadsheets write empty lines as commas.
    pub(crate) fn is_blank(&self) -> bool {
        self.record.iter().all(str::is_empty)
    }

    /// Checks that the row has a field for each column.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] where it has more or fewer.
    pub(crate) fn check_length(&self) -> Result<(), Error> {
        let header = &self.rows.header;
        if self.record.len() == header.len() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Row,
            self.location("row"),
            format!("{} fields ({})", header.len(), header.join(",")),
            Found::text(self.joined()),
            "correct or remove the row",
        ))
    }

    /// The row as a line of the file, without spaces around its fields.
    pub(crate) fn joined(&self) -> String {
        self.record.iter().collect::<Vec<_>>().join(",")
    }

    /// The text in `column`, or `None` where the table has no such column.
    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        let index = self.rows.header.iter().position(|name| name == column)?;
        self.record.get(index)
    }

    /// The values in those of `columns` that the table has, as messages show a key:
    /// `dtype bf16, k 512, n 512`.
    pub(crate) fn key(&self, columns: &[&str]) -> String {
        let named = |column: &&str| Some(format!("{column} {}", self.text(column)?));
        let named: Vec<_> = columns.iter().filter_map(named).collect();
        named.join(", ")
    }

    /// The location of the row and a column of it.
    pub(crate) fn location(&self, column: &'static str) -> Location {
        self.rows.location.clone().line(self.line).field(column)
    }

    /// The error for the value in `column`.
    pub(crate) fn refuse(
        &self,
        column: &'static str,
        expected: impl Into<Cow<'static, str>>,
        hint: &'static str,
    ) -> Error {
        let found = Found::text(self.text(column).unwrap_or_default());
        Error::new(ErrorKind::Value, self.location(column), expected, found, hint)
    }
}
