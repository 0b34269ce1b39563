//! Reads traces that are CSV.

use std::collections::BTreeSet;
use std::io::{self, Read};

use csv::{ErrorKind, Position, Reader, ReaderBuilder, StringRecord};
use rooflut::sim::Request;
use rooflut_error::{Error, key};

use crate::column_names::Role;
use crate::error::{Shown, contents, empty, failure, listed, long_record, missing, not_text, unknown_column};
use crate::fields::Fields;
use crate::format::Format;
use crate::input::Input;
use crate::left_out::LeftOut;
use crate::options::Condition;
use crate::rows;
use crate::rows::{Notes, Rows};

/// The column that names the run of a row.
const EXPERIMENT: &str = "experiment";
/// Characters that separate columns in other files, with their names.
const SEPARATORS: [(char, &str); 3] = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
/// Most bytes of a row, about. A file that is none, or in which a quote is not closed, would be read whole.
const MAX_ROW: u64 = 1 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// The columns of a format in a file.
pub(crate) trait Columns {
    /// Reads a row.
    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Error>;

    /// Whether there is a column of priorities.
    fn has_priorities(&self) -> bool {
        false
    }

    /// Whether a column that the format does not have is read all the same.
    fn reads(&self, _column: &str) -> bool {
        false
    }
}

impl Columns for Fields {
    fn has_priorities(&self) -> bool {
        self.has(Role::Priority)
    }

    fn reads(&self, column: &str) -> bool {
        self.names().any(|name| name == column)
    }

    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Error> {
        self.request(|field| Some(row.cell(field.index))).map(Entry::Request)
    }
}

/// A row that was read.
pub(crate) enum Entry {
    Request(Request),
    /// A request with images.
    WithImages(Request),
    LeftOut(LeftOut),
}

type Bytes = io::Take<Box<dyn Read>>;

/// The rows of a CSV.
pub(crate) struct Table<C> {
    input: Input,
    reader: Reader<Bytes>,
    record: StringRecord,
    columns: C,
    filter: Filter,
    /// Columns that are not read, until they are reported.
    ignored: Vec<String>,
}

impl<C: Columns> Table<C> {
    /// Reads the header of a CSV; only rows that meet all `conditions` count.
    pub(crate) fn open(
        input: &Input,
        format: Format,
        conditions: &[Condition],
        find: impl FnOnce(&Header<'_>) -> Result<C, Error>,
    ) -> Result<Table<C>, Error> {
        let bytes = input.reader().map_err(failure)?;
        // The reader's own trimming copies every record.
        let mut reader = ReaderBuilder::new().buffer_capacity(CHUNK).from_reader(bytes.take(MAX_ROW));
        let mut record = StringRecord::new();
        let read = reader.headers().map(|header| record.clone_from(header));
        checked(input, &reader, &record, read)?;
        let header = Header::new(input, &record);
        header.check_unique()?;
        let columns = find(&header)?;
        let mut ignored = format.ignored(&header.names).map_err(|error| error.at_line(header.line))?;
        // A column with a condition is read.
        ignored.retain(|name| !columns.reads(name) && conditions.iter().all(|condition| condition.column != *name));
        let filter = Filter::find(&header, conditions)?;
        Ok(Table { input: input.clone(), reader, record, columns, filter, ignored })
    }

    fn next_row(&mut self) -> Result<bool, Error> {
        self.reader.get_mut().set_limit(MAX_ROW);
        let more = self.reader.read_record(&mut self.record);
        checked(&self.input, &self.reader, &self.record, more)
    }
}

impl<C: Columns> Rows for Table<C> {
    fn next(&mut self, notes: &mut Notes) -> Result<Option<rows::Row>, Error> {
        notes.ignored.append(&mut self.ignored);
        notes.has_priorities = self.columns.has_priorities();
        while self.next_row()? {
            let row = Row(&self.record);
            if !self.filter.accepts(&row) {
                continue;
            }
            match self.columns.entry(&row) {
                Ok(Entry::Request(request)) => return Ok(Some(request.into())),
                Ok(Entry::WithImages(request)) => {
                    notes.with_images += 1;
                    return Ok(Some(request.into()));
                }
                Ok(Entry::LeftOut(reason)) => notes.left_out.count(reason),
                Err(error) => return Err(error.at_line(line_of(&self.input, self.record.position()))),
            }
        }
        self.filter.check()?;
        Ok(None)
    }
}

/// Returns the names of the columns, none where they cannot be read.
pub(crate) fn column_names(head: &[u8]) -> Vec<String> {
    let mut reader = Reader::from_reader(head);
    let header = reader.headers();
    header.map_or(Vec::new(), |header| header.iter().map(|name| name.trim().to_owned()).collect())
}

/// The names of the columns.
pub(crate) struct Header<'r> {
    names: Vec<&'r str>,
    line: Option<u64>,
}

