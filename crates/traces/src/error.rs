//! Errors of a trace, and the parts of their messages.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io;

use rooflut_error::{Error, Kind, hint, is_printable, key, nearest};

use crate::format::Format;
use crate::unit::Unit;

/// Most values that a message lists.
const MAX_VALUES: usize = 8;
/// Most columns or keys that a message lists.
const MAX_NAMES: usize = 16;
/// Most characters of a value that a message shows.
const MAX_CHARACTERS: usize = 60;

/// The file has other contents than expected.
pub(crate) fn contents(text: impl Into<String>) -> Error {
    Error::new(Kind::Contents, text)
}

/// A value does not meet the requirements of its column or key.
pub(crate) fn value(key: impl Display, expected: impl Display, found: &str) -> Error {
    contents(format!("{key}: expected {expected}, found \"{}\"; correct this line", Shown(found)))
}

/// The file cannot be read.
pub(crate) fn failure(error: io::Error) -> Error {
    let cause = shown(&error.to_string());
    let text = match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::InvalidData
        | io::ErrorKind::Other => {
            format!("cannot decompress: {cause}; the file is cut off or damaged: fetch it again")
        }
        io::ErrorKind::FileTooLarge => return contents(error.to_string()),
        io::ErrorKind::StorageFull => {
            format!("cannot keep a copy of the pipe: {cause}; set TMPDIR to a folder with more room")
        }
        _ => format!("cannot read the file: {cause}; check the path"),
    };
    Error::new(Kind::Io, text)
}

/// The file is empty.
pub(crate) fn empty(format: Format) -> Error {
    contents(format!("the file is empty; expected {}", content(format)))
}

/// The file is not UTF-8 text.
pub(crate) fn not_text() -> Error {
    contents("expected UTF-8 text, found other bytes; correct this line")
}

/// A row or record, or the header, is too long to be one.
pub(crate) fn long_record() -> Error {
    contents(
        "expected one request, found more bytes than one can have; check that the file is a trace and that each quote \
         is closed",
    )
}

/// A column or key is missing.
pub(crate) fn missing<S: AsRef<str>>(format: Format, name: &str, found: &[S]) -> Error {
    let is_unknown = |other: &&str| !format.names().any(|known| known == *other);
    let unknown = found.iter().map(AsRef::as_ref).filter(is_unknown);
    let instead = match nearest(name, unknown).first() {
        None => format!(", found {}; expected {}", names(found), format.expected()),
        Some(near) => {
            let shown = Shown(near);
            match (format.time(name), unit(near)) {
                (None, _) => format!("; rename {shown}?"),
                (Some(expected), Some(found)) if found != expected => {
                    format!(" ({expected}); {shown} is {found}: convert and rename it")
                }
                (Some(expected), _) => format!("; rename {shown} if it is {expected}"),
            }
        }
    };
    contents(format!("no {} {name}{instead}", format.part()))
}

/// A file has no column or key of the name that `setting` gives.
pub(crate) fn unknown_column<S: AsRef<str>>(setting: &'static str, format: Format, name: &str, found: &[S]) -> Error {
    let near: Vec<String> = nearest(name, found.iter().map(AsRef::as_ref)).into_iter().map(shown).collect();
    let (setting, part, name, near) = (key(setting), format.part(), Shown(name), hint(&near));
    let text = format!("{setting}: no {part} {name}{near}; use one of {}", names(found));
    Error::new(Kind::UnknownName, text)
}

/// Returns what a file of `format` contains.
pub(crate) fn content(format: Format) -> String {
    let expected = format.expected();
    match format {
        Format::Vllm => format!("one JSON object with {expected}"),
        _ if format.is_csv() => format!("a header ({expected}) and one line per request"),
        _ => format!("one JSON object per request, with {expected}"),
    }
}

/// Returns what a time of this name is, as far as other formats and endings tell.
fn unit(name: &str) -> Option<String> {
    let of_format = || {
        // Mooncake and Qwen-Bailian have one name for two units.
        let formats = Format::ALL.into_iter().filter(|format| format.is_csv());
        formats.into_iter().find_map(|format| format.time(name))
    };
    of_format().map(str::to_owned).or_else(|| Some(format!("in {}", Unit::of_name(name)?.name())))
}

/// Lists columns or keys.
pub(crate) fn names(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() { "none".to_owned() } else { list(names, MAX_NAMES) }
}

/// Lists values of a column.
pub(crate) fn listed(values: &BTreeSet<String>) -> String {
    list(values, MAX_VALUES)
}

fn list(values: impl IntoIterator<Item = impl AsRef<str>>, max: usize) -> String {
    let mut values = values.into_iter();
    let first = values.by_ref().take(max);
    let first: Vec<String> = first.map(|value| shown(value.as_ref())).collect();
    let more = if values.next().is_some() { ", ..." } else { "" };
    first.join(", ") + more
}

pub(crate) fn shown(text: &str) -> String {
    Shown(text).to_string()
}

/// Writes a text of a file on one line, shortened where it is long.
pub(crate) struct Shown<'t>(pub(crate) &'t str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(MAX_CHARACTERS) {
            if is_printable(character) {
                write!(f, "{character}")?
            } else {
                write!(f, "{}", character.escape_default())?
            }
        }
        match characters.next() {
            Some(_) => f.write_str("..."),
            None => Ok(()),
        }
    }
}
