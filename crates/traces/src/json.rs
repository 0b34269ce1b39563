//! Reads JSON value by value.
//!
//! Values stay text (`RawValue`) until a format reads them: nothing is copied, and the position of a
//! value in the file gives its line.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::error::{Key, Problem, TraceError};
use crate::format::Format;
use crate::lines::line_at;

/// A JSON text.
pub(crate) struct Json<'t> {
    text: &'t str,
}

impl<'t> Json<'t> {
    /// Checks that `bytes` are UTF-8 and drops a byte order mark.
    pub(crate) fn try_new(bytes: &'t [u8]) -> Result<Json<'t>, TraceError> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = str::from_utf8(bytes).map_err(|error| {
            let line = line_at(bytes, error.valid_up_to());
            Problem::NotText.on_line(line)
        })?;
        Ok(Json { text })
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// Adds the line to a problem of `part`, which is a slice of the text.
    pub(crate) fn at(&self, part: &str, problem: Problem) -> TraceError {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        problem.on_line(line_at(self.text.as_bytes(), offset))
    }

    /// Converts an error of the JSON reader, which read `part`.
    fn unreadable(&self, part: &str, error: &serde_json::Error) -> TraceError {
        // Line and column in the message count from the start of the part.
        let text = error.to_string();
        let cause = text
            .split_once(" at line ")
            .map_or(&*text, |(cause, _)| cause);
        let mut converted = self.at(part, Problem::Json(cause.to_owned()));
        let before = error.line().saturating_sub(1) as u64;
        converted.line = converted.line.map(|line| line + before);
        converted
    }

    /// Calls `read` with each record: the elements of a list, or values one after another.
    pub(crate) fn records(
        &self,
        mut read: impl FnMut(&'t str) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let start = self.text.trim_ascii_start();
        match start.as_bytes().first() {
            Some(b'{') | None => {}
            Some(b'[') => return self.elements(self.text, |_, record| read(record)),
            Some(_) => {
                let found = start.lines().next().unwrap_or_default().to_owned();
                return Err(self.at(start, Problem::NotJson { found }));
            }
        }
        let mut records = Deserializer::from_str(self.text).into_iter::<&'t RawValue>();
        loop {
            match records.next() {
                Some(Ok(record)) => read(record.get())?,
                Some(Err(error)) => return Err(self.unreadable(self.text, &error)),
                None => return Ok(()),
            }
        }
    }

    /// Calls `read` with the index and the text of each element of `list`, which is a slice of the text.
    pub(crate) fn elements(
        &self,
        list: &'t str,
        read: impl FnMut(usize, &'t str) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut elements = Elements { read, error: None };
        let mut deserializer = Deserializer::from_str(list);
        let visited = deserializer
            .deserialize_seq(&mut elements)
            .and_then(|()| deserializer.end());
        match (elements.error, visited) {
            (Some(error), _) => Err(error),
            (None, visited) => visited.map_err(|error| self.unreadable(list, &error)),
        }
    }

    /// Reads the object `record`, which is a slice of the text.
    pub(crate) fn object<T: Deserialize<'t>>(&self, record: &'t str) -> Result<T, TraceError> {
        if !record.starts_with('{') {
            let expected = "an object";
            let key = Key::from("record");
            return Err(self.at(record, Problem::value(key, expected, record)));
        }
        serde_json::from_str(record).map_err(|error| self.unreadable(record, &error))
    }

    /// Returns the text of the value `found` under `key` in the object `record`.
    pub(crate) fn required(
        &self,
        (format, record): (Format, &str),
        key: &'static str,
        found: Option<&'t RawValue>,
    ) -> Result<&'t str, TraceError> {
        found.map(RawValue::get).ok_or_else(|| {
            let found = keys(record).unwrap_or_default();
            self.at(record, Problem::NoKey { format, key, found })
        })
    }

    /// Returns the keys of the first record.
    pub(crate) fn first_keys(&self) -> Result<Vec<String>, TraceError> {
        let mut first = None;
        let read = self.records(|record| {
            first = Some(record);
            // Any error ends the reading.
            Err(self.at(record, Problem::SeveralResults))
        });
        match first {
            Some(record) => keys(record).map_err(|error| self.unreadable(record, &error)),
            None => read.map(|()| Vec::new()),
        }
    }
}

/// Returns the keys of an object, none for any other value.
fn keys(record: &str) -> Result<Vec<String>, serde_json::Error> {
    match record.starts_with('{') {
        true => Deserializer::from_str(record).deserialize_map(Keys),
        false => Ok(Vec::new()),
    }
}

/// Visits the elements of a list.
struct Elements<F> {
    read: F,
    /// The error of `read`.
    error: Option<TraceError>,
}

impl<'t, F> Visitor<'t> for &mut Elements<F>
where
    F: FnMut(usize, &'t str) -> Result<(), TraceError>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(element) = list.next_element::<&'t RawValue>()? {
            if let Err(error) = (self.read)(index, element.get()) {
                self.error = Some(error);
                return Err(A::Error::custom("refused"));
            }
            index += 1;
        }
        Ok(())
    }
}

/// Visits the keys of an object.
struct Keys;

impl<'t> Visitor<'t> for Keys {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut object: A) -> Result<Vec<String>, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, IgnoredAny)) = object.next_entry::<String, IgnoredAny>()? {
            keys.push(key);
        }
        Ok(keys)
    }
}
