//! Figures of JSON.

use std::iter;

use rooflut_error::{Error, Kind};
use rooflut_traces::Quoted;
use serde::de::DeserializeSeed;
use serde_json::Deserializer;
use serde_json::de::Read;

use crate::value::{Keys, SIZE, Value};

/// Maximum size of a text and of one of its values in memory, MiB. The figures of its requests take more.
const MAX_MIB: u64 = 600;
/// Maximum number of characters of a value that an error quotes.
const MAX_QUOTED: usize = 40;

/// The file has other contents than expected.
pub(crate) fn contents(text: impl Into<String>) -> Error {
    Error::new(Kind::Contents, text)
}

/// Reads the values of a JSON text one by one: one, or several after one another. Numbers that JSON does not have are
/// texts, as of [`rooflut_traces::quote_infinities`].
///
/// # Errors
/// A text with a value that takes too much memory.
pub(crate) fn values(text: &[u8]) -> Result<Box<dyn Iterator<Item = Result<Value, Error>> + '_>, Error> {
    SIZE.check(text, MAX_MIB)?;
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    Ok(match Quoted::is_needed(text) {
        true => Box::new(each(Deserializer::from_reader(Quoted::new(text)))),
        false => Box::new(each(Deserializer::from_slice(text))),
    })
}

/// Returns the only value.
pub(crate) fn only(mut values: impl Iterator<Item = Result<Value, Error>>) -> Result<Value, Error> {
    match (values.next().transpose()?, values.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(contents("expected one report, found several; split the file")),
    }
}

fn each<'t, R: Read<'t>>(mut reader: Deserializer<R>) -> impl Iterator<Item = Result<Value, Error>> {
    let (keys, mut has_failed) = (Keys::default(), false);
    iter::from_fn(move || {
        // There is no other value behind one that cannot be read.
        if has_failed || reader.end().is_ok() {
            return None;
        }
        let value = (&keys).deserialize(&mut reader).map_err(|error| unreadable(&error));
        has_failed = value.is_err();
        Some(value)
    })
}

fn unreadable(error: &serde_json::Error) -> Error {
    let (cause, line) = (error.to_string(), error.line() as u64);
    let cause = cause.split_once(" at line ").map_or(&*cause, |(cause, _)| cause);
    contents(format!("invalid JSON: {cause}; fetch the file again if it is cut off")).at_line(line)
}

/// Returns the number at a path such as `/load_summary/count`: `None` where there is none, null, or NaN.
///
/// # Errors
/// Other values, and negative numbers: no figure of a benchmark is one.
pub(crate) fn number(value: &Value, path: &str) -> Result<Option<f64>, Error> {
    figure(value.pointer(path), path)
}

/// Returns the number that was found at a path.
pub(crate) fn figure(found: Option<&Value>, path: &str) -> Result<Option<f64>, Error> {
    match found {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Text(nan)) if &**nan == "-" => Ok(None),
        Some(found) => match found.as_f64().filter(|number| *number >= 0.0 && number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(wrong(path, "a number of at least 0", found)),
        },
    }
}

/// Returns the whole number at a path.
pub(crate) fn count(value: &Value, path: &str) -> Result<Option<u64>, Error> {
    match number(value, path)? {
        None => Ok(None),
        Some(number) if number.fract() == 0.0 => Ok(Some(number as u64)),
        Some(_) => Err(wrong(path, "a whole number", value.pointer(path).unwrap_or(&Value::Null))),
    }
}

/// Returns the text at a path.
pub(crate) fn text(value: &Value, path: &str) -> Option<String> {
    value.pointer(path).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the elements of the list at a path.
pub(crate) fn list<'v>(value: &'v Value, path: &str) -> Result<Option<&'v [Value]>, Error> {
    match value.pointer(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::List(list)) => Ok(Some(list)),
        Some(found) => Err(wrong(path, "a list", found)),
    }
}

/// Returns the first value under a key, wherever it is: clients move their settings from version to version.
pub(crate) fn find<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::List(values) => values.iter().find_map(|inner| find(inner, key)),
        value => {
            let own = value.get(key).filter(|found| !found.is_null());
            own.or_else(|| value.keys().find_map(|(_, inner)| find(inner, key)))
        }
    }
}

/// A key has another value than expected.
pub(crate) fn wrong(path: &str, expected: &str, found: &Value) -> Error {
    let key = path.trim_start_matches('/').replace('/', ".");
    let found = found.shown(MAX_QUOTED);
    contents(format!("{key}: expected {expected}, found {found}; check which version wrote the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_each_other_up_to_one_that_cannot_be_read() {
        let read = |text: &str| {
            let values = values(text.as_bytes()).unwrap();
            values
                .map(|value| value.map_or_else(|error| error.to_string(), |value| value.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(read("\u{feff}{\"a\": 1}\n[2]\n"), [r#"{"a":1}"#, "[2]"]);
        assert_eq!(read("[Infinity, \"NaN\"]\n[NaN]"), [r#"["inf","NaN"]"#, r#"["-"]"#]);
        for text in ["[1]\n{\"a\": \n", "[1]\n{\"a\": NaN,\n"] {
            let found = read(text);
            assert!(found.len() == 2 && found[1].starts_with("line "), "{found:?}");
            assert!(found[1].contains("invalid JSON: EOF while parsing"), "{found:?}");
        }
    }
}
