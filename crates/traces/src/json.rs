//! Reads JSON value by value.
//!
//! Values stay text (`RawValue`) until a format reads them: nothing is copied, and the position of a
//! value in the file gives its line.

use std::fmt;
use std::io::{Read, empty};

use rooflut_error::{Error, key};
use serde::Deserialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::error::{Shown, contents, failure, long_record, missing, not_text, value};
use crate::format::Format;
use crate::input::Input;
use crate::lines::line_at;
use crate::quoted::Quoted;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;
/// Most bytes of a record.
const MAX_RECORD: usize = 1 << 24;
/// Maximum number of elements of a list, which are requests.
const MAX_ELEMENTS: usize = 2_000_000;
/// Maximum number of keys of a record that are kept.
const MAX_KEYS: usize = 1000;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The records of a JSON text: the elements of a list, or values one after another.
pub(crate) struct Records {
    input: Input,
    reader: Box<dyn Read>,
    /// Bytes that were read; those before `next` are done with.
    buffer: Vec<u8>,
    next: usize,
    /// The offset of the buffer in the text.
    offset: u64,
    at_end: bool,
    place: Place,
    max_record: usize,
}

/// The place of the next record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first.
    Start,
    /// Among values that stand one after another.
    TopLevel,
    /// At the beginning of a list.
    FirstOfList,
    /// After an element of a list.
    WithinList,
    /// After the end of the list.
    AfterList,
}

impl Records {
    /// Creates a reader of records that are small beside the whole text.
    pub(crate) fn open(input: &Input) -> Result<Records, Error> {
        let reader = input.reader().map_err(failure)?;
        Ok(Records { reader, at_end: false, ..Records::in_memory(input, Vec::new()) })
    }

    /// Creates a reader of `text`, the whole of it.
    pub(crate) fn in_memory(input: &Input, text: Vec<u8>) -> Records {
        Records {
            input: input.clone(),
            reader: Box::new(empty()),
            max_record: text.len().max(MAX_RECORD),
            next: mark(&text),
            buffer: text,
            offset: 0,
            at_end: true,
            place: Place::Start,
        }
    }

