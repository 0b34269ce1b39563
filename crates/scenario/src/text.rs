//! Text of TOML files in messages.

use rooflut_error::{Error, Kind, not_text};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::value::shortened;

/// Returns a value as it is written, without its end if it is long.
pub(crate) fn shown(value: Option<&str>) -> String {
    shortened(&value.unwrap_or_default().replace(char::is_control, " "))
}

/// Joins the lines of a message.
pub(crate) fn one_line(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    lines.join(", ").replace(char::is_control, " ")
}

/// Returns the line, from 1, of the byte at `start`.
pub(crate) fn line_at(text: &str, start: usize) -> u64 {
    line_after(text.as_bytes().get(..start).unwrap_or(text.as_bytes()))
}

/// Returns the line, from 1, that follows these bytes.
pub(crate) fn line_after(before: &[u8]) -> u64 {
    before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// Returns the text of a file, without a byte order mark.
///
/// # Errors
/// Bytes that are not text, with their line.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Error> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        not_text().at_line(line_after(before))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Returns the text of a TOML file, without a byte order mark, and its table.
///
/// # Errors
/// Bytes that are not text, and text that is not TOML, each with its line.
pub(crate) fn read_table(bytes: &[u8]) -> Result<(&str, Spanned<DeTable<'_>>), Error> {
    let text = text_of(bytes)?;
    let table = DeTable::parse(text);
    let table = table.map_err(|error| toml_error(text, &error))?;
    Ok((text, table))
}

/// Returns the entries of a table in the order of the file.
pub(crate) fn in_order<'t, 'd>(table: &'t DeTable<'d>) -> Vec<(&'t Spanned<DeString<'d>>, &'t Spanned<DeValue<'d>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// Text that is not TOML.
pub(crate) fn toml_error(text: &str, error: &toml::de::Error) -> Error {
    contents_error(text, error).map(|text| format!("invalid TOML: {text}"))
}

/// TOML that has other keys or values than expected.
pub(crate) fn contents_error(text: &str, error: &toml::de::Error) -> Error {
    let start = error.span().map_or(0, |span| span.start);
    let message = one_line(error.message());
    // The parser expects one of several kinds of values there.
    let message = message.trim_end_matches(", expected literal string");
    Error::new(Kind::Contents, format!("{message}; correct it")).at_line(line_at(text, start))
}