impl<'r> Header<'r> {
    fn new(input: &Input, record: &'r StringRecord) -> Header<'r> {
        Header { names: record.iter().map(str::trim).collect(), line: line_of(input, record.position()) }
    }

    fn check_unique(&self) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        let mut names = self.names.iter();
        // Several columns without a name, as trailing commas make them, do no harm.
        let twice = names.find(|name| !name.is_empty() && !seen.insert(**name));
        match twice {
            Some(column) => {
                let column = Shown(column);
                let text = format!("expected one column {column}, found several; rename or remove the others");
                Err(contents(text).at_line(self.line))
            }
            None => Ok(()),
        }
    }

    /// Returns the index of a column.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|column| *column == name)
    }

    /// Returns the index of a column that the format requires.
    pub(crate) fn required(&self, format: Format, column: &'static str) -> Result<usize, Error> {
        self.position(column).ok_or_else(|| self.missing(format, column))
    }

    /// Returns the index of a column that a setting names.
    pub(crate) fn of_setting(&self, setting: &'static str, name: &str) -> Result<usize, Error> {
        let position = self.position(name);
        position.ok_or_else(|| unknown_column(setting, Format::Columns, name, &self.names))
    }

    /// The error of a missing `column`, or of what hides it.
    fn missing(&self, format: Format, column: &'static str) -> Error {
        let error = self.check_separators(format).err();
        error.unwrap_or_else(|| missing(format, column, &self.names).at_line(self.line))
    }

    /// Rejects a file without a header, and one whose columns are separated otherwise.
    pub(crate) fn check_separators(&self, format: Format) -> Result<(), Error> {
        if matches!(self.names.as_slice(), [] | [""]) {
            return Err(empty(format));
        }
        let only = match self.names.as_slice() {
            [only] => *only,
            _ => "",
        };
        let mut separators = SEPARATORS.into_iter();
        let separator = separators.find(|(separator, _)| only.contains(*separator));
        let found = separator.map(|(_, found)| {
            contents(format!("expected columns separated by commas, found {found}; replace them")).at_line(self.line)
        });
        found.map_or(Ok(()), Err)
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
struct Filter {
    conditions: Vec<(usize, Condition)>,
    experiment: Option<usize>,
    /// The experiments of the selected rows.
    experiments: BTreeSet<String>,
    /// The values in the column of the first condition, for the message if no row meets it.
    values: BTreeSet<String>,
    accepted: bool,
}

impl Filter {
    fn find(header: &Header<'_>, conditions: &[Condition]) -> Result<Filter, Error> {
        let conditions =
            conditions.iter().map(|condition| Ok((header.of_setting("where", &condition.column)?, condition.clone())));
        Ok(Filter {
            conditions: conditions.collect::<Result<_, Error>>()?,
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
    fn check(&self) -> Result<(), Error> {
        let values = &self.experiments;
        if values.len() > 1 {
            return Err(contents(format!(
                "column experiment has {} values ({}); select one with {} experiment=NAME",
                values.len(),
                listed(values),
                key("where")
            )));
        }
        match self.conditions.first() {
            Some((_, condition)) if !self.accepted && !self.values.is_empty() => {
                let (column, values) = (Shown(&condition.column), listed(&self.values));
                Err(contents(format!("no row meets every {}; column {column} has {values}", key("where"))))
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

/// Converts an error of the CSV reader, and rejects a record at which the limit of the bytes was reached.
fn checked<T>(input: &Input, reader: &Reader<Bytes>, record: &StringRecord, read: csv::Result<T>) -> Result<T, Error> {
    let position = match &read {
        Ok(_) => record.position().cloned(),
        Err(error) => error.position().cloned(),
    };
    let error = match read {
        _ if reader.get_ref().limit() == 0 => long_record(),
        Ok(read) => return Ok(read),
        Err(error) => {
            let text = error.to_string();
            match error.into_kind() {
                ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    contents(format!("expected {expected_len} fields, found {len}; correct this line"))
                }
                ErrorKind::Utf8 { .. } => not_text(),
                ErrorKind::Io(error) => return Err(failure(error)),
                _ => return Err(contents(format!("{text}; expected comma-separated UTF-8"))),
            }
        }
    };
    Err(error.at_line(line_of(input, position.as_ref())))
}

/// Returns the line on which the record at `position` begins.
///
/// The position is that of the blank lines before the record, so its own line number would be too small.
fn line_of(input: &Input, position: Option<&Position>) -> Option<u64> {
    input.line_at(position.map_or(0, Position::byte))
}
