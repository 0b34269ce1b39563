//! Line numbers in a file.

/// Returns the line, from 1, of the byte at `offset`. Lines end with `\n`, `\r\n` or `\r`.
///
/// Walks over all bytes before `offset`: for messages only.
pub(crate) fn line_at(bytes: &[u8], offset: usize) -> u64 {
    let before = bytes.get(..offset).unwrap_or(bytes);
    let after = before.iter().skip(1).chain([&0]);
    let ends = before.iter().zip(after);
    let ends = ends.filter(|&(&byte, &next)| byte == b'\n' || byte == b'\r' && next != b'\n');
    1 + ends.count() as u64
}

/// Returns the line, from 1, of the first byte from `offset` that ends no line.
pub(crate) fn line_after_blanks(bytes: &[u8], offset: usize) -> u64 {
    let blank = bytes.iter().skip(offset);
    let blank = blank.take_while(|byte| matches!(byte, b'\r' | b'\n'));
    line_at(bytes, offset + blank.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_counts_once() {
        let text = b"a\nb\r\nc\rd";
        let lines: Vec<u64> = [0, 2, 5, 7].map(|offset| line_at(text, offset)).into();
        assert_eq!(lines, [1, 2, 3, 4]);
        assert_eq!(line_after_blanks(b"a\n\r\n\nb", 1), 4);
        assert_eq!(line_at(text, 1000), 4);
    }
}
