//! Rows of a CSV file.

use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec;
use rooflut_error::{Error, Kind as ErrorKind, MAX_LINE};
use rooflut_report::SCHEMA_VERSION;
use rooflut_sweep::Front;
use serde_json::{Map, Value};

use crate::kind::Kind;

/// Maximum number of rows that a report holds. A file with more is counted and left out.
pub(crate) const MAX_ROWS: u64 = 200_000;
/// Compression of the rows: of 100,000 requests, level 9 saves 2 % and takes three times as long.
const LEVEL: u8 = 6;

/// Rows that are read.
pub(crate) struct Rows {
    pub(crate) kind: Kind,
    /// The fields that the front end reads beside name and kind.
    pub(crate) fields: Map<String, Value>,
}

impl Rows {
    /// Reads CSV to its end, and counts `before` rows that were dropped earlier. Memory does not grow with the rows of a
    /// file that is left out.
    ///
    /// # Errors
    /// Unknown columns, lines of another length, rows of another version.
    pub(crate) fn read(source: impl Read, before: u64) -> Result<Rows, Error> {
        let mut reader = csv::Reader::from_reader(Lines { source, length: 0 });
        let header = reader.byte_headers().map_err(unreadable)?.clone();
        let columns: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let kind = Kind::of_columns(&columns.join(","))?;
        let version = columns.iter().position(|name| name == "schema_version").filter(|_| kind == Kind::Sweep);
        let current = SCHEMA_VERSION.to_string();
        let mut kept = Some(Kept::default()).filter(|_| before == 0);
        if let Some(kept) = &mut kept {
            kept.push(&header)?;
        }
        let mut rows = before;
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(unreadable)? {
            rows += 1;
            let found = version.and_then(|column| record.get(column));
            if let Some(found) = found.filter(|found| *found != current.as_bytes()) {
                let text = format!(
                    "schema_version: expected {SCHEMA_VERSION}, found {}; run the sweep again with this version",
                    String::from_utf8_lossy(found)
                );
                let line = record.position().map(csv::Position::line);
                return Err(Error::new(ErrorKind::Contents, text).at_line(line));
            }
            kept = kept.filter(|_| rows <= MAX_ROWS);
            if let Some(kept) = &mut kept {
                kept.push(&record)?;
            }
        }
        let mut fields = Map::new();
        fields.insert("rows".to_owned(), rows.into());
        match kept {
            Some(kept) => kept.describe(kind, &mut fields)?,
            None => {
                fields.insert("max_rows".to_owned(), MAX_ROWS.into());
            }
        }
        Ok(Rows { kind, fields })
    }
}

/// Rows that a report holds.
struct Kept(csv::Writer<Vec<u8>>);

impl Default for Kept {
    fn default() -> Kept {
        Kept(csv::Writer::from_writer(Vec::new()))
    }
}

impl Kept {
    fn push(&mut self, record: &csv::ByteRecord) -> Result<(), Error> {
        self.0.write_byte_record(record).map_err(unreadable)
    }

    fn describe(self, kind: Kind, fields: &mut Map<String, Value>) -> Result<(), Error> {
        let text = self.0.into_inner().map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        if kind == Kind::Sweep {
            let front = match Front::indices(text.as_slice()) {
                Ok(front) => front,
                // A sweep whose rows have no such figures has no front.
                Err(error) if error.kind() == ErrorKind::NoAnswer => Vec::new(),
                Err(error) => return Err(error),
            };
            fields.insert("pareto".to_owned(), front.into());
        }
        fields.insert("deflate".to_owned(), STANDARD.encode(compress_to_vec(&text, LEVEL)).into());
        Ok(())
    }
}

/// Bytes of lines that fit into memory.
struct Lines<R> {
    source: R,
    /// Bytes since the last line break.
    length: u64,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        let mut last = buffer.iter().take(read).rev();
        let behind = last.position(|byte| *byte == b'\n');
        self.length = behind.map_or(self.length + read as u64, |behind| behind as u64);
        if self.length > MAX_LINE {
            return Err(io::Error::other("expected lines of at most 1 MiB, found a longer one"));
        }
        Ok(read)
    }
}

fn unreadable(error: csv::Error) -> Error {
    let line = error.position().map(csv::Position::line);
    let text = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} columns as in the first line, found {len}; write the file again")
        }
        _ => format!("cannot be read as CSV: {error}"),
    };
    Error::new(ErrorKind::Contents, text).at_line(line)
}
