//! Rows of a sweep as Parquet: a folder of parts.

use std::io::{self, BufReader, Cursor, Read, Write};
use std::iter::{self, Peekable};
use std::mem;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use rooflut_error as error;
use rooflut_scenario::Error;
use serde_json::Value;

use crate::bounded::open_parquet;
use crate::cells::is_sweep;
use crate::checksum;
use crate::keys::{cell, unmarked};
use crate::kind::Kind;
use crate::merge::merge;
use crate::ordered::ordered;
use crate::resume::{check, wrong_row};
use crate::shard::Shard;
use crate::sweep::{Row, Sweep, header, row_of_csv};

/// Advice for a file with a row that was changed.
const REMOVE: &str = "remove this file and those behind it, then resume";

/// Rows of a sweep for one Parquet file.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    columns: Vec<(String, Kind)>,
    rows: Vec<Row>,
}

impl Part {
    /// Rows of each part but the last.
    pub const ROWS: usize = 1_000;
    /// Maximum number of columns of a part that is read.
    const COLUMNS: usize = 1_000;
    /// Maximum bytes of the texts of a part that is read.
    const TEXTS: usize = 64 << 20;

    /// Creates a part without rows.
    pub fn of(sweep: &Sweep<'_>) -> Part {
        Part { columns: sweep.columns().to_owned(), rows: Vec::new() }
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Checks that the rows are those of a shard from that at `place` on. `file` names the part in errors.
    fn check(&self, file: &str, place: u64, sweep: &Sweep<'_>, shard: Shard) -> Result<(), Error> {
        if self.columns != sweep.columns() || self.rows.len() > Part::ROWS {
            return Err(another(file, 1, "expected the columns of this sweep and at most 1000 rows"));
        }
        for (number, row) in (0..).zip(&self.rows) {
            let checked = start(row).and_then(|row| check(row, place + number, sweep, shard));
            checked.map_err(|problem| another(file, number + 1, &problem))?;
        }
        Ok(())
    }

    /// Whether the next row belongs to another part.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= Part::ROWS
    }

    /// Removes the rows.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Writes the part as a Parquet file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: impl Write + Send) -> Result<(), Error> {
        let written = self.write_parquet(out);
        written.map_err(|error| Error::new(error::Kind::Io, error.to_string()))
    }

    fn write_parquet(&self, out: impl Write + Send) -> Result<(), ParquetError> {
        let columns = self.columns.iter().map(|(name, kind)| schema(name, *kind)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("sweep").with_fields(columns).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = Arc::new(properties.build());
        let mut writer = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
        let mut group = writer.next_row_group()?;
        for (place, (_, kind)) in self.columns.iter().enumerate() {
            let values = self.rows.iter().map(|row| row.values.get(place));
            let values: Vec<&Value> = values.map(|value| value.unwrap_or(&Value::Null)).collect();
            write_column(&mut group, *kind, &values)?;
        }
        group.close()?;
        writer.close().map(drop)
    }

    /// Reads a part from a Parquet file. `file` names it in errors. The checksum of each row must be that of its line of CSV.
    ///
    /// # Errors
    /// Files that are no part of a sweep of this version, and rows that were changed.
    pub fn read(parquet: impl ChunkReader + 'static, file: &str) -> Result<Part, Error> {
        let refuse = |error: &dyn std::fmt::Display| {
            wrong_row(file, 1, format!("expected a part of a sweep in Parquet: {error}; name another folder"))
        };
        let reader = open_parquet(parquet).map_err(|error| refuse(&error))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        if schema.num_columns() > Part::COLUMNS || schema.columns().iter().any(|column| column.max_rep_level() > 0) {
            return Err(refuse(&"it has more than 1000 columns, or lists"));
        }
        let columns = schema.columns().iter().map(|column| {
            let kind = match column.physical_type() {
                Physical::INT64 => Kind::Integer,
                Physical::DOUBLE => Kind::Number,
                Physical::BOOLEAN => Kind::Truth,
                _ => Kind::Text,
            };
            (column.path().string(), kind)
        });
        let columns: Vec<(String, Kind)> = columns.collect();
        if !is_sweep(&columns) {
            let found = "its columns are not those of a sweep, from index and grid to checksum, which earlier versions did not write";
            return Err(refuse(&found));
        }
        let mut rows = Vec::new();
        let mut texts = Texts { room: Part::TEXTS };
        for group in 0..reader.num_row_groups() {
            let more = texts.group(&reader, group, Part::ROWS - rows.len()).map_err(|error| refuse(&error))?;
            rows.extend(more);
        }
        for (number, row) in (1..).zip(&rows) {
            checksum::check(&row.csv()).map_err(|problem| wrong_row(file, number, format!("{problem}; {REMOVE}")))?;
        }
        Ok(Part { columns, rows })
    }
}

