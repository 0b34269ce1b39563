//! Published tables: named columns of text, whatever the format of the file.

use csv::StringRecord;

use crate::Error;

/// The rows of one file, all cells as text.
///
/// Text loses no digit: a reader of a binary format writes each number as the shortest text that reads
/// back as the same number.
#[derive(Debug, Clone)]
pub struct SourceTable {
    pub(crate) path: String,
    /// The numbering of the rows.
    pub(crate) numbering: Numbering,
    /// `None` if the file begins with measurements.
    pub(crate) header: Option<Vec<String>>,
    pub(crate) rows: Vec<SourceRow>,
}

/// A row and its number.
#[derive(Debug, Clone)]
pub(crate) struct SourceRow {
    pub(crate) number: u64,
    pub(crate) cells: StringRecord,
}

/// The numbering of the rows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Lines of text, from 1.
    Line,
    /// Rows of a binary table, from 1, its header not counted.
    Row,
}

impl Numbering {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Numbering::Line => "line",
            Numbering::Row => "row",
        }
    }
}

impl SourceTable {
    /// Reads a CSV. `path` is relative to the imported folder, with `/` between folders.
    ///
    /// The first line is the header, unless it has a number: then the file has no header.
    ///
    /// # Errors
    /// The file is not UTF-8 text.
    ///
    /// ```
    /// use rooflut_import::SourceTable;
    /// let table = SourceTable::of_csv("gemm/h100/data.csv", b"m,k,n,latency_us\n8,4096,6144,9.5\n")?;
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), rooflut_import::Error>(())
    /// ```
    pub fn of_csv(path: &str, bytes: &[u8]) -> Result<SourceTable, Error> {
        let not_text = |line: u64| Error::File {
            file: path.to_owned(),
            line: Some(line),
            problem: "expected UTF-8 text, found other bytes; save the file as UTF-8".to_owned(),
        };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = bytes.iter().take(error.valid_up_to());
            not_text(valid.filter(|byte| **byte == b'\n').count() as u64 + 1)
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut lines = Lines {
            text,
            at: 0,
            line: 1,
        };
        let mut rows = Vec::new();
        for record in reader.records() {
            // A `&[u8]` of UTF-8 with rows of any length cannot fail; the type of the reader allows it.
            let cells = record.map_err(|_| not_text(lines.line))?;
            let byte = cells.position().map_or(0, csv::Position::byte);
            let number = lines.line_of(usize::try_from(byte).unwrap_or(usize::MAX));
            rows.push(SourceRow { number, cells });
        }
        let named = rows.first().is_some_and(|first| is_header(&first.cells));
        let header = named.then(|| rows.remove(0).cells.iter().map(str::to_owned).collect());
        Ok(SourceTable {
            path: path.to_owned(),
            numbering: Numbering::Line,
            header,
            rows,
        })
    }

    /// Takes the rows of any other reader, with the names of their columns.
    ///
    /// ```
    /// use rooflut_import::SourceTable;
    /// let header = vec!["m".to_owned(), "latency".to_owned()];
    /// let table = SourceTable::of_rows("gemm_perf.parquet", header, [["1", "0.0042"], ["2", "0.0043"]]);
    /// assert_eq!(table.len(), 2);
    /// ```
    pub fn of_rows<R, C>(path: &str, header: Vec<String>, rows: R) -> SourceTable
    where
        R: IntoIterator<Item = C>,
        C: IntoIterator<Item: AsRef<str>>,
    {
        let rows = rows.into_iter().zip(1..).map(|(cells, number)| SourceRow {
            number,
            cells: cells.into_iter().collect(),
        });
        SourceTable {
            path: path.to_owned(),
            numbering: Numbering::Row,
            header: Some(header),
            rows: rows.collect(),
        }
    }

    /// Returns the path that it was made with.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the number of rows without the header.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Whether a first line names columns: no name of a column is a number.
fn is_header(cells: &StringRecord) -> bool {
    cells.iter().all(|cell| cell.parse::<f64>().is_err())
}

/// Line numbers of ascending byte positions. (The csv crate's own are too small after blank lines.)
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl Lines<'_> {
    /// Returns the line of the first byte at or after `position` that is not part of a line end.
    fn line_of(&mut self, position: usize) -> u64 {
        let rest = self.text.as_bytes().iter().enumerate().skip(self.at);
        for (index, byte) in rest {
            if index >= position && !matches!(byte, b'\r' | b'\n') {
                break;
            }
            self.line += u64::from(*byte == b'\n');
            self.at = index + 1;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file() {
        let text = "\u{feff}m,k\r\n\r\n1,2\r\n\n\n3,4\n";
        let table = SourceTable::of_csv("a.csv", text.as_bytes()).unwrap();
        assert_eq!(table.header.as_ref().unwrap(), &["m", "k"]);
        let numbers: Vec<u64> = table.rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, [3, 6]);
    }

    #[test]
    fn a_first_line_with_a_number_is_not_a_header() {
        let table = SourceTable::of_csv("a.csv", b"bf16,8,4096\nbf16,16,4096\n").unwrap();
        assert_eq!(table.header, None);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn bytes_that_are_not_text_are_rejected_with_their_line() {
        let error = SourceTable::of_csv("a.csv", b"m,k\n1,2\n\xff,3\n").unwrap_err();
        assert!(error.to_string().starts_with("a.csv:3: "), "{error}");
    }
}
