//! Line numbers of CSV records.

/// Counts lines up to the records of a CSV text, in their order.
///
/// The csv crate places a record at the line ends before it, so that its own line numbers are too small after empty
/// lines.
///
/// ```
/// let text = "a,b\n\n\n1,2\n";
/// let mut lines = rooflut_codegen::RecordLines::new(text, 1);
/// assert_eq!((lines.line_at(0), lines.line_at(4)), (1, 4));
/// ```
#[derive(Debug)]
pub struct RecordLines<'t> {
    text: &'t str,
    rest: &'t str,
    line: u64,
}

impl<'t> RecordLines<'t> {
    /// Creates a count over `text`, whose first line has the number `first`.
    pub const fn new(text: &'t str, first: u64) -> RecordLines<'t> {
        RecordLines { text, rest: text, line: first }
    }

    /// Returns the line of the record that begins at `byte` or behind the line ends there; `csv::Position::byte`.
    pub fn line_at(&mut self, byte: u64) -> u64 {
        let from = self.text.get(byte as usize..).unwrap_or_default().trim_start_matches(['\r', '\n']);
        let passed = self.rest.len().saturating_sub(from.len());
        let passed = self.rest.get(..passed).unwrap_or_default();
        self.line += line_ends(passed);
        self.rest = from;
        self.line
    }
}

/// Returns the number of line ends of any kind.
pub fn line_ends(text: &str) -> u64 {
    (text.matches(['\r', '\n']).count() - text.matches("\r\n").count()) as u64
}
