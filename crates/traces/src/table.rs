//! Reads traces that are CSV.

use std::collections::BTreeSet;

use csv::{ErrorKind, Position, Reader, ReaderBuilder, StringRecord};
use rooflut::sim::Request;

use crate::builder::TraceBuilder;
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::left_out::LeftOut;
use crate::lines::{line_after_blanks, line_at};
use crate::trace::Condition;

/// The column that names the run of a row.
const EXPERIMENT: &str = "experiment";
/// Characters that separate columns in other files, with their names.
const SEPARATORS: [(char, &str); 3] = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
/// Bytes of the shortest row with its line end.
const SHORTEST_ROW: usize = "0,1,1\n".len();

/// The columns of a format in a file.
pub(crate) trait Columns: Sized {
    /// Finds the columns in a header.
    fn find(header: &Header<'_>) -> Result<Self, TraceError>;
    /// Reads a row.
    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Problem>;
}

/// A row that was read.
pub(crate) enum Entry {
    Request(Request),
    LeftOut(LeftOut),
}

/// Reads the requests of the rows that meet all `conditions`, in the order of the file.
pub(crate) fn read<C: Columns>(
    bytes: &[u8],
    conditions: &[Condition],
) -> Result<TraceBuilder, TraceError> {
    let mut reader = reader(bytes);
    let header = reader.headers().map_err(|error| from_csv(bytes, &error))?;
    let header = Header::new(bytes, header);
    header.check_unique()?;
    let mut columns = C::find(&header)?;
    let mut filter = Filter::find(&header, conditions)?;
    let mut builder = TraceBuilder::for_lines(bytes, SHORTEST_ROW);
    let mut record = StringRecord::new();
    loop {
        let more = reader.read_record(&mut record);
        if !more.map_err(|error| from_csv(bytes, &error))? {
            break;
        }
        let row = Row(&record);
        if !filter.accepts(&row) {
            continue;
        }
        match columns.entry(&row) {
            Ok(Entry::Request(request)) => builder.requests.push(request),
            Ok(Entry::LeftOut(reason)) => builder.left_out.count(reason),
            Err(problem) => return Err(problem.on_line(line_of(bytes, record.position()))),
        }
    }
    filter.check()?;
    Ok(builder)
}

/// Returns the names of the columns, none where they cannot be read.
pub(crate) fn column_names(bytes: &[u8]) -> Vec<String> {
    let mut reader = reader(bytes);
    let header = reader.headers();
    header.map_or(Vec::new(), |header| Header::new(bytes, header).names())
}

// The reader's own trimming copies every record.
fn reader(bytes: &[u8]) -> Reader<&[u8]> {
    ReaderBuilder::new().from_reader(bytes)
}

/// The names of the columns.
pub(crate) struct Header<'r> {
    names: Vec<&'r str>,
    empty: bool,
    line: u64,
}

impl<'r> Header<'r> {
    fn new(bytes: &[u8], record: &'r StringRecord) -> Header<'r> {
        Header {
            names: record.iter().map(str::trim).collect(),
            empty: record.is_empty() || bytes.trim_ascii().is_empty(),
            line: line_of(bytes, record.position()),
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn check_unique(&self) -> Result<(), TraceError> {
        let mut seen = BTreeSet::new();
        let mut names = self.names.iter();
        // Several columns without a name, as trailing commas make them, do no harm.
        let twice = names.find(|name| !name.is_empty() && !seen.insert(**name));
        match twice {
            Some(column) => {
                let column = (*column).to_owned();
                Err(Problem::SeveralColumns { column }.on_line(self.line))
            }
            None => Ok(()),
        }
    }

    /// Returns the index of a column.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|column| *column == name)
    }

    /// Returns the index of a column that the format requires.
    pub(crate) fn required(
        &self,
        format: Format,
        column: &'static str,
    ) -> Result<usize, TraceError> {
        self.position(column)
            .ok_or_else(|| self.missing(format, column))
    }

    /// The error of a missing `column`, or of what hides it.
    fn missing(&self, format: Format, column: &'static str) -> TraceError {
        if self.empty {
            return Problem::Empty { format }.into();
        }
        let only = match self.names.as_slice() {
            [only] => *only,
            _ => "",
        };
        let mut separators = SEPARATORS.into_iter();
        let separator = separators.find(|(separator, _)| only.contains(*separator));
        let problem = match separator {
            Some((_, found)) => Problem::Separator { found },
            None => Problem::NoColumn {
                format,
                column,
                found: self.names(),
            },
        };
        problem.on_line(self.line)
    }
}

/// The cells of a row.
pub(crate) struct Row<'r>(&'r StringRecord);

impl<'r> Row<'r> {
    /// Returns a cell, without the blanks around it.
    pub(crate) fn cell(&self, column: usize) -> &'r str {
        self.0.get(column).unwrap_or_default().trim()
    }
}