/// The parts that an earlier sweep has left.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierParts {
    /// Rows of all parts.
    pub rows: u64,
    /// Full parts.
    pub full: usize,
    /// The part behind them, to go on with.
    pub last: Part,
}

/// Returns the parts that an earlier sweep of the same grid and shard has left, of which `read` reads the one of a number,
/// with its name for errors. They are read on `threads` threads, and their rows are checked as those of
/// [`earlier`](crate::earlier).
///
/// # Errors
/// Errors of [`earlier`](crate::earlier) and of `read`, and parts that are not full before the last.
pub fn earlier_parts(
    parts: u64,
    read: impl Fn(u64) -> Result<(String, Part), Error> + Sync,
    threads: usize,
    sweep: &Sweep<'_>,
    shard: Shard,
) -> Result<EarlierParts, Error> {
    let mut found = EarlierParts { rows: 0, full: 0, last: Part::of(sweep) };
    let checked = |number| {
        let (file, part) = read(number)?;
        let checked = part.check(&file, number * Part::ROWS as u64, sweep, shard);
        Ok::<_, Error>((file, checked.map(|()| (part.rows.len(), Some(part).filter(|part| !part.is_full())))))
    };
    ordered(0..parts, threads, checked, |part| {
        let (file, checked) = part?;
        if !found.last.rows.is_empty() {
            return Err(another(&file, 1, "expected only full parts before the last one"));
        }
        let (rows, unfilled) = checked?;
        found.rows += rows as u64;
        match unfilled {
            Some(part) => found.last = part,
            None => found.full += 1,
        }
        Ok(())
    })?;
    Ok(found)
}

/// The error of a part that is not the next one of a sweep.
fn another(file: &str, row: u64, problem: &str) -> Error {
    wrong_row(file, row, format!("{problem}; name another folder"))
}

/// Passes on the rows of all shards, in the order of the grid and in the parts of a sweep without shards. Returns the
/// number of rows.
///
/// Each shard is a name, for errors, and its parts. The rows of one part of each shard are in memory, as CSV.
///
/// # Errors
/// Errors of [`merge`](crate::merge()), and of `write`.
pub fn merge_parts<P, E>(
    shards: impl IntoIterator<Item = (String, P)>,
    mut write: impl FnMut(&Part) -> Result<(), E>,
) -> Result<u64, E>
where
    E: From<Error>,
    P: ExactSizeIterator<Item = Result<(String, Part), Error>>,
{
    // A shard of a small grid may have no rows.
    let shards = shards.into_iter().filter(|(_, parts)| parts.len() > 0);
    let mut shards: Vec<(String, Peekable<P>)> = shards.map(|(file, parts)| (file, parts.peekable())).collect();
    let first = shards.first_mut().and_then(|(_, parts)| parts.peek());
    let columns = first.and_then(|part| part.as_ref().ok()).map(|(_, part)| part.columns.clone());
    let mut part = columns.map(|columns| Part { columns, rows: Vec::new() });
    let opened = shards.into_iter().map(|(file, parts)| (file, BufReader::new(csv_of_parts(parts))));
    let mut is_header = true;
    let rows = merge(opened, |line| -> Result<(), E> {
        // Without a part there is no row.
        let Some(part) = part.as_mut().filter(|_| !mem::take(&mut is_header)) else {
            return Ok(());
        };
        part.push(row_of_csv(line, &part.columns)?);
        if part.is_full() {
            write(part)?;
            part.clear();
        }
        Ok(())
    })?;
    match part {
        Some(part) if !part.rows.is_empty() => write(&part).map(|()| rows),
        _ => Ok(rows),
    }
}

/// Returns the rows of parts as CSV.
///
/// # Errors
/// None: an error of a part ends the reading.
pub fn csv_of_parts(parts: impl Iterator<Item = Result<(String, Part), Error>>) -> impl Read {
    CsvOfParts { parts, has_header: false, text: Cursor::default() }
}

struct CsvOfParts<P> {
    parts: P,
    has_header: bool,
    text: Cursor<Vec<u8>>,
}

