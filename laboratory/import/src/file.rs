//! A file whose columns are known.

use std::collections::BTreeSet;

use rooflut_codegen::OperationKind;
use rooflut_error::{Error, Kind};

use crate::answers::{Answers, Condition};
use crate::error::wrong;
use crate::layout::{Heads, Layout};
use crate::layouts::{Columns, Others};
use crate::table::{MAX_VARIANTS, SourceRow, SourceTable};
use crate::text::listed;

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
        let path = &table.path;
        let given = answers.header_of(operation).unwrap_or_default();
        let header = table.header.as_deref().unwrap_or(given);
        let found = table.rows().next().map_or(0, SourceRow::len);
        if table.header.is_none() && found != given.len() {
            let problem = format!(
                "--header: expected a name for each of its {found} columns, found {} ({}); name them all",
                given.len(),
                given.join(",")
            );
            return Err(wrong(path, problem));
        }
        let columns = layout.columns(operation, answers);
        let is_missing = |column: &&String| !header.contains(column);
        let missing: Vec<String> = columns
            .required
            .iter()
            .filter(is_missing)
            .map(|column| match nearest(column, header, &columns) {
                Some(nearest) => format!("{column} (is it {nearest}?)"),
                None => column.clone(),
            })
            .collect();
        if !missing.is_empty() {
            let problem = format!(
                "expected the columns {}, found {}; missing: {}; rename the columns that are meant, or \
                 leave the file out with --skip",
                columns.required.join(","),
                header.join(","),
                missing.join(", ")
            );
            return Err(wrong(path, problem));
        }
        let twice = columns.read().find(|column| header.iter().filter(|name| name == column).count() > 1);
        if let Some(column) = twice {
            let problem =
                format!("{column}: expected a column of that name once, found it twice; rename one of the two");
            return Err(wrong(path, problem));
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

    /// Returns the index of a column.
    pub(crate) fn index(&self, column: &str) -> Option<usize> {
        self.header.iter().position(|name| name == column)
    }

    fn is_read(&self, name: &str) -> bool {
        self.columns.read().any(|column| column == name)
    }

    /// Returns the columns that are not read.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let unread = self.header.iter().filter(|name| !self.is_read(name));
        let named = unread.map(|name| match name.as_str() {
            "" => "(unnamed)".to_owned(),
            name => name.to_owned(),
        });
        named.collect()
    }

    /// Returns the columns that may distinguish ways of measuring: columns that are not read and have few
    /// values, and those of formats, where several names may be one format.
    pub(crate) fn variant_columns(&self) -> Vec<(usize, &str)> {
        if self.columns.others == Others::Remarks {
            return Vec::new();
        }
        let named = self.header.iter().map(String::as_str).enumerate();
        named
            .filter(|(_, name)| !self.is_read(name) || name.ends_with("dtype"))
            .filter(|(index, _)| self.is_choice(*index))
            .collect()
    }

    /// Whether a column has few values, so that it may be a way of measuring. A column of fractions, most of
    /// them different, is a measurement itself.
    fn is_choice(&self, index: usize) -> bool {
        let values = self.table.texts(index).take(MAX_VARIANTS + 1);
        let values: Vec<&str> = values.collect();
        let is_fraction = |text: &&str| text.parse().is_ok_and(|value: f64| value.fract() != 0.0);
        values.len() <= MAX_VARIANTS && (values.len() * 2 <= self.table.len() || !values.iter().any(is_fraction))
    }
}

/// Returns a column with a name similar to a missing one, unless it is read itself.
fn nearest<'h>(column: &str, header: &'h [String], columns: &Columns) -> Option<&'h str> {
    let names = header.iter().map(String::as_str);
    let free = names.filter(|name| !columns.read().any(|read| read == *name));
    rooflut_error::nearest(column, free).first().copied()
}

/// Checks that each condition names a column and a value of it.
///
/// # Errors
/// The first that does not.
pub(crate) fn check_conditions(files: &[File<'_>], answers: &Answers) -> Result<(), Error> {
    for condition in &answers.conditions {
        let Condition { column, value } = condition;
        let with_column = files.iter().filter_map(|file| {
            let column = condition.column_in(file.operation)?;
            Some((file, file.index(column)?))
        });
        let is_column = with_column.clone().next().is_some();
        let values: BTreeSet<&str> = with_column.flat_map(|(file, index)| file.table.texts(index)).collect();
        if values.contains(value.as_str()) {
            continue;
        }
        let problem = if is_column {
            format!("expected a value that the column has, one of {}, found no row with {value}", listed(values))
        } else {
            let columns: BTreeSet<&String> = files.iter().flat_map(|file| file.header).collect();
            format!("expected a column of the files, one of {}, found none called {column}", listed(columns))
        };
        return Err(Error::new(Kind::Value, format!("--where {column}={value}: {problem}")));
    }
    Ok(())
}

/// Checks that each defined name of a format occurs.
///
/// # Errors
/// The first that does not.
pub(crate) fn check_dtype_names(files: &[File<'_>], answers: &Answers) -> Result<(), Error> {
    let columns = files.iter().flat_map(|file| {
        let header = file.header.iter().enumerate();
        let columns = header.filter(|(_, name)| name.ends_with("dtype") && file.is_read(name));
        columns.map(move |(index, _)| file.table.texts(index))
    });
    let mut dtype_names = answers.dtype_names.iter().map(|(name, _)| name).peekable();
    if dtype_names.peek().is_none() {
        return Ok(());
    }
    let names: BTreeSet<&str> = columns.flatten().collect();
    let Some(unused) = dtype_names.find(|name| !names.contains(name.as_str())) else {
        return Ok(());
    };
    let problem = if names.is_empty() {
        "expected a name that a row has, found no row that names a format; use --dtype".to_owned()
    } else {
        format!("expected a name that a row has, one of {}, found no row with it", listed(names))
    };
    Err(Error::new(Kind::Value, format!("--dtype-name {unused}: {problem}")))
}
