//! Line numbers in a file.

use std::io::{self, BufRead};

/// Returns the line, from 1, of the first byte from `offset` that ends no line. Lines end with `\n`, `\r\n`
/// or `\r`.
///
/// Reads all bytes before: for messages only.
pub(crate) fn line_at(mut text: impl BufRead, offset: u64) -> io::Result<u64> {
    let (mut line, mut position, mut previous) = (1, 0, 0);
    loop {
        let chunk = text.fill_buf()?;
        let length = chunk.len();
        for &byte in chunk {
            let ends_line = matches!(byte, b'\r' | b'\n');
            if position >= offset && !ends_line {
                return Ok(line);
            }
            line += u64::from(ends_line && (byte, previous) != (b'\n', b'\r'));
            (position, previous) = (position + 1, byte);
        }
        if length == 0 {
            return Ok(line);
        }
        text.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_counts_once() {
        let text = b"a\nb\r\nc\rd";
        let lines = [0, 2, 5, 7, 1000].map(|offset| line_at(&text[..], offset).unwrap());
        assert_eq!(lines, [1, 2, 3, 4, 4]);
        assert_eq!(line_at(&b"a\n\r\n\nb"[..], 1).unwrap(), 4);
    }
}
