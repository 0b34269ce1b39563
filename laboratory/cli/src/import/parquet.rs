//! Reads parquet tables, column by column.

use std::fmt::Write;
use std::fs::File;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;
use rooflut_import::{Column, MAX_TABLE_BYTES, MAX_VARIANTS, SourceTable};
use rooflut_sweep::{BoundedParquet, open_parquet};

use crate::error::Error;

/// Numbers that are read at once.
const NUMBERS: usize = 8192;
/// Texts that are read at once. Each may have a page of its own, and all these are in memory.
const TEXTS: usize = 16;

/// A parquet file whose columns are known.
pub(crate) struct ParquetFile<'p> {
    path: &'p Path,
    reader: SerializedFileReader<BoundedParquet<File>>,
}

impl<'p> ParquetFile<'p> {
    /// Reads the schema.
    pub(crate) fn open(path: &'p Path) -> Result<ParquetFile<'p>, Error> {
        let file = File::open(path).map_err(Error::reading(path))?;
        let reader = open_parquet(file).map_err(refused(path))?;
        Ok(ParquetFile { path, reader })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        let rows = self.reader.metadata().file_metadata().num_rows();
        usize::try_from(rows).unwrap_or_default()
    }

    /// Returns the columns without rows.
    pub(crate) fn header(&self, named: &str) -> SourceTable {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let columns = schema.columns().iter().map(|column| (column.path().string(), Column::default()));
        SourceTable::of_columns(named, columns.collect(), 0)
    }

    /// Reads all rows as text. Columns that are not `wanted` are read up to the number of texts that tells that
    /// they do not distinguish ways of measuring.
    pub(crate) fn read(&self, named: &str, wanted: impl Fn(&str) -> bool) -> Result<SourceTable, Error> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        // The numbers of the rows are in memory, too.
        let numbers = SourceTable::ROW_BYTES.saturating_mul(self.rows());
        let mut room = MAX_TABLE_BYTES.checked_sub(numbers).ok_or_else(|| too_large(self.path))?;
        let columns = schema
            .columns()
            .iter()
            .enumerate()
            .map(|(index, descriptor)| {
                let name = descriptor.path().string();
                let column = match (is_plain(descriptor), wanted(&name)) {
                    (true, wanted) => {
                        let most = if wanted { usize::MAX } else { MAX_VARIANTS };
                        let column = self.column(index, descriptor, most, room)?;
                        room = room.saturating_sub(column.bytes());
                        column
                    }
                    (false, false) => Column::default(),
                    (false, true) => {
                        let problem = format!(
                            "{name}: expected a column of numbers or texts, found one of another type; convert \
                         it, or leave the file out with --skip"
                        );
                        return Err(Error::in_file(self.path, None, problem));
                    }
                };
                Ok((name, column))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(SourceTable::of_columns(named, columns, self.rows()))
    }

    /// Reads a column; one of more than `most` texts has no cells.
    ///
    /// # Errors
    /// A file that cannot be read, and a column of more than `room` bytes.
    fn column(&self, index: usize, descriptor: &ColumnDescriptor, most: usize, room: usize) -> Result<Column, Error> {
        let refused = refused(self.path);
        let mut column = Column::default();
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group).map_err(&refused)?;
            let reader = group.get_column_reader(index).map_err(&refused)?;
            fill(&mut column, reader, descriptor, most, room).map_err(&refused)?;
            if column.bytes() > room {
                return Err(too_large(self.path));
            }
            if column.texts() > most {
                return Ok(column.without_cells());
            }
        }
        Ok(column)
    }
}

fn refused(path: &Path) -> impl Fn(ParquetError) -> Error {
    move |error| {
        let problem = error.to_string().replace('\n', ", ");
        Error::in_file(path, None, format!("expected a parquet table: {problem}"))
    }
}

