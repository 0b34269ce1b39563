//! Lists of values in scenario files.

use rooflut_error::{Error, Kind};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::text::{in_order, line_at};
use crate::value::shortened;

/// A key of the table `[sweep]`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileList {
    /// The key, with underscores.
    pub key: String,
    /// Its line, from 1.
    pub line: u64,
    /// Its value: a list, or a text or number. Numbers are text as in the file.
    pub value: Value,
}

impl FileList {
    /// Returns the lists of a table, in the order of the file.
    pub(crate) fn all(text: &str, table: &DeTable<'_>) -> Result<Vec<FileList>, Error> {
        let lists = in_order(table).into_iter().map(|(name, value)| {
            let line = line_at(text, name.span().start);
            let value = json(value.get_ref(), &|digits| digits.into()).ok_or_else(|| {
                let found = shortened(name.get_ref());
                let expected = "expected a list of numbers and texts, or a text such as \"1..40:2\"";
                Error::new(Kind::Value, format!("{found}: {expected}; correct it")).at_line(line)
            })?;
            let key = name.get_ref().replace('-', "_");
            Ok(FileList { key, line, value })
        });
        lists.collect()
    }
}

/// Returns a value as JSON, with `number` of the digits of each number; `None` for tables and dates.
pub(crate) fn json(value: &DeValue<'_>, number: &dyn Fn(&str) -> Value) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(digits) if digits.radix() != 10 => {
            number(&i64::from_str_radix(digits.as_str(), digits.radix()).ok()?.to_string())
        }
        DeValue::Integer(digits) => number(digits.as_str()),
        DeValue::Float(digits) => number(digits.as_str()),
        DeValue::Boolean(switch) => (*switch).into(),
        DeValue::Array(values) => {
            let values = values.iter().map(|value| json(value.get_ref(), number));
            Value::Array(values.collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}
