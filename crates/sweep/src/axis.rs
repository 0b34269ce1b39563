//! Axes: a key of a scenario and its values.

use std::collections::HashSet;

use rooflut_error::key;
use rooflut_scenario::{Error, FileList, Kind};
use serde_json::Value;

use crate::keys::{canonical, cell, section, shown};
use crate::range::range;

/// Keys whose commas and dots belong to a single value.
const WHOLE: [&str; 3] = ["columns", "strict", "where"];

/// A key of a scenario and the values that it takes in a sweep.
///
/// ```
/// use rooflut_sweep::Axis;
/// let rates = Axis::read("rate", ["1..7:2,20"])?;
/// assert_eq!(rates.values().len(), 5);
/// // A comma that belongs to a value separates nothing.
/// let prompts = Axis::read("prompt", ["512", "lognormal:200,0.8"])?;
/// assert_eq!(prompts.values().len(), 2);
/// # Ok::<(), rooflut_sweep::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    key: String,
    section: String,
    values: Vec<Value>,
}

impl Axis {
    /// Reads the values of a key as flags have them: values with commas between them, and ranges `FROM..TO:STEP`. A
    /// text is a single value if its parts alone are not values of the key, as in `lognormal:200,0.8`.
    ///
    /// # Errors
    /// An unknown key, a value that the key does not take, an impossible range, a repeated value.
    pub fn read<'t>(key: &str, texts: impl IntoIterator<Item = &'t str>) -> Result<Axis, Error> {
        let section = section(key)?;
        let mut values = Vec::new();
        for text in texts {
            values.extend(split(&section, key, text)?);
        }
        Axis::of(key, section, values)
    }

    /// Reads the values of a key of a scenario file: the values of a list as they are, a text as in a flag.
    ///
    /// # Errors
    /// As [`read`](Axis::read).
    pub fn of_file(list: &FileList) -> Result<Axis, Error> {
        match &list.value {
            Value::Array(values) => Axis::try_new(&list.key, values.iter().cloned()),
            Value::String(text) => Axis::read(&list.key, [text.as_str()]),
            value => Axis::try_new(&list.key, [value.clone()]),
        }
    }

    /// Takes each value as it is: text, numbers, `true` and `false`, lists for keys that take several.
    ///
    /// # Errors
    /// As [`read`](Axis::read).
    pub fn try_new(key: &str, values: impl IntoIterator<Item = Value>) -> Result<Axis, Error> {
        let section = section(key)?;
        let values = values.into_iter().map(|value| {
            let found = cell(&value);
            canonical(&section, key, value).map_err(|expected| wrong(key, &found, &expected))
        });
        let values: Result<Vec<Value>, Error> = values.collect();
        Axis::of(key, section, values?)
    }

    /// Takes different values that a scenario holds like this.
    pub(crate) fn of_distinct(key: &str, section: String, values: Vec<Value>) -> Axis {
        Axis { key: key.to_owned(), section, values }
    }

    fn of(key: &str, section: String, values: Vec<Value>) -> Result<Axis, Error> {
        let mut seen = HashSet::new();
        for value in &values {
            let text = cell(value);
            if !seen.insert(text.clone()) {
                return Err(wrong(key, &format!("{text}, {text}"), "expected different values"));
            }
        }
        if values.is_empty() {
            Err(wrong(key, "", "expected at least one value"))
        } else {
            Ok(Axis::of_distinct(key, section, values))
        }
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The section of the scenario that has the key.
    pub(crate) fn section(&self) -> &str {
        &self.section
    }

    /// The values, as a scenario holds them.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

/// A value that a key does not take.
pub(crate) fn wrong(named: &str, found: &str, expected: &str) -> Error {
    Error::new(Kind::Value, format!("{}: {expected}, found \"{}\"; correct it", key(named), shown(found)))
}

/// Returns the values of a text.
fn split(section: &str, key: &str, text: &str) -> Result<Vec<Value>, Error> {
    let parts: Vec<&str> = if WHOLE.contains(&key) { vec![text] } else { text.split(',').map(str::trim).collect() };
    let mut values = Vec::new();
    for part in &parts {
        match part_values(section, key, part) {
            Ok(found) => values.extend(found),
            // The comma may be part of the value.
            Err(expected) => {
                return match read(section, key, text) {
                    Ok(value) => Ok(vec![value]),
                    // It has parts of its own, which say little alone.
                    Err(expected) if text.contains(':') && !part.contains("..") => Err(wrong(key, text, &expected)),
                    Err(_) => Err(wrong(key, part, &expected)),
                };
            }
        }
    }
    Ok(values)
}

/// Returns the values of a part of a list: those of a range, or one.
fn part_values(section: &str, key: &str, part: &str) -> Result<Vec<Value>, String> {
    match range(part).filter(|_| !WHOLE.contains(&key)) {
        Some(numbers) => {
            let numbers = numbers?.into_iter();
            numbers.map(|number| read(section, key, &number)).collect()
        }
        None => match read(section, key, part) {
            Err(expected) if expected.starts_with("expected one number, found a range") => {
                Err("expected a number, or a range of numbers FROM..TO:STEP".to_owned())
            }
            read => Ok(vec![read?]),
        },
    }
}

/// Returns the value of a text.
fn read(section: &str, key: &str, text: &str) -> Result<Value, String> {
    let switch = match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    let value = canonical(section, key, Value::String(text.to_owned()));
    match switch {
        Some(switch) => value.or_else(|_| canonical(section, key, Value::Bool(switch))),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(key: &str, texts: &[&str]) -> Vec<String> {
        let axis = Axis::read(key, texts.iter().copied()).expect("an axis");
        axis.values().iter().map(cell).collect()
    }

    fn refused(key: &str, text: &str) -> String {
        Axis::read(key, [text]).expect_err(text).to_string()
    }

    #[test]
    fn commas_separate_values_unless_they_are_part_of_one() {
        assert_eq!(cells("tp", &["1,2", "4"]), ["1", "2", "4"]);
        assert_eq!(cells("rate", &["1..5:2,1e1"]), ["1.0", "3.0", "5.0", "10.0"]);
        assert_eq!(cells("gpu", &["h100,h200"]), ["h100", "h200"]);
        assert_eq!(cells("expert_parallel", &["true,false"]), ["true", "false"]);
        assert_eq!(cells("requests", &["1_000,2000"]), ["1000", "2000"]);
        assert_eq!(
            cells("prompt", &["512,uniform:1..6", "lognormal:200,0.8"]),
            ["512", "uniform:1..6", "lognormal:200,0.8"]
        );
        assert_eq!(cells("prompt", &["128..384:128"]), ["128", "256", "384"]);
        assert_eq!(cells("priorities", &["0.8,0.2"]), ["0.8 0.2"]);
        assert_eq!(cells("strict", &["smoothed,inside"]), ["smoothed,inside"]);
    }

    #[test]
    fn wrong_values_are_rejected_with_their_key() {
        for (key, text, expected) in [
            ("tp", "1,x", "tp: expected a whole number"),
            ("tp", "1,0", "tp: expected a whole number of at least 1"),
            ("rate", "0..4:1", "rate: expected a positive, finite number"),
            ("rate", "1..4:0", "rate: expected a step above 0"),
            ("rate", "5,5.0", "expected different values, found \"5.0, 5.0\""),
            ("tp", "1,", "tp: expected a whole number"),
            ("requests", "10,01", "zeros before a number"),
            ("requests", "1,024", "1_024 is one number"),
            ("rate", "1,024", "1_024 is one number"),
            ("prompt", "lognormal:200,x", "found \"lognormal:200,x\""),
            ("rates", "1", "unknown key \"rates\" (nearest: rate)"),
            ("json", "true,false", "unknown key \"json\""),
        ] {
            let message = refused(key, text);
            assert!(message.contains(expected), "{key} {text}: {message}");
        }
    }
}