impl<P: Iterator<Item = Result<(String, Part), Error>>> Read for CsvOfParts<P> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(to)?;
            if read > 0 || to.is_empty() {
                return Ok(read);
            }
            let Some(part) = self.parts.next() else {
                return Ok(0);
            };
            let (_, part) = part.map_err(io::Error::other)?;
            let mut text = if self.has_header { Vec::new() } else { header(&part.columns) };
            self.has_header = true;
            for row in &part.rows {
                text.extend(row.csv());
            }
            self.text = Cursor::new(text);
        }
    }
}

/// Returns the index and the grid of a row.
fn start(row: &Row) -> Result<(u64, &str), String> {
    let row = match row.values.as_slice() {
        [index, grid, ..] => index.as_u64().zip(grid.as_str()),
        _ => None,
    };
    row.ok_or_else(|| "expected a row that begins with its index and grid".to_owned())
}

fn schema(name: &str, kind: Kind) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Truth => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: Kind,
    values: &[&Value],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Ok(());
    };
    match kind {
        Kind::Integer => fill(column.typed::<Int64Type>(), values, Value::as_i64)?,
        Kind::Number => fill(column.typed::<DoubleType>(), values, Value::as_f64)?,
        Kind::Truth => fill(column.typed::<BoolType>(), values, Value::as_bool)?,
        Kind::Text => fill(column.typed::<ByteArrayType>(), values, |value| {
            (!value.is_null()).then(|| ByteArray::from(cell(value).as_str()))
        })?,
    }
    column.close()
}

fn fill<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: &[&Value],
    convert: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let converted: Vec<Option<T::T>> = values.iter().map(|value| convert(value)).collect();
    let levels: Vec<i16> = converted.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = converted.into_iter().flatten().collect();
    column.write_batch(&values, Some(&levels), None).map(drop)
}

/// Reads rows whose texts have some room.
struct Texts {
    room: usize,
}

impl Texts {
    /// Reads a row group of at most `most` rows.
    fn group(&mut self, file: &dyn FileReader, group: usize, most: usize) -> Result<Vec<Row>, ParquetError> {
        let group = file.get_row_group(group)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        if count > most {
            return Err(ParquetError::General(format!("it has more than {} rows", Part::ROWS)));
        }
        let row = || Row { values: Vec::with_capacity(group.num_columns()) };
        let mut rows: Vec<Row> = iter::repeat_with(row).take(count).collect();
        for column in 0..group.num_columns() {
            match group.get_column_reader(column)? {
                ColumnReader::BoolColumnReader(reader) => add(&mut rows, reader, count, |value| Ok((*value).into()))?,
                ColumnReader::Int64ColumnReader(reader) => add(&mut rows, reader, count, |value| Ok((*value).into()))?,
                ColumnReader::DoubleColumnReader(reader) => add(&mut rows, reader, count, |value| Ok((*value).into()))?,
                // Each may have a page of its own, and those of all that are read at once are in memory.
                ColumnReader::ByteArrayColumnReader(reader) => add(&mut rows, reader, 16, |value| self.text(value))?,
                _ => return Err(ParquetError::General("a column is of another type than those of a sweep".to_owned())),
            }
        }
        Ok(rows)
    }

    fn text(&mut self, bytes: &ByteArray) -> Result<Value, ParquetError> {
        self.room = self
            .room
            .checked_sub(bytes.len())
            .ok_or_else(|| ParquetError::General(format!("its texts have more than {} MiB", Part::TEXTS >> 20)))?;
        Ok(unmarked(bytes.as_utf8()?).into())
    }
}

/// Adds the values of the next column to rows, so many of which are read at once.
fn add<T: DataType>(
    rows: &mut [Row],
    mut reader: ColumnReaderImpl<T>,
    at_once: usize,
    mut convert: impl FnMut(&T::T) -> Result<Value, ParquetError>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for rows in rows.chunks_mut(at_once.max(1)) {
        values.clear();
        levels.clear();
        let (read, ..) = reader.read_records(rows.len(), Some(&mut levels), None, &mut values)?;
        if read < rows.len() {
            return Err(ParquetError::General("a column has fewer values than the file has rows".to_owned()));
        }
        let mut values = values.iter();
        for (place, row) in rows.iter_mut().enumerate() {
            // Without levels, there is no null.
            let is_null = levels.get(place) == Some(&0);
            let value = (!is_null).then(|| values.next()).flatten();
            row.values.push(value.map_or(Ok(Value::Null), &mut convert)?);
        }
    }
    Ok(())
}
