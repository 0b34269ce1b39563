//! From the rows of files to readings.

use std::collections::{BTreeMap, BTreeSet};

use rooflut_codegen::OperationKind;

use crate::Error;
use crate::answers::Answers;
use crate::cells::{Cells, Places};
use crate::defects::variants::Variant;
use crate::kernel;
use crate::layout::{Heads, Layout};
use crate::layouts::{Columns, Others};
use crate::reading::{Cause, LeftOut, Reading, Reason};
use crate::table::{SourceRow, SourceTable};

/// Values of a column that may still tell apart ways of measuring; one with more is a measurement itself.
const VALUES: usize = 16;

/// The readings of all files, and what was left out on the way.
#[derive(Default)]
pub(crate) struct Readings {
    /// By operation, in the order of files and rows.
    pub(crate) readings: BTreeMap<OperationKind, Vec<Reading>>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) variants: Vec<Variant>,
    /// The columns of each file that were not read.
    pub(crate) ignored: Vec<Vec<String>>,
    /// The place of the first row of each file.
    pub(crate) first_places: Vec<u64>,
}

/// A file whose columns are known.
pub(crate) struct File<'a> {
    pub(crate) table: &'a SourceTable,
    pub(crate) operation: OperationKind,
    pub(crate) heads: Option<Heads>,
    pub(crate) header: &'a [String],
    pub(crate) measurements_per_row: usize,
    columns: Columns,
}

impl<'a> File<'a> {
    /// Holds the header of a table against the columns of its layout.
    ///
    /// # Errors
    /// Columns that are missing or stand twice, a given header of another length.
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

    /// What a column `device` says.
    pub(crate) fn devices(&self) -> BTreeSet<&'a str> {
        let place = self.header.iter().position(|name| name == "device");
        let rows = self.table.rows.iter();
        place.map_or_else(BTreeSet::new, |place| {
            rows.filter_map(|row| row.cells.get(place)).collect()
        })
    }

    /// The columns that are not read.
    fn ignored(&self) -> Vec<String> {
        let unread = |name: &&String| !self.columns.read().any(|column| column == *name);
        let named = |name: &String| match name.is_empty() {
            true => "(unnamed)".to_owned(),
            false => name.clone(),
        };
        self.header.iter().filter(unread).map(named).collect()
    }

    /// The columns that may tell apart ways of measuring: those that are not read and have few values,
    /// and the names of formats, which may be several for one.
    fn variant_columns(&self) -> Vec<(usize, &str)> {
        if self.columns.others == Others::Remarks {
            return Vec::new();
        }
        let is_dtype = |name: &str| name.ends_with("dtype");
        let named = self.header.iter().map(String::as_str).enumerate();
        let unread = |name: &str| !self.columns.read().any(|column| column == name);
        named
            .filter(|(_, name)| unread(name) || is_dtype(name))
            .filter(|(place, _)| self.is_choice(*place))
            .collect()
    }

    /// Whether a column has few values: it may say how a row was measured. One of fractions, most of them
    /// different, is a measurement itself.
    fn is_choice(&self, place: usize) -> bool {
        let mut values = BTreeSet::new();
        for value in self
            .table
            .rows
            .iter()
            .filter_map(|row| row.cells.get(place))
        {
            values.insert(value);
            if values.len() > VALUES {
                return false;
            }
        }
        let is_fraction = |text: &&str| text.parse().is_ok_and(|value: f64| value.fract() != 0.0);
        values.len() * 2 <= self.table.len() || !values.iter().any(is_fraction)
    }
}

/// The column that may be meant by one that is missing: a similar one that nothing else reads.
fn nearest(column: &str, header: &[String], columns: &Columns) -> Option<String> {
    let free = header
        .iter()
        .filter(|name| !columns.read().any(|read| read == *name));
    let scored = free.map(|name| {
        (
            strsim::jaro_winkler(column, &name.to_ascii_lowercase()),
            name,
        )
    });
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= 0.75).then(|| best.1.clone())
}

