//! Lists of values in scenario files.

use rooflut_error::{Error, Kind};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::text::line_at;
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
        let mut items: Vec<_> = table.iter().collect();
        items.sort_by_key(|(name, _)| name.span().start);
        let lists = items.into_iter().map(|(name, value)| {
            let line = line_at(text, name.span().start);
            let value = json(value.get_ref()).ok_or_else(|| {
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

/// Returns a value as JSON; `None` for tables and dates.
fn json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) if number.radix() != 10 => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            number.to_string().into()
        }
        DeValue::Integer(number) => number.as_str().into(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(switch) => (*switch).into(),
        DeValue::Array(values) => {
            let values = values.iter().map(|value| json(value.get_ref()));
            Value::Array(values.collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}
