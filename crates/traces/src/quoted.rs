//! Numbers that Python writes, and JSON does not have.

use std::io::{self, Read};
use std::mem;

/// Bytes that are changed at once.
const CHUNK: usize = 1 << 16;

/// Writes `Infinity`, as Python writes the rate of SGLang's results, as vLLM does: `"inf"`. `NaN` becomes the text
/// `-`. Nothing moves, so that lines and bytes stay where they are.
///
/// ```
/// let mut text = *br#"{"request_rate": Infinity}"#;
/// rooflut_traces::quote_infinities(&mut text);
/// assert_eq!(&text, br#"{"request_rate": "inf"   }"#);
/// ```
pub fn quote_infinities(text: &mut [u8]) {
    Within::default().quote(text);
}

/// Reads a text of JSON as [`quote_infinities`] writes it, without a copy of it.
///
/// ```
/// use std::io::Read;
/// let mut text = String::new();
/// rooflut_traces::Quoted::new(b"[NaN, 1]").read_to_string(&mut text)?;
/// assert_eq!(text, "[\"-\", 1]");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Quoted<'t> {
    rest: &'t [u8],
    place: Within,
    part: Vec<u8>,
    /// Bytes of the part that were read.
    read: usize,
}

impl<'t> Quoted<'t> {
    /// Creates a reader of a text.
    pub fn new(text: &'t [u8]) -> Quoted<'t> {
        Quoted { rest: text, place: Within::default(), part: Vec::new(), read: 0 }
    }

    /// Whether a text seems to have such a number.
    pub fn is_needed(text: &[u8]) -> bool {
        let mut parts = text.split(|byte| matches!(byte, b'I' | b'N')).skip(1);
        parts.any(|part| part.starts_with(b"nfinity") || part == b"a")
    }

    fn fill(&mut self) {
        let part = self.rest.get(..CHUNK).unwrap_or(self.rest);
        let is_last = part.len() == self.rest.len();
        // A number begins behind one of these.
        let end = part.iter().rposition(|byte| b" \n,:[".contains(byte)).filter(|_| !is_last);
        let (part, rest) = self.rest.split_at(end.map_or(part.len(), |end| end + 1));
        self.part.clear();
        self.part.extend_from_slice(part);
        self.place.quote(&mut self.part);
        (self.rest, self.read) = (rest, 0);
    }
}

impl Read for Quoted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.part.len() {
            self.fill();
        }
        let read = self.part.get(self.read..).unwrap_or_default().read(buffer)?;
        self.read += read;
        Ok(read)
    }
}

/// Where a part of a text ended.
#[derive(Debug, Default)]
struct Within {
    in_string: bool,
    /// Behind a backslash.
    is_escaped: bool,
}

impl Within {
    fn quote(&mut self, text: &mut [u8]) {
        let mut rest = text;
        if mem::take(&mut self.is_escaped) {
            rest = rest.get_mut(1..).unwrap_or_default();
        }
        loop {
            let length = match rest {
                [] => return,
                [b'"', ..] => {
                    self.in_string = !self.in_string;
                    1
                }
                [b'\\', _, ..] if self.in_string => 2,
                [b'\\'] if self.in_string => {
                    self.is_escaped = true;
                    1
                }
                _ if self.in_string => 1,
                _ => {
                    let mut known = [(&b"Infinity"[..], &b"\"inf\"   "[..]), (b"NaN", b"\"-\"")].into_iter();
                    match known.find(|(python, _)| rest.starts_with(python)) {
                        Some((python, json)) => {
                            rest.iter_mut().zip(json).for_each(|(to, from)| *to = *from);
                            python.len()
                        }
                        None => 1,
                    }
                }
            };
            rest = rest.get_mut(length..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_whole_text() {
        for before in [CHUNK - 20, CHUNK - 9, CHUNK - 3, CHUNK - 2, CHUNK - 1, CHUNK] {
            for text in
                ["\\\"Infinity\", NaN,Infinity]", "\\\\\", Infinity]", "\",NaN:Infinity,\"NaN\",Infinity", "NaN NaN"]
            {
                let text = format!("[\"{}{text}", "x".repeat(before));
                let (mut whole, mut parts) = (text.clone().into_bytes(), Vec::new());
                quote_infinities(&mut whole);
                Quoted::new(text.as_bytes()).read_to_end(&mut parts).unwrap();
                assert_eq!(parts, whole, "{before}: {text}");
                assert!(Quoted::is_needed(text.as_bytes()));
            }
        }
        assert!(!Quoted::is_needed(b"[1, null, \"In\", \"Na\", \"N\", \"aN\"]"));
    }
}
