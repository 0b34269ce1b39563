//! Rows that a command writes.

use std::io::{self, Write};

use rooflut_error::Error;

use crate::input::Input;
use crate::rows::MAX_ROWS;

/// Receives the rows of an output, and keeps no more of them than a report holds.
#[derive(Debug, Default)]
pub struct RowSink {
    text: Vec<u8>,
    /// Lines that were written, including the header.
    lines: u64,
    /// Length of the first line.
    header: usize,
}

impl Write for RowSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.lines == 0 {
            self.header =
                self.text.len() + bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        }
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if self.lines <= MAX_ROWS + 1 {
            self.text.extend_from_slice(bytes);
        } else {
            self.text.truncate(self.header);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RowSink {
    /// Returns the rows as an input of a report; `name` is shown.
    ///
    /// # Errors
    /// Rows that no output has.
    pub fn into_input(self, name: &str) -> Result<Input, Error> {
        let rows = self.lines.saturating_sub(1);
        let before = if rows > MAX_ROWS { rows } else { 0 };
        Input::of_rows(name, self.text.as_slice(), before)
    }
}