/// Selects rows by conditions.
struct Filter<'c> {
    conditions: Vec<(usize, &'c Condition)>,
    experiment: Option<usize>,
    /// The experiments of the selected rows.
    experiments: BTreeSet<String>,
    /// The values in the column of the first condition, for the message if no row meets it.
    values: BTreeSet<String>,
    accepted: bool,
}

impl<'c> Filter<'c> {
    fn find(header: &Header<'_>, conditions: &'c [Condition]) -> Result<Filter<'c>, TraceError> {
        let conditions = conditions.iter().map(|condition| {
            let column = header.position(&condition.column);
            let column = column.ok_or_else(|| Problem::NoConditionColumn {
                column: condition.column.clone(),
                found: header.names(),
            })?;
            Ok((column, condition))
        });
        Ok(Filter {
            conditions: conditions.collect::<Result<_, TraceError>>()?,
            experiment: header.position(EXPERIMENT),
            experiments: BTreeSet::new(),
            values: BTreeSet::new(),
            accepted: false,
        })
    }

    fn accepts(&mut self, row: &Row<'_>) -> bool {
        if let (Some((column, _)), false) = (self.conditions.first(), self.accepted) {
            remember(&mut self.values, row.cell(*column));
        }
        let mut conditions = self.conditions.iter();
        let accepted = conditions.all(|(column, condition)| row.cell(*column) == condition.value);
        if let (Some(column), true) = (self.experiment, accepted) {
            remember(&mut self.experiments, row.cell(column));
        }
        self.accepted |= accepted;
        accepted
    }

    /// Checks that the selected rows exist and are of one experiment.
    fn check(self) -> Result<(), TraceError> {
        if self.experiments.len() > 1 {
            let values = self.experiments;
            return Err(Problem::SeveralExperiments { values }.into());
        }
        match self.conditions.first() {
            Some((_, condition)) if !self.accepted && !self.values.is_empty() => {
                Err(TraceError::from(Problem::NoMatch {
                    column: condition.column.clone(),
                    values: self.values,
                }))
            }
            _ => Ok(()),
        }
    }
}

fn remember(values: &mut BTreeSet<String>, value: &str) {
    if !values.contains(value) {
        values.insert(value.to_owned());
    }
}

/// Converts an error of the CSV reader.
fn from_csv(bytes: &[u8], error: &csv::Error) -> TraceError {
    let problem = match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Problem::Fields {
            expected: *expected_len,
            found: *len,
        },
        ErrorKind::Utf8 { .. } => Problem::NotText,
        _ => return Problem::Csv(error.to_string()).into(),
    };
    problem.on_line(line_of(bytes, error.position()))
}

/// Returns the line on which the record at `position` begins.
///
/// The position is that of the blank lines before the record, so its own line number would be too small.
fn line_of(bytes: &[u8], position: Option<&Position>) -> u64 {
    match position {
        Some(position) => line_after_blanks(bytes, position.byte() as usize),
        None => line_at(bytes, 0),
    }
}
