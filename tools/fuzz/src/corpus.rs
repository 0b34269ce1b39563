//! Inputs that are kept: one on each line, with the escapes of a Rust byte string.

use std::fs;
use std::path::Path;

/// The kept inputs of a target of the fuzz crate in `folder`, whose file is as [`pack`] writes it.
pub fn kept(folder: impl AsRef<Path>, target: &str) -> Vec<Vec<u8>> {
    let kept = fs::read_to_string(folder.as_ref().join(format!("corpus/{target}.txt"))).unwrap();
    let inputs = unpack(&kept).unwrap();
    assert!(inputs.len() > 10, "{target}: {}", inputs.len());
    // A changed file would not be told from a changed order.
    assert_eq!(pack(inputs.clone()), kept, "{target}");
    inputs
}

/// The inputs of a file.
///
/// # Errors
/// The number of the first line that is not an input.
pub fn unpack(text: &str) -> Result<Vec<Vec<u8>>, usize> {
    let inputs = (1..).zip(text.lines());
    inputs.map(|(line, input)| unescape(input).ok_or(line)).collect()
}

/// The file with these inputs in a canonical order.
pub fn pack(mut inputs: Vec<Vec<u8>>) -> String {
    inputs.sort_unstable();
    inputs.dedup();
    let lines = inputs.iter().map(|input| format!("{}\n", input.escape_ascii()));
    lines.collect()
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b't' => b'\t',
                b'r' => b'\r',
                b'n' => b'\n',
                b'x' => {
                    let mut digit = || char::from(rest.next()?).to_digit(16);
                    (digit()? * 16 + digit()?) as u8
                }
                quoted => quoted,
            },
            _ => byte,
        });
    }
    Some(bytes)
}
