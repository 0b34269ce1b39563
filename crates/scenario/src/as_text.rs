//! Optional values as text: what [`FromStr`] reads and [`Display`] writes.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// Reads text, or a number as the text that it is.
pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    parsed(scalar(deserializer)?)
}

/// Reads text, or a number as text.
pub(crate) fn scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let expected = "expected a number, or text in quotes";
    read(deserializer, expected, Value::into_text)
}

/// Reads text that is not a number.
pub(crate) fn quoted<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: From<String>,
    D: Deserializer<'de>,
{
    read(deserializer, "expected text in quotes", |value| match value {
        Value::Text(text) => Some(text.into()),
        _ => None,
    })
}

/// Reads `true` or `false`.
pub(crate) fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    read(deserializer, "expected true or false", |value| match value {
        Value::Switch(on) => Some(on),
        _ => None,
    })
}

/// Reads numbers or texts, or a single one, as a text with commas between them.
pub(crate) fn joined<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let texts = texts(deserializer)?;
    parsed(texts.map(|texts| texts.join(",")))
}

/// Any value of a key, so that messages do not depend on the format of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Switch(bool),
    Positive(u64),
    Whole(i64),
    Float(f64),
    List(Vec<Value>),
    Other(IgnoredAny),
}

impl Value {
    /// A text, or a number as text.
    fn into_text(self) -> Option<String> {
        match self {
            Value::Text(text) => Some(text),
            Value::Positive(number) => Some(number.to_string()),
            Value::Whole(number) => Some(number.to_string()),
            Value::Float(number) => Some(format!("{number:?}")),
            Value::Switch(_) | Value::List(_) | Value::Other(_) => None,
        }
    }
}

fn read<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    expected: &str,
    pick: impl Fn(Value) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    let value: Option<Value> = Option::deserialize(deserializer)?;
    let picked = value.map(|value| pick(value).ok_or_else(|| D::Error::custom(expected)));
    picked.transpose()
}

/// Reads a list of texts or numbers, or a single one.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let expected = "expected a number, text in quotes, or a list of such";
    read(deserializer, expected, |value| match value {
        Value::List(values) => values.into_iter().map(Value::into_text).collect(),
        single => Some(vec![single.into_text()?]),
    })
}

fn parsed<T: FromStr<Err: Display>, E: Error>(text: Option<String>) -> Result<Option<T>, E> {
    text.map(|text| text.parse().map_err(E::custom)).transpose()
}

/// Writes a path; what is not UTF-8 in it is replaced.
pub(crate) fn path<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    serialize(&path.as_ref().map(|path| path.display()), serializer)
}

/// Lists of values as lists of texts.
pub(crate) mod list {
    use super::*;

    pub(crate) fn serialize<T: Display, S: Serializer>(
        values: &Option<Vec<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match values {
            Some(values) => serializer.collect_seq(values.iter().map(T::to_string)),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a list, or a single value.
    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let Some(texts) = texts(deserializer)? else {
            return Ok(None);
        };
        let values: Result<Vec<T>, T::Err> = texts.iter().map(|text| text.parse()).collect();
        values.map(Some).map_err(D::Error::custom)
    }
}
