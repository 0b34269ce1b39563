//! A CSV with named columns whose errors name file, line and column.

use std::path::Path;

use rooflut_roofline::Dtype;

use crate::Error;

/// The rows of a CSV whose header was checked.
pub(crate) struct Rows {
    /// The file as messages call it.
    file: String,
    header: Vec<String>,
    records: Vec<csv::StringRecord>,
}

/// One row of [`Rows`].
pub(crate) struct Row<'a> {
    rows: &'a Rows,
    record: &'a csv::StringRecord,
}

impl Rows {
    /// Reads a CSV that must have the columns `required` and may have those in `optional`.
    ///
    /// # Errors
    /// A file that cannot be read, a missing, unknown or repeated column, a row of another length.
    pub(crate) fn read(
        path: &Path,
        file: &str,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Rows, Error> {
        let io = |source| Error::Io {
            path: path.to_owned(),
            source,
        };
        let bytes = std::fs::read(path).map_err(io)?;
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(bytes.as_slice());
        let malformed = |error: csv::Error| Error::Value {
            file: file.to_owned(),
            line: error.position().map_or(1, csv::Position::line),
            column: "row".to_owned(),
            found: error.to_string(),
            expected: "UTF-8 text".to_owned(),
        };
        let header: Vec<String> = reader
            .headers()
            .map_err(malformed)?
            .iter()
            .map(str::to_owned)
            .collect();
        check_header(file, &header, required, optional)?;
        let records = reader
            .records()
            .collect::<Result<Vec<_>, _>>()
            .map_err(malformed)?;
        let rows = Rows {
            file: file.to_owned(),
            header,
            records,
        };
        if rows.records.is_empty() {
            return Err(Error::Empty {
                file: file.to_owned(),
            });
        }
        for row in rows.iter() {
            if row.record.len() != rows.header.len() {
                return Err(row.refuse(
                    "row",
                    &row.record.iter().collect::<Vec<_>>().join(","),
                    &format!("{} fields", rows.header.len()),
                ));
            }
        }
        Ok(rows)
    }

    /// The rows in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|record| Row { rows: self, record })
    }
}

fn check_header(
    file: &str,
    header: &[String],
    required: &[&'static str],
    optional: &[&'static str],
) -> Result<(), Error> {
    let expected = || required.iter().chain(optional).copied();
    if let Some(column) = required
        .iter()
        .find(|column| !header.iter().any(|h| h == *column))
    {
        return Err(Error::MissingColumn {
            file: file.to_owned(),
            column,
            found: header.to_vec(),
        });
    }
    let unknown = header.iter().enumerate().find(|(place, name)| {
        let repeated = header.iter().take(*place).any(|earlier| earlier == *name);
        repeated || !expected().any(|column| column == name.as_str())
    });
    match unknown {
        Some((_, name)) => Err(Error::UnknownColumn {
            file: file.to_owned(),
            found: name.clone(),
            expected: expected().collect(),
        }),
        None => Ok(()),
    }
}

impl Row<'_> {
    /// The line in the file.
    pub(crate) fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// The text in `column`, `None` where the table has no such column.
    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        let place = self.rows.header.iter().position(|name| name == column)?;
        self.record.get(place)
    }

    /// A positive whole number.
    pub(crate) fn count(&self, column: &str) -> Result<u32, Error> {
        let text = self.text(column).unwrap_or_default();
        match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(self.refuse(column, text, "a positive whole number below 2^32")),
        }
    }

    /// A positive, finite number.
    pub(crate) fn positive(&self, column: &str) -> Result<f64, Error> {
        let text = self.text(column).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
            _ => Err(self.refuse(column, text, "a positive number")),
        }
    }

    /// A dtype by name.
    pub(crate) fn dtype(&self, column: &str) -> Result<Dtype, Error> {
        let text = self.text(column).unwrap_or_default();
        Dtype::from_name(text).ok_or_else(|| {
            let names = Dtype::ALL.map(Dtype::name).join(", ");
            self.refuse(column, text, &format!("one of {names}"))
        })
    }

    /// The error for a value in `column` of this row.
    pub(crate) fn refuse(&self, column: &str, found: &str, expected: &str) -> Error {
        Error::Value {
            file: self.rows.file.clone(),
            line: self.line(),
            column: column.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }
}
