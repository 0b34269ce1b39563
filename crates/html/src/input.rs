//! An input of a report.

use std::io::{BufRead, Read};

use rooflut_error::{Error, JsonSize, Kind as ErrorKind, Whole, not_text};
use rooflut_report::SCHEMA_VERSION;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::facts;
use crate::kind::Kind;
use crate::rows::Rows;
use crate::text::embedded;

/// Maximum size of an answer in memory, MiB.
const MAX_MIB: u64 = 256;

/// An output of a command, to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    kind: Kind,
    /// The object that the front end reads, as JSON within HTML.
    pub(crate) object: String,
    /// Model and GPU, where the input names them.
    pub(crate) title: Option<String>,
    /// The figures for readers without scripts.
    pub(crate) facts: String,
}

impl Input {
    /// Reads JSON or CSV that a command wrote; `name` is shown. What it is follows from its keys or columns.
    ///
    /// # Errors
    /// Input that no command writes, or that another version wrote, with its line where it has one.
    pub fn read(name: &str, mut source: impl BufRead) -> Result<Input, Error> {
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, error.to_string());
        let start = source.fill_buf().map_err(io)?;
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => {
                Err(Error::new(ErrorKind::Contents, "expected the output of a command, found nothing; write it first"))
            }
            Some(b'{' | b'[') => {
                let bytes =
                    Whole::Report.read(source).map_err(|error| Error::new(ErrorKind::Contents, error.to_string()))?;
                let text = String::from_utf8(bytes).map_err(|_| not_text())?;
                Input::of_json(name, text.trim_start_matches('\u{feff}'))
            }
            Some(_) => Input::of_rows(name, source, 0),
        }
    }

    /// Reads CSV, and counts `before` rows that were dropped earlier.
    pub(crate) fn of_rows(name: &str, source: impl Read, before: u64) -> Result<Input, Error> {
        let Rows { kind, fields } = Rows::read(source, before)?;
        let mut object = Map::new();
        object.insert("name".to_owned(), name.into());
        object.insert("kind".to_owned(), kind.name().into());
        object.extend(fields);
        let facts = facts::table(name, &json!({"rows": object.get("rows")}));
        Ok(Input { kind, object: embedded(&Value::Object(object).to_string()), title: None, facts })
    }

    /// Reads an answer of a command.
    fn of_json(name: &str, text: &str) -> Result<Input, Error> {
        let unreadable = |error: serde_json::Error| {
            let text = format!("expected the JSON of a command: {error}; write the file again");
            Error::new(ErrorKind::Contents, text)
        };
        JsonSize::VALUES.check(text.as_bytes(), MAX_MIB)?;
        let answer: Value = serde_json::from_str(text).map_err(unreadable)?;
        let none = Map::new();
        let keys = answer.as_object().unwrap_or(&none);
        let kind = Kind::of_json(keys)?;
        check_version(keys)?;
        let raw: &RawValue = serde_json::from_str(text).map_err(unreadable)?;
        let object = format!("{{\"name\":{},\"kind\":\"{}\",\"json\":{}}}", json!(name), kind.name(), raw.get());
        let named = |key: &str| keys.get(key)?.as_str();
        let title = named("model").map(|model| match named("gpu") {
            Some(gpu) => format!("{model} on {gpu}"),
            None => model.to_owned(),
        });
        Ok(Input { kind, object: embedded(&object), title, facts: facts::table(name, &answer) })
    }

    /// Returns the kind of command output that the input holds.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// Refuses the keys of another version.
fn check_version(keys: &Map<String, Value>) -> Result<(), Error> {
    let found = keys.get("schema_version");
    if found.and_then(Value::as_u64) == Some(SCHEMA_VERSION.into()) {
        return Ok(());
    }
    let found = found.map_or("none".to_owned(), Value::to_string);
    let text = format!("schema_version: expected {SCHEMA_VERSION}, found {found}; write it again with this version");
    Err(Error::new(ErrorKind::Contents, text))
}