    /// Reads the next record.
    pub(crate) fn next(&mut self) -> Result<Option<Json<'_>>, Error> {
        let Some(first) = self.next_byte()? else {
            return match self.place {
                Place::FirstOfList | Place::WithinList => Err(self.refused("EOF while parsing a list")),
                _ => Ok(None),
            };
        };
        match (self.place, first) {
            (Place::Start, b'[') => {
                self.next += 1;
                self.place = Place::FirstOfList;
                return self.next();
            }
            (Place::Start, b'{') => self.place = Place::TopLevel,
            (Place::Start, _) => return Err(self.not_json()),
            (Place::FirstOfList | Place::WithinList, b']') => {
                self.next += 1;
                self.place = Place::AfterList;
                return self.next();
            }
            (Place::FirstOfList, _) => self.place = Place::WithinList,
            (Place::WithinList, b',') => {
                self.next += 1;
                if self.next_byte()? == Some(b']') {
                    return Err(self.refused("trailing comma"));
                }
            }
            (Place::WithinList, _) => return Err(self.refused("expected `,` or `]`")),
            (Place::AfterList, _) => return Err(self.refused("trailing characters")),
            (Place::TopLevel, _) => {}
        }
        let length = self.value_length()?;
        let begin = self.next;
        self.next += length;
        let bytes = self.buffer.get(begin..self.next).unwrap_or_default();
        let offset = self.offset + begin as u64;
        // The reader of the value has checked that it is text.
        let text = str::from_utf8(bytes).map_err(|_| not_text())?;
        let input = &self.input;
        Ok(Some(Json { text, input, offset }))
    }

    /// Returns the next byte that is not blank, without taking it.
    fn next_byte(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let rest = self.buffer.get(self.next..).unwrap_or_default();
            let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
            self.next += blank.count();
            match self.buffer.get(self.next) {
                Some(byte) => return Ok(Some(*byte)),
                None if self.at_end => return Ok(None),
                None => self.fill()?,
            }
        }
    }

    /// Returns the length of the next value, which is then in the buffer as a whole.
    fn value_length(&mut self) -> Result<usize, Error> {
        loop {
            let rest = self.buffer.get(self.next..).unwrap_or_default();
            let mut values = Deserializer::from_slice(rest).into_iter::<&RawValue>();
            match values.next() {
                Some(Ok(_)) if self.at_end || values.byte_offset() < rest.len() => {
                    return Ok(values.byte_offset());
                }
                Some(Err(error)) if self.at_end || !error.is_eof() => {
                    return Err(self.unreadable(&error));
                }
                None if self.at_end => return Err(self.refused("EOF while parsing a value")),
                _ => {}
            }
            if rest.len() > self.max_record {
                return Err(long_record().at_line(self.line()));
            }
            self.fill()?;
        }
    }

    /// Reads at least as many bytes as are left, so that a long value is not tried again and again.
    fn fill(&mut self) -> Result<(), Error> {
        self.buffer.drain(..self.next);
        self.offset += self.next as u64;
        self.next = 0;
        let wanted = self.buffer.len().max(CHUNK) as u64;
        let mut reader = self.reader.by_ref().take(wanted);
        let read = reader.read_to_end(&mut self.buffer);
        let read = read.map_err(failure)?;
        self.at_end = (read as u64) < wanted;
        if self.offset == 0 && self.place == Place::Start {
            self.next = mark(&self.buffer);
        }
        Ok(())
    }

    fn line(&self) -> Option<u64> {
        self.input.line_at(self.offset + self.next as u64)
    }

    fn refused(&self, cause: &str) -> Error {
        invalid(cause).at_line(self.line())
    }

    fn not_json(&self) -> Error {
        let rest = self.buffer.get(self.next..).unwrap_or_default();
        let first = rest.split(|byte| matches!(byte, b'\r' | b'\n')).next();
        let found = String::from_utf8_lossy(first.unwrap_or_default());
        let format = key("trace_format");
        contents(format!("expected JSON, found \"{}\"; name another {format}, or none", Shown(&found)))
            .at_line(self.line())
    }

    /// Converts an error of the JSON reader, which read the next value.
    fn unreadable(&self, error: &serde_json::Error) -> Error {
        let rest = self.buffer.get(self.next..).unwrap_or_default();
        match str::from_utf8(rest) {
            Err(other) if other.error_len().is_some() => {
                let offset = self.offset + (self.next + other.valid_up_to()) as u64;
                not_text().at_line(self.input.line_at(offset))
            }
            _ => unreadable(error, self.line()),
        }
    }
}

/// Returns the length of the byte order mark at the beginning of `text`.
fn mark(text: &[u8]) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

fn invalid(cause: &str) -> Error {
    contents(format!("invalid JSON: {}; correct it", Shown(cause)))
}

/// Converts an error of the JSON reader, which read a part that begins on this line.
fn unreadable(error: &serde_json::Error, line: Option<u64>) -> Error {
    // Line and column in the message count from the start of the part.
    let text = error.to_string();
    let cause = text.split_once(" at line ").map_or(&*text, |(cause, _)| cause);
    let before = error.line().saturating_sub(1) as u64;
    invalid(cause).at_line(line.map(|line| line + before))
}

/// A record.
pub(crate) struct Json<'t> {
    text: &'t str,
    input: &'t Input,
    /// The offset of the record in the file.
    offset: u64,
}

impl<'t> Json<'t> {
    /// Adds the line of `part`, which is a slice of the record, to its error.
    pub(crate) fn at(&self, part: &str, error: Error) -> Error {
        error.at_line(self.line_of(part))
    }

    /// Adds the line to an error of the whole record.
    pub(crate) fn whole(&self, error: Error) -> Error {
        self.at(self.text, error)
    }

