//! JSON that is read whole.

use crate::error::{Error, Kind};

/// Bytes of memory that the values of JSON take, by what they are written with. A few bytes of a file may be many
/// values.
///
/// ```
/// use rooflut_error::JsonSize;
/// let text = format!("[{}0]", "0,\n".repeat(20_000));
/// assert!(JsonSize::VALUES.check(text.as_bytes(), 4).is_ok());
/// let error = JsonSize::VALUES.check(text.as_bytes(), 1).expect_err("20,000 values");
/// assert!(error.to_string().contains("expected JSON that takes at most 1 MiB in memory, found more"), "{error}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonSize {
    /// A list with its first element.
    pub list: u64,
    /// An object with its first key.
    pub object: u64,
    /// A comma, behind which another element or key follows.
    pub comma: u64,
    /// A colon, behind which the value of a key follows.
    pub colon: u64,
    /// A quotation mark, of which a text has two.
    pub quote: u64,
}

impl JsonSize {
    /// The size of `serde_json::Value`s, whose keys are in order or as they are written: a value takes 72 bytes, a list
    /// has room for 4 of them at least and for twice as many as it has at most, an object has room for 11 keys.
    pub const VALUES: JsonSize = JsonSize { list: 288, object: 648, comma: 144, colon: 72, quote: 18 };

    /// Checks that a text of JSON and its value take at most this many MiB of memory. Several values after one another
    /// are checked one by one.
    ///
    /// Costs a pass over the text. A text that is no JSON may pass.
    ///
    /// # Errors
    /// A larger text, with its line from which on it is too large.
    pub fn check(self, text: &[u8], max_mib: u64) -> Result<(), Error> {
        let all = (max_mib << 20).checked_sub(text.len() as u64);
        let (mut left, mut depth) = (all, 0_u64);
        let (mut in_text, mut is_escaped) = (false, false);
        for (place, byte) in text.iter().enumerate() {
            let size = match byte {
                _ if is_escaped => {
                    is_escaped = false;
                    1
                }
                b'"' => {
                    in_text = !in_text;
                    self.quote
                }
                b'\\' if in_text => {
                    is_escaped = true;
                    0
                }
                _ if in_text => 1,
                b',' => self.comma,
                b':' => self.colon,
                b'[' | b'{' => {
                    left = if depth == 0 { all } else { left };
                    depth += 1;
                    if *byte == b'[' { self.list } else { self.object }
                }
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    0
                }
                _ => continue,
            };
            left = left.and_then(|left| left.checked_sub(size));
            if left.is_none() {
                let before = text.iter().take(place).filter(|byte| **byte == b'\n');
                return Err(too_large(max_mib).at_line(before.count() as u64 + 1));
            }
        }
        left.map(drop).ok_or_else(|| too_large(max_mib))
    }
}

fn too_large(max_mib: u64) -> Error {
    let text =
        format!("expected JSON that takes at most {max_mib} MiB in memory, found more; check which program wrote it");
    Error::new(Kind::Contents, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_texts_measured() {
        let size = JsonSize { list: 1 << 20, object: 2 << 20, comma: 3 << 20, colon: 5 << 20, quote: 7 << 20 };
        for (text, mib) in [("0", 1), ("[0]", 2), ("[0,0]", 5), ("{\"a\":0}", 22), (r#"",:[\"{\\""#, 15)] {
            assert!(size.check(text.as_bytes(), mib).is_ok(), "{text}");
            assert!(size.check(text.as_bytes(), mib - 1).is_err(), "{text}");
        }
        let text = format!("\"{}\"", "a".repeat(1 << 19));
        assert!(JsonSize::VALUES.check(text.as_bytes(), 2).is_ok());
        assert!(JsonSize::VALUES.check(text.as_bytes(), 1).is_err());
        assert!(size.check(b"[0] [[0]]\n[0, 0]\n", 5).is_ok());
    }

    #[test]
    fn the_line_is_that_of_the_first_value_that_is_too_many() {
        let text = format!("[\n0\n{}]", ",0\n".repeat(30_000));
        let error = JsonSize::VALUES.check(text.as_bytes(), 1).expect_err("too large");
        let before = ((1 << 20) - text.len() as u64 - 288) / 144;
        assert_eq!(error.line(), Some(3 + before));
    }
}
