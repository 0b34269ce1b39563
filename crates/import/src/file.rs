//! A file whose columns are known.

use std::collections::BTreeSet;

use rooflut_codegen::OperationKind;

use crate::Error;
use crate::answers::Answers;
use crate::layout::{Heads, Layout};
use crate::layouts::{Columns, Others};
use crate::table::SourceTable;

/// Most values of a column that may distinguish ways of measuring; one with more is a measurement itself.
const MAX_VALUES: usize = 16;

/// A file whose columns are known.
pub(crate) struct File<'a> {
    pub(crate) table: &'a SourceTable,
    pub(crate) operation: OperationKind,
    pub(crate) heads: Option<Heads>,
    pub(crate) header: &'a [String],
    pub(crate) measurements_per_row: usize,
    pub(crate) columns: Columns,
}

impl<'a> File<'a> {
    /// Checks the header of a table against the columns of its layout.
    ///
    /// # Errors
    /// Columns that are missing or occur twice, a given header of another length.
    pub(crate) fn try_new(
        layout: Layout,
        table: &'a SourceTable,
        operation: OperationKind,
        heads: Option<Heads>,
        answers: &'a Answers,
    ) -> Result<File<'a>, Error> {
        let given = answers.header_of(operation).unwrap_or_default();
        let header = table.header.as_deref().unwrap_or(given);
        let columns = layout.columns(operation, answers);
        if table.header.is_none() {
            let found = table.rows.first().map_or(0, |row| row.cells.len());
            if found != given.len() {
                return Err(Error::HeaderLength {
                    file: table.path.clone(),
                    found,
                    given: given.to_vec(),
                });
            }
        }
        let is_there = |column: &str| header.iter().any(|name| name == column);
        let missing: Vec<(String, Option<String>)> = columns
            .required
            .iter()
            .filter(|column| !is_there(column))
            .map(|column| (column.clone(), nearest(column, header, &columns)))
            .collect();
        if !missing.is_empty() {
            return Err(Error::MissingColumns {
                file: table.path.clone(),
                missing,
                found: header.to_vec(),
                expected: columns.required,
            });
        }
        let twice = columns
            .read()
            .find(|column| header.iter().filter(|name| name == column).count() > 1);
        if let Some(column) = twice {
            return Err(Error::ColumnTwice {
                file: table.path.clone(),
                column: column.to_owned(),
            });
        }
        Ok(File {
            table,
            operation,
            heads,
            header,
            measurements_per_row: layout.measurements_per_row(operation),
            columns,
        })
    }

    /// Returns the columns that are not read.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let unread = |name: &&String| !self.columns.read().any(|column| column == *name);
        let named = |name: &String| match name.is_empty() {
            true => "(unnamed)".to_owned(),
            false => name.clone(),
        };
        self.header.iter().filter(unread).map(named).collect()
    }

    /// Returns the columns that may distinguish ways of measuring: columns that are not read and have few
    /// values, and those of formats, where several names may be one format.
    pub(crate) fn variant_columns(&self) -> Vec<(usize, &str)> {
        if self.columns.others == Others::Remarks {
            return Vec::new();
        }
        let is_dtype = |name: &str| name.ends_with("dtype");
        let named = self.header.iter().map(String::as_str).enumerate();
        let unread = |name: &str| !self.columns.read().any(|column| column == name);
        named
            .filter(|(_, name)| unread(name) || is_dtype(name))
            .filter(|(index, _)| self.is_choice(*index))
            .collect()
    }

    /// Whether a column has few values, so that it may be a way of measuring. A column of fractions, most of
    /// them different, is a measurement itself.
    fn is_choice(&self, index: usize) -> bool {
        let mut values = BTreeSet::new();
        for value in self
            .table
            .rows
            .iter()
            .filter_map(|row| row.cells.get(index))
        {
            values.insert(value);
            if values.len() > MAX_VALUES {
                return false;
            }
        }
        let is_fraction = |text: &&str| text.parse().is_ok_and(|value: f64| value.fract() != 0.0);
        values.len() * 2 <= self.table.len() || !values.iter().any(is_fraction)
    }
}

/// Returns a column with a name similar to a missing one, unless it is read itself.
fn nearest(column: &str, header: &[String], columns: &Columns) -> Option<String> {
    let names = header.iter().map(String::as_str);
    let free = names.filter(|name| !columns.read().any(|read| read == *name));
    let near = rooflut_nearest::nearest(column, free);
    near.first().map(|name| (*name).to_owned())
}

/// Checks that each condition names a column and a value of it.
///
/// # Errors
/// [`Error::Condition`].
pub(crate) fn check_conditions(files: &[File<'_>], answers: &Answers) -> Result<(), Error> {
    for condition in &answers.conditions {
        let mut is_column = false;
        let mut values = BTreeSet::new();
        for file in files {
            let index = file
                .header
                .iter()
                .position(|name| *name == condition.column);
            let Some(index) = index else {
                continue;
            };
            is_column = true;
            values.extend(
                file.table
                    .rows
                    .iter()
                    .filter_map(|row| row.cells.get(index)),
            );
        }
        if values.contains(condition.value.as_str()) {
            continue;
        }
        let columns: BTreeSet<&str> = files
            .iter()
            .flat_map(|file| file.header)
            .map(String::as_str)
            .collect();
        let known = if is_column { values } else { columns };
        return Err(Error::Condition {
            column: condition.column.clone(),
            value: condition.value.clone(),
            known: known.into_iter().map(str::to_owned).collect(),
            unknown_column: !is_column,
        });
    }
    Ok(())
}

/// Checks that each defined name of a format occurs.
///
/// # Errors
/// [`Error::DtypeName`].
pub(crate) fn check_dtype_names(files: &[File<'_>], answers: &Answers) -> Result<(), Error> {
    if answers.dtype_names.is_empty() {
        return Ok(());
    }
    let mut names = BTreeSet::new();
    for file in files {
        let is_read = |name: &String| file.columns.read().any(|column| column == name);
        let header = file.header.iter().enumerate();
        let columns = header.filter(|(_, name)| name.ends_with("dtype") && is_read(name));
        for (index, _) in columns {
            let rows = file.table.rows.iter();
            names.extend(rows.filter_map(|row| row.cells.get(index)));
        }
    }
    let unused = answers
        .dtype_names
        .iter()
        .find(|(name, _)| !names.contains(name.as_str()));
    match unused {
        None => Ok(()),
        Some((name, _)) => Err(Error::DtypeName {
            name: name.clone(),
            known: names.into_iter().map(str::to_owned).collect(),
        }),
    }
}
