//! Rows of a table that a set does not use, or whose latency it replaces, as `set.toml` lists them.

use std::collections::BTreeMap;

use super::csv_file::Row;
use super::error::{Error, ErrorKind, Found, Location};
use super::toml_file::{Table, Value};

/// Rows of a table that the set does not use as they are.
#[derive(Debug, Clone)]
pub struct ExcludedRows {
    /// The reason, as `set.toml` has it.
    pub reason: String,
    /// The rows, in the words of the CSV.
    pub rows: Vec<String>,
    /// The latencies that another measurement has in place of theirs, microseconds, in the same order; empty if the
    /// rows are left out.
    pub latency_us: Vec<f64>,
}

/// The rows of one table that are read but not used as they are.
#[derive(Default)]
pub(crate) struct Excluded {
    /// The entries in the order of the file.
    pub(crate) entries: Vec<ExcludedRows>,
    /// The text of each row, its location in `set.toml`, and the latency in place of its own.
    rows: BTreeMap<String, (Location, Option<f64>)>,
}

/// The use of a row.
pub(crate) enum Use {
    AsRead,
    Excluded,
    /// Takes this latency, microseconds, in place of the row's.
    Replaced(f64),
}

impl Excluded {
    /// Reads the entries `[[gemm.excluded]]` of a section: a reason, rows in the words of the CSV, and optionally as
    /// many latencies in place of theirs.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for an entry without a reason or rows, for a row that is listed twice, and for more or fewer
    /// latencies than rows.
    pub(crate) fn parse(section: &Table<'_>) -> Result<Excluded, Error> {
        let mut excluded = Excluded::default();
        let entries = section.optional("excluded");
        for entry in entries.map_or(Ok(Vec::new()), |entries| entries.list())? {
            let table = entry.table(&["reason", "rows", "latency_us"])?;
            let reason = table.required("reason")?.text()?.trim().replace('\n', " ");
            let listed = table.required("rows")?.list()?;
            let latency_us = match table.optional("latency_us") {
                Some(value) => latencies(&value, listed.len())?,
                None => Vec::new(),
            };
            let mut rows = Vec::new();
            for (place, row) in listed.iter().enumerate() {
                let text = row.text()?.to_owned();
                rows.push(text.clone());
                let use_of = (row.location(), latency_us.get(place).copied());
                if excluded.rows.insert(text, use_of).is_some() {
                    return Err(row.refuse("each row once", "list it under one reason"));
                }
            }
            excluded.entries.push(ExcludedRows { reason, rows, latency_us });
        }
        Ok(excluded)
    }

    /// The rows that are not found yet.
    pub(crate) fn pending(&self) -> Pending<'_> {
        Pending { rows: self.rows.iter().map(|(row, use_of)| (row.as_str(), use_of)).collect() }
    }
}

/// A positive latency for each of `count` rows.
fn latencies(value: &Value<'_>, count: usize) -> Result<Vec<f64>, Error> {
    let list = value.list()?;
    if list.len() != count {
        let expected = format!("as many latencies as rows ({count})");
        return Err(value.refuse(expected, "add or remove some"));
    }
    list.iter().map(Value::positive).collect()
}

/// Excluded rows that the table has yet to show.
pub(crate) struct Pending<'a> {
    rows: BTreeMap<&'a str, &'a (Location, Option<f64>)>,
}

impl Pending<'_> {
    /// Returns the use of `row`; each row of the list is found once.
    pub(crate) fn take(&mut self, row: &Row<'_>) -> Use {
        if self.rows.is_empty() {
            return Use::AsRead;
        }
        match self.rows.remove(row.joined().as_str()) {
            None => Use::AsRead,
            Some((_, None)) => Use::Excluded,
            Some((_, Some(latency_us))) => Use::Replaced(*latency_us),
        }
    }

    /// Checks that the table `file` has had all of them.
    ///
    /// # Errors
    /// [`ErrorKind::Set`] for a row that the table does not have.
    pub(crate) fn finish(self, file: &str) -> Result<(), Error> {
        match self.rows.first_key_value() {
            None => Ok(()),
            Some((row, (location, _))) => Err(Error::new(
                ErrorKind::Set,
                location.clone(),
                format!("a row of {file}, as the file has it"),
                Found::text(*row),
                "correct or remove it",
            )),
        }
    }
}
