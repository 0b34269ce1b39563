//! Rows of a table that a set does not use, as `set.toml` lists them.

use std::collections::BTreeMap;

use super::csv_file::Row;
use super::error::{Error, ErrorKind, Found, Location};
use super::toml_file::Table;

/// Rows of a table that the set does not use.
#[derive(Debug, Clone)]
pub struct ExcludedRows {
    /// The reason, as `set.toml` has it.
    pub reason: String,
    /// The rows, in the words of the CSV.
    pub rows: Vec<String>,
}

/// The rows of one table that are read but not used.
#[derive(Default)]
pub(crate) struct Excluded {
    /// The entries in the order of the file.
    pub(crate) entries: Vec<ExcludedRows>,
    /// The text of each row and its location in `set.toml`.
    rows: BTreeMap<String, Location>,
}

impl Excluded {
    /// Reads the entries `[[gemm.excluded]]` of a section: a reason, and rows in the words of the CSV.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for an entry without a reason or rows, and for a
    /// row that is listed twice.
    pub(crate) fn parse(section: &Table<'_>) -> Result<Excluded, Error> {
        let mut excluded = Excluded::default();
        let entries = section.optional("excluded");
        for entry in entries.map_or(Ok(Vec::new()), |entries| entries.list())? {
            let table = entry.table(&["reason", "rows"])?;
            let reason = table.required("reason")?.text()?.trim().replace('\n', " ");
            let mut rows = Vec::new();
            for row in table.required("rows")?.list()? {
                let text = row.text()?.to_owned();
                rows.push(text.clone());
                if excluded.rows.insert(text, row.location()).is_some() {
                    return Err(row.refuse("each row once", "list it under one reason"));
                }
            }
            excluded.entries.push(ExcludedRows { reason, rows });
        }
        Ok(excluded)
    }

    /// The rows that are not found yet.
    pub(crate) fn pending(&self) -> Pending<'_> {
        Pending {
            rows: self
                .rows
                .iter()
                .map(|(row, location)| (row.as_str(), location))
                .collect(),
        }
    }
}

/// Excluded rows that the table has yet to show.
pub(crate) struct Pending<'a> {
    rows: BTreeMap<&'a str, &'a Location>,
}

impl Pending<'_> {
    /// Whether `row` is excluded; each row of the list is found once.
    pub(crate) fn take(&mut self, row: &Row<'_>) -> bool {
        !self.rows.is_empty() && self.rows.remove(row.joined().as_str()).is_some()
    }

    /// Checks that the table `file` has had all of them.
    ///
    /// # Errors
    /// [`ErrorKind::Set`] for a row that the table does not have.
    pub(crate) fn finish(self, file: &str) -> Result<(), Error> {
        match self.rows.first_key_value() {
            None => Ok(()),
            Some((row, location)) => Err(Error::new(
                ErrorKind::Set,
                (*location).clone(),
                format!("a row of {file}, as the file has it"),
                Found::text(*row),
                "correct or remove it",
            )),
        }
    }
}
