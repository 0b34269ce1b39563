//! Published tables: named columns of text, whatever the format of the file.

use std::iter;

use csv::StringRecord;
use indexmap::IndexSet;
use rooflut_codegen::RecordLines;
use rooflut_error::Error;

use crate::error::wrong;

/// Most values of a column that may distinguish ways of measuring; one with more is a measurement itself.
pub const MAX_VARIANTS: usize = 16;

/// Most bytes that a table takes in memory.
pub const MAX_TABLE_BYTES: usize = 512 << 20;

/// The columns of one file, all cells as text.
///
/// Text loses no digit: a reader of a binary format writes each number as the shortest text that reads
/// back as the same number. Each text of a column is stored once.
#[derive(Debug, Clone)]
pub struct SourceTable {
    pub(crate) path: String,
    /// The numbering of the rows.
    pub(crate) numbering: Numbering,
    /// `None` if the file begins with measurements.
    pub(crate) header: Option<Vec<String>>,
    rows: Vec<RowStart>,
    columns: Vec<Column>,
}

/// The number of a row and of its cells.
#[derive(Debug, Clone, Copy)]
struct RowStart {
    number: u64,
    cells: usize,
}

/// A column of a [`SourceTable`].
#[derive(Debug, Clone, Default)]
pub struct Column {
    texts: IndexSet<Box<str>>,
    /// Bytes of all texts, and of what keeps them.
    text_bytes: usize,
    /// The text of each row, as an index.
    cells: Vec<u32>,
}

impl Column {
    /// Adds the cell of the next row, and returns the number of its text in this column.
    pub fn push(&mut self, text: &str) -> u32 {
        let index = match self.texts.get_index_of(text) {
            Some(index) => index,
            None => {
                self.text_bytes += text.len() + Column::PER_TEXT;
                self.texts.insert_full(text.into()).0
            }
        };
        // A file of 2^32 texts does not fit into memory.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.cells.push(index);
        index
    }

    /// Adds a cell with a text of this column, by its number.
    pub fn push_again(&mut self, index: u32) {
        self.cells.push(index);
    }

    /// Bytes of an entry of `texts`, and of the room that is left beside it.
    const PER_TEXT: usize = 128;
    /// Bytes of a cell. A list that grows has room for as much again.
    const PER_CELL: usize = 2 * size_of::<u32>();

    /// Returns about the number of bytes in memory.
    pub fn bytes(&self) -> usize {
        self.text_bytes + Column::PER_CELL * self.cells.len()
    }

    /// Returns the number of different texts.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// Returns an unread column with the same number of texts.
    pub fn without_cells(self) -> Column {
        let cells = Vec::new();
        Column { cells, ..self }
    }

    fn pad(&mut self, rows: usize) {
        while self.cells.len() < rows {
            self.push("");
        }
    }

    fn text(&self, row: usize) -> &str {
        let index = self.cells.get(row).copied();
        let text = index.and_then(|index| self.texts.get_index(index as usize));
        text.map_or("", |text| text)
    }
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(crate) struct SourceRow<'t> {
    table: &'t SourceTable,
    index: usize,
    start: RowStart,
}

impl<'t> SourceRow<'t> {
    /// Returns the line or row in the file.
    pub(crate) fn number(self) -> u64 {
        self.start.number
    }

    /// Returns the number of cells.
    pub(crate) fn len(self) -> usize {
        self.start.cells
    }

