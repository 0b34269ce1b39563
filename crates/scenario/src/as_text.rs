//! Optional values as text: what [`FromStr`] reads and [`Display`] writes.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
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
    let text = scalar(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom))
        .transpose()
}

/// Reads text, or a number as text.
pub(crate) fn scalar<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number, or text in quotes")]
    enum Scalar {
        Text(String),
        Positive(u64),
        Whole(i64),
        Float(f64),
    }

    Ok(match Option::deserialize(deserializer)? {
        None => None,
        Some(Scalar::Text(text)) => Some(text),
        Some(Scalar::Positive(number)) => Some(number.to_string()),
        Some(Scalar::Whole(number)) => Some(number.to_string()),
        Some(Scalar::Float(number)) => Some(format!("{number:?}")),
    })
}

/// Writes a path; what is not UTF-8 in it is replaced.
pub(crate) fn path<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
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
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected text in quotes, or a list of such")]
        enum Texts {
            One(String),
            Many(Vec<String>),
        }

        let texts = match Option::deserialize(deserializer)? {
            None => return Ok(None),
            Some(Texts::One(text)) => vec![text],
            Some(Texts::Many(texts)) => texts,
        };
        let values: Result<Vec<T>, T::Err> = texts.iter().map(|text| text.parse()).collect();
        values.map(Some).map_err(D::Error::custom)
    }
}