    fn line_of(&self, part: &str) -> Option<u64> {
        let within = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.input.line_at(self.offset + within as u64)
    }

    /// Reads each element of the list under `key`, which is a slice of the record.
    pub(crate) fn list<T>(
        &self,
        key: &'static str,
        list: &'t str,
        read: impl Fn(fmt::Arguments<'_>, &str) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        if !list.starts_with('[') {
            return Err(self.at(list, value(key, "a list", list)));
        }
        let (mut values, mut failed) = (Vec::new(), None);
        let mut add = |text: &'t str| {
            let index = values.len();
            if index == MAX_ELEMENTS {
                let text = format!("{key}: expected at most {MAX_ELEMENTS} elements, found more; divide the file");
                return Err(contents(text));
            }
            values.push(read(format_args!("{key}[{index}]"), text)?);
            Ok(())
        };
        let each = |text| {
            failed = add(text).map_err(|error| self.at(text, error)).err();
            failed.is_none()
        };
        let read = Deserializer::from_str(list).deserialize_seq(Elements(each));
        match failed {
            Some(error) => Err(error),
            None => read.map(|()| values).map_err(|error| unreadable(&error, self.line_of(list))),
        }
    }

    /// Reads the record, an object.
    pub(crate) fn object<T: Deserialize<'t>>(&self) -> Result<T, Error> {
        if !self.text.starts_with('{') {
            return Err(self.whole(value("record", "an object", self.text)));
        }
        let read = serde_json::from_str(self.text);
        read.map_err(|error| unreadable(&error, self.line_of(self.text)))
    }

    /// Returns the text of the value `found` under `key`.
    pub(crate) fn required(
        &self,
        format: Format,
        key: &'static str,
        found: Option<&'t RawValue>,
    ) -> Result<&'t str, Error> {
        found.map(RawValue::get).ok_or_else(|| self.whole(missing(format, key, &self.keys())))
    }

    /// Returns the keys of the record, none if it is no object.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        // A defect of the record is found when it is read.
        let _ = Deserializer::from_str(self.text).deserialize_map(Keys(&mut keys));
        keys
    }
}

/// Returns the keys of the first record of a JSON text, those before its end if that is missing.
pub(crate) fn first_keys(head: &[u8]) -> Result<Vec<String>, Error> {
    let start = head.trim_ascii_start();
    let record = start.strip_prefix(b"[").unwrap_or(start).trim_ascii_start();
    let (mut keys, first) = (Vec::new(), record.first().copied());
    let read = match Quoted::is_needed(record) {
        true => read_keys(&mut Deserializer::from_reader(Quoted::new(record)), first, &mut keys),
        false => read_keys(&mut Deserializer::from_slice(record), first, &mut keys),
    };
    match read {
        Err(error) if keys.is_empty() || !error.is_eof() => {
            let before = head.len() - record.len();
            Err(unreadable(&error, line_at(head, before as u64).ok()))
        }
        _ => Ok(keys),
    }
}

fn read_keys<'de, R: serde_json::de::Read<'de>>(
    reader: &mut Deserializer<R>,
    first: Option<u8>,
    keys: &mut Vec<String>,
) -> serde_json::Result<()> {
    match first {
        Some(b'{') => reader.deserialize_map(Keys(keys)),
        Some(b'[') => IgnoredAny::deserialize(reader).map(|_| ()),
        _ => Ok(()),
    }
}

/// Passes the elements of a list on, as long as they are taken.
struct Elements<F>(F);

impl<'t, F: FnMut(&'t str) -> bool> Visitor<'t> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'t>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<&'t RawValue>()? {
            if !(self.0)(element.get()) {
                return Err(serde::de::Error::custom("the element is not taken"));
            }
        }
        Ok(())
    }
}

/// Collects the first keys of an object.
struct Keys<'k>(&'k mut Vec<String>);

impl<'t> Visitor<'t> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            if self.0.len() < MAX_KEYS {
                self.0.push(key);
            }
            object.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