fn too_large(path: &Path) -> Error {
    let most = MAX_TABLE_BYTES >> 20;
    Error::in_file(
        path,
        None,
        format!(
            "expected a table that takes at most {most} MiB in memory, found a larger one; divide it, or leave it out with --skip"
        ),
    )
}

/// Whether a column has at most one number or text in each row.
fn is_plain(descriptor: &ColumnDescriptor) -> bool {
    let is_scaled = matches!(descriptor.logical_type_ref(), Some(LogicalType::Decimal { .. }))
        || descriptor.converted_type() == ConvertedType::DECIMAL;
    let is_other = matches!(descriptor.physical_type(), Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY);
    descriptor.max_rep_level() == 0 && !is_scaled && !is_other
}

/// Adds the cells of a row group, until the column has more than `most` texts or `room` bytes. A cell is the shortest text that
/// reads back as the same value; of an `f32`, as the same `f32`.
fn fill(
    column: &mut Column,
    reader: ColumnReader,
    descriptor: &ColumnDescriptor,
    most: usize,
    room: usize,
) -> Result<(), ParquetError> {
    let is_unsigned = matches!(
        descriptor.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    let deepest = descriptor.max_def_level();
    let mut cells = Cells { column, deepest, most, room };
    match reader {
        ColumnReader::BoolColumnReader(reader) => cells.fill(reader, |value, text| write!(text, "{value}")),
        ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
            cells.fill(reader, |value, text| write!(text, "{}", value.cast_unsigned()))
        }
        ColumnReader::Int32ColumnReader(reader) => cells.fill(reader, |value, text| write!(text, "{value}")),
        ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
            cells.fill(reader, |value, text| write!(text, "{}", value.cast_unsigned()))
        }
        ColumnReader::Int64ColumnReader(reader) => cells.fill(reader, |value, text| write!(text, "{value}")),
        ColumnReader::FloatColumnReader(reader) => cells.fill(reader, |value, text| write!(text, "{value}")),
        ColumnReader::DoubleColumnReader(reader) => cells.fill(reader, |value, text| write!(text, "{value}")),
        // Texts of a column without the annotation that it holds text are read, too.
        ColumnReader::ByteArrayColumnReader(reader) => {
            cells.fill(reader, |value, text| write!(text, "{}", String::from_utf8_lossy(value.data())))
        }
        // `is_plain` lets no other type through.
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => Ok(()),
    }
}

/// The cells of a column as they are read.
struct Cells<'c> {
    column: &'c mut Column,
    /// The definition level of a cell that is not null.
    deepest: i16,
    most: usize,
    room: usize,
}

impl Cells<'_> {
    fn fill<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        write: impl Fn(&T::T, &mut String) -> std::fmt::Result,
    ) -> Result<(), ParquetError> {
        let (mut values, mut levels, mut text) = (Vec::new(), Vec::new(), String::new());
        let batch = if T::get_physical_type() == Type::BYTE_ARRAY { TEXTS } else { NUMBERS };
        while self.column.texts() <= self.most && self.column.bytes() <= self.room {
            values.clear();
            levels.clear();
            let (rows, ..) = reader.read_records(batch, Some(&mut levels), None, &mut values)?;
            if rows == 0 {
                break;
            }
            let mut values = values.iter();
            // Most cells are those of the row before.
            let mut last: Option<(&T::T, u32)> = None;
            for row in 0..rows {
                if self.column.bytes() > self.room {
                    return Ok(());
                }
                let is_null = levels.get(row).is_some_and(|level| *level < self.deepest);
                let Some(value) = (!is_null).then(|| values.next()).flatten() else {
                    self.column.push("");
                    continue;
                };
                if let Some((_, index)) = last.filter(|(last, _)| *last == value) {
                    self.column.push_again(index);
                    continue;
                }
                text.clear();
                // Writing to a String does not fail.
                let _ = write(value, &mut text);
                last = Some((value, self.column.push(&text)));
            }
        }
        Ok(())
    }
}
