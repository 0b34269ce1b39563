//! Objects of a `config.json`, read key by key.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::keys::Dimension;

/// An object of a `config.json`, with the keys that were asked for. A key with the value `null` counts as absent.
pub(crate) struct Object<'j> {
    /// The keys of the objects around it, each followed by a dot.
    path: String,
    fields: &'j Map<String, Value>,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'j> Object<'j> {
    /// Returns the object of a whole file. `path` precedes its keys in messages.
    pub(crate) fn outermost(path: impl Into<String>, fields: &'j Map<String, Value>) -> Object<'j> {
        Object { path: path.into(), fields, asked: RefCell::default() }
    }

    /// Returns the key as messages name it.
    pub(crate) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }

    /// Returns the first of `keys` that has a whole number, and the number. All of them count as asked for. A list of
    /// equal numbers, one for each layer, is that number.
    pub(crate) fn dimension(&self, keys: &[&'static str]) -> Result<Option<Dimension>, ConfigError> {
        let mut found = None;
        for &key in keys.iter().rev() {
            let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
            let read = self.value(key, "a whole number", |value| match value {
                Value::Array(list) => list
                    .split_first()
                    .and_then(|(first, others)| number(first).filter(|_| others.iter().all(|other| other == first))),
                single => number(single),
            })?;
            found = read.map(|value| Dimension { key, value }).or(found);
        }
        Ok(found)
    }

    /// Returns the number of the first of `keys`, which the model cannot be without.
    pub(crate) fn required(&self, keys: &[&'static str]) -> Result<Dimension, ConfigError> {
        self.dimension(keys)?.ok_or_else(|| self.missing(keys))
    }

    /// Returns the error of a file that has none of `keys`, which names the first.
    pub(crate) fn missing(&self, keys: &[&'static str]) -> ConfigError {
        ConfigError::Missing { key: self.name(keys.first().copied().unwrap_or_default()) }
    }

    /// Returns the switch `key`.
    pub(crate) fn switch(&self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        self.value(key, "true or false", Value::as_bool)
    }

    /// Returns the text of `key`.
    pub(crate) fn text(&self, key: &'static str) -> Result<Option<&'j str>, ConfigError> {
        self.value(key, "a text", Value::as_str)
    }

    /// Returns the texts of the list `key`, none where it is absent.
    pub(crate) fn texts(&self, key: &'static str) -> Result<Vec<&'j str>, ConfigError> {
        let texts =
            self.value(key, "a list of texts", |value| value.as_array()?.iter().map(Value::as_str).collect())?;
        Ok(texts.unwrap_or_default())
    }

    /// Returns the whole numbers of the list `key`, or of a single number, none where it is absent.
    pub(crate) fn numbers(&self, key: &'static str) -> Result<Vec<i64>, ConfigError> {
        let numbers = self.value(key, "whole numbers", |value| match value {
            Value::Array(list) => list.iter().map(Value::as_i64).collect(),
            single => Some(vec![single.as_i64()?]),
        })?;
        Ok(numbers.unwrap_or_default())
    }

    /// Returns the object of `key`.
    pub(crate) fn object(&self, key: &'static str) -> Result<Option<Object<'j>>, ConfigError> {
        let fields = self.value(key, "an object", Value::as_object)?;
        Ok(fields.map(|fields| Object::outermost(self.name(key) + ".", fields)))
    }

    /// Counts `key` as asked for: its value does not matter.
    pub(crate) fn asked(&self, key: &'static str) {
        self.asked.borrow_mut().insert(key);
    }

    /// Returns the objects of all keys.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Object<'j>> {
        self.fields.iter().filter_map(|(key, value)| {
            let path = self.name(key) + ".";
            Some(Object::outermost(path, value.as_object()?))
        })
    }

    /// Returns the keys that were not asked for, and their values.
    pub(crate) fn unread(&self) -> impl Iterator<Item = (&'j str, &'j Value)> {
        let unread = |key: &&String| !self.asked.borrow().contains(key.as_str());
        let fields = self.fields.iter();
        fields.filter(move |(key, _)| unread(key)).map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the error of a key that the object cannot be without.
    pub(crate) fn lacks(&self, key: &str, expected: &'static str) -> ConfigError {
        ConfigError::Type { key: self.name(key), expected, found: "none".to_owned() }
    }

    /// Whether the file says that `key` has no value.
    pub(crate) fn is_null(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(Value::is_null)
    }

    /// Reads the value of `key`. A dot in it leads into an object.
    pub(crate) fn value<T>(
        &self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&'j Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let mut steps = key.split('.');
        let first = steps.next().unwrap_or(key);
        self.asked.borrow_mut().insert(first);
        let outer = self.fields.get(first);
        let value = steps.fold(outer, |outer, step| outer?.get(step));
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(ConfigError::Type { key: self.name(key), expected, found: describe(value) }),
        }
    }
}

/// Returns a text of a file as a message shows it: on one line, at most 80 characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// The value as a message shows it.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("\"{}\"", shown(text)),
        short => short.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_is_named_by_its_key() {
        let text = r#"{"outer": {"number": "128", "negative": -1, "fraction": 1.5, "large": 4294967296,
            "texts": [1], "switch": 0, "object": [], "text": {}, "null": null}}"#;
        let file: Map<String, Value> = serde_json::from_str(text).unwrap();
        let object = Object::outermost("", &file).object("outer").unwrap().unwrap();
        let number = |key| object.dimension(&[key]).map(drop);
        for (read, expected) in [
            (number("number"), r#"number: expected a whole number, found "128""#),
            (number("negative"), "negative: expected a whole number, found -1"),
            (number("fraction"), "fraction: expected a whole number, found 1.5"),
            (number("large"), "large: expected a whole number, found 4294967296"),
            (object.texts("texts").map(drop), "texts: expected a list of texts, found a list"),
            (object.switch("switch").map(drop), "switch: expected true or false, found 0"),
            (object.object("object").map(drop), "object: expected an object, found a list"),
            (object.text("text").map(drop), "text: expected a text, found an object"),
        ] {
            let message = read.unwrap_err().to_string();
            assert_eq!(message, format!("outer.{expected}; correct the file"));
        }
        assert!(object.dimension(&["null"]).unwrap().is_none());
        assert!(object.texts("absent").unwrap().is_empty());
    }

    #[test]
    fn the_first_name_of_a_number_counts_and_equal_layers_are_one_number() {
        let text = r#"{"b": 2, "c": 3, "layers": [8, 8, 8], "mixed": [8, 4], "none": [],
            "outer": {"inner": 5}}"#;
        let file: Map<String, Value> = serde_json::from_str(text).unwrap();
        let object = Object::outermost("", &file);
        let number = |keys: &[&'static str]| {
            let found = object.dimension(keys).unwrap();
            found.map(|found| (found.key, found.value))
        };
        assert_eq!(number(&["a", "b", "c"]), Some(("b", 2)));
        assert_eq!(number(&["layers"]), Some(("layers", 8)));
        assert_eq!(number(&["outer.inner"]), Some(("outer.inner", 5)));
        let unread: Vec<&str> = object.unread().map(|(key, _)| key).collect();
        assert_eq!(unread, ["mixed", "none"]);
        for key in ["mixed", "none"] {
            let error = object.dimension(&[key]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{key}: expected a whole number, found a list")));
        }
    }
}