    /// Returns the text of a cell.
    pub(crate) fn cell(self, column: usize) -> &'t str {
        let column = self.table.columns.get(column);
        column.map_or("", |column| column.text(self.index))
    }

    /// Returns the number of the text of a cell within its column.
    pub(crate) fn text_index(self, column: usize) -> Option<u32> {
        let column = self.table.columns.get(column)?;
        column.cells.get(self.index).copied()
    }

    /// Returns the texts of all cells.
    pub(crate) fn cells(self) -> impl Iterator<Item = &'t str> {
        (0..self.len()).map(move |column| self.cell(column))
    }
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
    /// Bytes of a row, without its cells.
    pub const ROW_BYTES: usize = size_of::<RowStart>();

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
    /// # Ok::<(), rooflut_error::Error>(())
    /// ```
    pub fn of_csv(path: &str, bytes: &[u8]) -> Result<SourceTable, Error> {
        let not_text = |line: u64| {
            wrong(format!("{path}:{line}"), "expected UTF-8 text, found other bytes; save the file as UTF-8")
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
        let mut lines = RecordLines::new(text, 1);
        let mut line = 1;
        let mut table = SourceTable {
            path: path.to_owned(),
            numbering: Numbering::Line,
            header: None,
            rows: Vec::new(),
            columns: Vec::new(),
        };
        for (place, record) in reader.records().enumerate() {
            // A `&[u8]` of UTF-8 with rows of any length cannot fail; the type of the reader allows it.
            let cells = record.map_err(|_| not_text(line))?;
            let byte = cells.position().map_or(0, csv::Position::byte);
            line = lines.line_at(byte);
            if table.bytes_with(cells.len()) > MAX_TABLE_BYTES {
                let most = MAX_TABLE_BYTES >> 20;
                return Err(wrong(
                    format!("{path}:{line}"),
                    format!("expected rows that take at most {most} MiB in memory, found more; divide the table"),
                ));
            }
            if place == 0 && is_header(&cells) {
                table.header = Some(cells.iter().map(str::to_owned).collect())
            } else {
                table.push(line, &cells)
            }
        }
        let width = table.header.as_ref().map_or(0, Vec::len);
        table.widen(width);
        for column in &mut table.columns {
            column.pad(table.rows.len());
        }
        Ok(table)
    }

    /// Returns about the number of bytes in memory with another row of so many cells; each column has a cell for each row.
    fn bytes_with(&self, cells: usize) -> usize {
        let header = self.header.as_ref().map_or(0, Vec::len);
        let (rows, columns) = (self.rows.len() + 1, self.columns.len().max(cells).max(header));
        let texts: usize = self.columns.iter().map(|column| column.text_bytes).sum();
        rows * SourceTable::ROW_BYTES + columns * (size_of::<Column>() + Column::PER_CELL * rows) + texts
    }

    fn widen(&mut self, columns: usize) {
        let missing = columns.saturating_sub(self.columns.len());
        self.columns.extend(iter::repeat_n(Column::default(), missing));
    }

    fn push(&mut self, number: u64, cells: &StringRecord) {
        self.widen(cells.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.pad(self.rows.len());
            column.push(cell);
        }
        self.rows.push(RowStart { number, cells: cells.len() });
    }

    /// Takes the columns of any other reader, with their names. A column that has no cells is one of more
    /// than [`MAX_VARIANTS`] texts that is not read.
    ///
    /// ```
    /// use rooflut_import::{Column, SourceTable};
    /// let mut m = Column::default();
    /// let eight = m.push("8");
    /// m.push_again(eight);
    /// let table = SourceTable::of_columns("gemm_perf.parquet", vec![("m".to_owned(), m)], 2);
    /// assert_eq!(table.len(), 2);
    /// ```
    pub fn of_columns(path: &str, columns: Vec<(String, Column)>, rows: usize) -> SourceTable {
        let (header, columns): (Vec<String>, Vec<Column>) = columns.into_iter().unzip();
        let cells = header.len();
        SourceTable {
            path: path.to_owned(),
            numbering: Numbering::Row,
            header: Some(header),
            rows: (1..).take(rows).map(|number| RowStart { number, cells }).collect(),
            columns,
        }
    }

    /// Returns the path of the table.
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

    /// Returns the rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = SourceRow<'_>> {
        let rows = self.rows.iter().enumerate();
        rows.map(|(index, start)| SourceRow { table: self, index, start: *start })
    }

    /// Returns the row of this number.
    pub(crate) fn row(&self, number: u64) -> Option<SourceRow<'_>> {
        let index = self.rows.binary_search_by_key(&number, |start| start.number).ok()?;
        Some(SourceRow { table: self, index, start: *self.rows.get(index)? })
    }

    /// Returns the different texts of a column.
    pub(crate) fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        let column = self.columns.get(column).into_iter();
        column.flat_map(|column| column.texts.iter().map(|text| &**text))
    }
}

/// Whether a first line names columns: no name of a column is a number.
fn is_header(cells: &StringRecord) -> bool {
    cells.iter().all(|cell| cell.parse::<f64>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file() {
        let text = "\u{feff}m,k\r\n\r\n1,2\r\n\n\n3,4\n";
        let table = SourceTable::of_csv("a.csv", text.as_bytes()).unwrap();
        assert_eq!(table.header.as_ref().unwrap(), &["m", "k"]);
        let numbers: Vec<u64> = table.rows().map(SourceRow::number).collect();
        assert_eq!(numbers, [3, 6]);
    }

    #[test]
    fn a_first_line_with_a_number_is_not_a_header() {
        let table = SourceTable::of_csv("a.csv", b"bf16,8,4096\nbf16,16,4096\n").unwrap();
        assert_eq!(table.header, None);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_small_file_that_takes_much_memory_is_refused() {
        // Millions of columns; many rows, and then many columns; many columns in the header alone.
        let rows = "1\n".repeat(100_000);
        for text in
            [",".repeat(6_000_000), format!("{rows}{}", ",".repeat(1_000)), format!("{}\n{rows}", "a,".repeat(1_000))]
        {
            let error = SourceTable::of_csv("a.csv", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(": expected rows that take at most 512 MiB in memory, found more"), "{error}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_rejected_with_their_line() {
        let error = SourceTable::of_csv("a.csv", b"m,k\n1,2\n\xff,3\n").unwrap_err();
        assert!(error.to_string().starts_with("a.csv:3: "), "{error}");
    }
}