/// Reads all files.
pub(crate) fn read(layout: Layout, files: &[File<'_>], answers: &Answers) -> Readings {
    let mut read = Readings::default();
    for (index, file) in files.iter().enumerate() {
        read.ignored.push(file.ignored());
        read.first_places
            .push(file.table.rows.first().map_or(0, |row| row.place));
        read.file(layout, index, file, answers);
    }
    read
}

impl Readings {
    fn file(&mut self, layout: Layout, index: usize, file: &File<'_>, answers: &Answers) {
        let places = Places::of(file.header, file.columns.read());
        let variant_columns = file.variant_columns();
        let conditions: Vec<(usize, &str)> = answers
            .conditions
            .iter()
            .filter_map(|condition| {
                let place = file
                    .header
                    .iter()
                    .position(|name| *name == condition.column)?;
                Some((place, condition.value.as_str()))
            })
            .collect();
        let mut variants = BTreeMap::<String, usize>::new();
        for row in &file.table.rows {
            let mut leave_out = |cause: Cause| {
                self.left_out.push(LeftOut {
                    file: index,
                    place: row.place,
                    cause,
                });
            };
            if let Some(cause) = whole_row(row, file.header, &conditions) {
                (0..file.measurements_per_row).for_each(|_| leave_out(cause.clone()));
                continue;
            }
            let cells = Cells {
                places: &places,
                record: &row.cells,
                answers,
            };
            let variant = variant_of(row, &variant_columns, &mut variants, &mut self.variants);
            let readings = self.readings.entry(file.operation).or_default();
            let mfu = cells.mfu();
            layout.row(file.operation, file.heads, &cells, &mut |measured| {
                let sound =
                    measured.and_then(|(kernel, latency)| match kernel::contradiction(&kernel) {
                        Some(found) => Err(Cause::new(Reason::Contradiction, found)),
                        None => Ok((kernel, latency)),
                    });
                match sound {
                    Ok((kernel, latency)) => readings.push(Reading {
                        file: index,
                        place: row.place,
                        kernel,
                        latency_us: latency.us,
                        exact: latency.exact,
                        mfu,
                        variant,
                    }),
                    Err(cause) => leave_out(cause),
                }
            });
        }
    }
}

/// Why a row as a whole is left out, if it is.
fn whole_row(row: &SourceRow, header: &[String], conditions: &[(usize, &str)]) -> Option<Cause> {
    if row.cells.iter().all(str::is_empty) {
        return Some(Reason::Blank.into());
    }
    if row.cells.len() != header.len() {
        let detail = format!("expected {} cells, found {}", header.len(), row.cells.len());
        return Some(Cause::new(Reason::Length, detail));
    }
    if row.cells.iter().eq(header.iter().map(String::as_str)) {
        return Some(Reason::HeaderAgain.into());
    }
    let unmet = |(place, value): &(usize, &str)| row.cells.get(*place) != Some(*value);
    conditions
        .iter()
        .any(unmet)
        .then(|| Reason::NotSelected.into())
}

/// The number of what the columns of a row say that no table set has a place for.
fn variant_of(
    row: &SourceRow,
    columns: &[(usize, &str)],
    known: &mut BTreeMap<String, usize>,
    variants: &mut Vec<Variant>,
) -> usize {
    let mut text = String::new();
    for (place, _) in columns {
        text.push_str(row.cells.get(*place).unwrap_or_default());
        text.push('\0');
    }
    if let Some(number) = known.get(&text) {
        return *number;
    }
    let value = |place: usize| row.cells.get(place).unwrap_or_default().to_owned();
    variants.push(
        columns
            .iter()
            .map(|(place, name)| ((*name).to_owned(), value(*place)))
            .collect(),
    );
    let number = variants.len() - 1;
    known.insert(text, number);
    number
}

/// A condition that no file can meet: its column is none, or nothing has its value.
///
/// # Errors
/// [`Error::Condition`].
pub(crate) fn check_conditions(files: &[File<'_>], answers: &Answers) -> Result<(), Error> {
    for condition in &answers.conditions {
        let mut is_column = false;
        let mut values = BTreeSet::new();
        for file in files {
            let place = file
                .header
                .iter()
                .position(|name| *name == condition.column);
            let Some(place) = place else {
                continue;
            };
            is_column = true;
            values.extend(
                file.table
                    .rows
                    .iter()
                    .filter_map(|row| row.cells.get(place)),
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
