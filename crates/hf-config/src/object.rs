//! Objects of a `config.json`, read key by key.

use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::keys::Dimension;

/// An object of a `config.json`. A key with the value `null` counts as absent.
pub(crate) struct Object<'j> {
    /// The keys of the objects around it, each followed by a dot.
    path: String,
    fields: &'j Map<String, Value>,
}

impl<'j> Object<'j> {
    /// The object of a whole file.
    pub(crate) fn outermost(fields: &'j Map<String, Value>) -> Object<'j> {
        Object {
            path: String::new(),
            fields,
        }
    }

    /// Whether the object has this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns the whole number of `key`.
    pub(crate) fn dimension(&self, key: &'static str) -> Result<Option<Dimension>, ConfigError> {
        let number = self.value(key, "a whole number", |value| {
            u32::try_from(value.as_u64()?).ok()
        })?;
        Ok(number.map(|value| Dimension { key, value }))
    }

    /// Returns the whole number of `key`, which the model cannot be without.
    pub(crate) fn required(&self, key: &'static str) -> Result<Dimension, ConfigError> {
        self.dimension(key)?.ok_or(ConfigError::Missing { key })
    }

    /// Returns the switch `key`.
    pub(crate) fn switch(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.value(key, "true or false", Value::as_bool)
    }

    /// Returns the text of `key`.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'j str>, ConfigError> {
        self.value(key, "a text", Value::as_str)
    }

    /// Returns the elements of the list `key`, none where it is absent.
    pub(crate) fn list(&self, key: &str) -> Result<&'j [Value], ConfigError> {
        let list = self.value(key, "a list", Value::as_array)?;
        Ok(list.map_or(&[], Vec::as_slice))
    }

    /// Returns the texts of the list `key`, none where it is absent.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<&'j str>, ConfigError> {
        let texts = self.value(key, "a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })?;
        Ok(texts.unwrap_or_default())
    }

    /// Returns the object of `key`.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Object<'j>>, ConfigError> {
        let fields = self.value(key, "an object", Value::as_object)?;
        Ok(fields.map(|fields| Object {
            path: format!("{}{key}.", self.path),
            fields,
        }))
    }

    /// The values of all keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'j Value> {
        self.fields.values()
    }

    fn value<T>(
        &self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&'j Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let value = self.fields.get(key).filter(|value| !value.is_null());
        let Some(value) = value else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(ConfigError::Type {
                key: format!("{}{key}", self.path),
                expected,
                found: describe(value),
            }),
        }
    }
}

/// The value as a message shows it.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        short => short.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_is_named_by_its_key() {
        let text = r#"{"outer": {"number": "128", "negative": -1, "fraction": 1.5, "large": 4294967296,
            "list": 5, "texts": [1], "switch": 0, "object": [], "text": {}, "null": null}}"#;
        let file: Map<String, Value> = serde_json::from_str(text).unwrap();
        let object = Object::outermost(&file).object("outer").unwrap().unwrap();
        let number = |key| object.dimension(key).map(drop);
        for (read, expected) in [
            (
                number("number"),
                r#"number: expected a whole number, found "128""#,
            ),
            (
                number("negative"),
                "negative: expected a whole number, found -1",
            ),
            (
                number("fraction"),
                "fraction: expected a whole number, found 1.5",
            ),
            (
                number("large"),
                "large: expected a whole number, found 4294967296",
            ),
            (
                object.list("list").map(drop),
                "list: expected a list, found 5",
            ),
            (
                object.texts("texts").map(drop),
                "texts: expected a list of texts, found a list",
            ),
            (
                object.switch("switch").map(drop),
                "switch: expected true or false, found 0",
            ),
            (
                object.object("object").map(drop),
                "object: expected an object, found a list",
            ),
            (
                object.text("text").map(drop),
                "text: expected a text, found an object",
            ),
        ] {
            let message = read.unwrap_err().to_string();
            assert_eq!(message, format!("outer.{expected}; correct the file"));
        }
        assert!(object.dimension("null").unwrap().is_none());
        assert!(object.texts("absent").unwrap().is_empty());
        assert!(!object.has("null"));
    }
}
