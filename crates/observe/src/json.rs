//! Figures of JSON.

use rooflut_error::{Error, Kind};
use rooflut_traces::quote_infinities;
use serde_json::{Deserializer, Value};

/// The file has other contents than expected.
pub(crate) fn contents(text: impl Into<String>) -> Error {
    Error::new(Kind::Contents, text)
}

/// Reads the values of a JSON text: one, or several after one another.
pub(crate) fn values(text: &[u8]) -> Result<Vec<Value>, Error> {
    let mut text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).to_vec();
    quote_infinities(&mut text);
    let values = Deserializer::from_slice(&text).into_iter().collect::<Result<Vec<Value>, _>>();
    values.map_err(|error| {
        let (cause, line) = (error.to_string(), error.line() as u64);
        let cause = cause.split_once(" at line ").map_or(&*cause, |(cause, _)| cause);
        contents(format!("invalid JSON: {cause}; fetch the file again if it is cut off")).at_line(line)
    })
}

/// Returns the number at a path such as `/load_summary/count`: `None` where there is none, null, or NaN.
///
/// # Errors
/// Other values, and negative numbers: no figure of a benchmark is one.
pub(crate) fn number(value: &Value, path: &str) -> Result<Option<f64>, Error> {
    match value.pointer(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(nan)) if nan == "-" => Ok(None),
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
pub(crate) fn list<'v>(value: &'v Value, path: &str) -> Result<Option<&'v Vec<Value>>, Error> {
    match value.pointer(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(found) => Err(wrong(path, "a list", found)),
    }
}

/// Returns the first value under a key, wherever it is: clients move their settings from version to version.
pub(crate) fn find<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(keys) => {
            let own = keys.get(key).filter(|found| !found.is_null());
            own.or_else(|| keys.values().find_map(|inner| find(inner, key)))
        }
        Value::Array(values) => values.iter().find_map(|inner| find(inner, key)),
        _ => None,
    }
}

/// A key has another value than expected.
pub(crate) fn wrong(path: &str, expected: &str, found: &Value) -> Error {
    const MOST: usize = 40;
    let key = path.trim_start_matches('/').replace('/', ".");
    let found = found.to_string();
    let shown: String = found.chars().take(MOST).collect();
    let more = if shown.len() < found.len() { "..." } else { "" };
    contents(format!("{key}: expected {expected}, found {shown}{more}; check which version wrote the file"))
}
