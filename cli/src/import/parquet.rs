//! Reads parquet tables.

use std::fs::File;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rooflut_import::SourceTable;

use crate::error::Error;

/// Reads the rows of a parquet file as text.
pub(crate) fn read(path: &Path, named: &str) -> Result<SourceTable, Error> {
    let file = File::open(path).map_err(Error::reading(path))?;
    let refuse = |error: ParquetError| {
        let problem = error.to_string().replace('\n', ", ");
        Error::in_file(path, None, format!("expected a parquet table: {problem}"))
    };
    let reader = SerializedFileReader::new(file).map_err(refuse)?;
    let schema = reader.metadata().file_metadata().schema();
    let header = schema
        .get_fields()
        .iter()
        .map(|field| field.name().to_owned());
    let header: Vec<String> = header.collect();
    let rows = reader.get_row_iter(None).map_err(refuse)?;
    let rows = rows
        .map(|row| {
            let cells = row.map_err(refuse)?.into_columns();
            Ok(cells
                .into_iter()
                .map(|(_, cell)| text(cell))
                .collect::<Vec<String>>())
        })
        .collect::<Result<Vec<Vec<String>>, Error>>()?;
    Ok(SourceTable::of_rows(named, header, rows))
}

/// Returns the shortest text that reads back as the same value; of an `f32`, as the same `f32`.
fn text(cell: Field) -> String {
    match cell {
        Field::Null => String::new(),
        Field::Str(text) => text,
        Field::Float(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        // Texts of a column without the annotation that it holds text.
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        other => other.to_string(),
    }
}
