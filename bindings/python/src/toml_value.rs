//! Python's values as TOML.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyTuple};
use toml::{Table, Value};

use crate::error::{error, shown};

/// Lists and dictionaries in each other; more than any key takes, and few enough for the stack.
const LEVELS: u32 = 8;

/// Returns a dictionary as a table, without the keys whose value is `None`.
pub(crate) fn table(given: &Bound<'_, PyDict>) -> PyResult<Table> {
    table_in(given, LEVELS)
}

fn table_in(given: &Bound<'_, PyDict>, levels: u32) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in given {
        let name =
            key.extract::<String>().map_err(|_| error(format!("expected names of keys, found {}", shown(&key))))?;
        if !value.is_none() {
            let value = toml_value(&name, &value, levels)?;
            table.insert(name, value);
        }
    }
    Ok(table)
}

/// Returns a value that has at most `levels` of lists and dictionaries in it.
fn toml_value(key: &str, value: &Bound<'_, PyAny>, levels: u32) -> PyResult<Value> {
    let inside = || {
        let inside = levels.checked_sub(1);
        inside.ok_or_else(|| {
            error(format!("{key}: expected at most {LEVELS} lists and dictionaries in each other, found more"))
        })
    };
    // A bool, also NumPy's, is a number, too: it comes first.
    if let Ok(truth) = value.extract() {
        return Ok(Value::Boolean(truth));
    }
    if value.is_instance_of::<PyString>() {
        let text = value.extract();
        return text.map(Value::String).map_err(|_| {
            let found = shown(value);
            error(format!("{key}: expected text that is UTF-8, found {found}"))
        });
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return table_in(dict, inside()?).map(Value::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let levels = inside()?;
        let items = value.try_iter()?.map(|item| toml_value(key, &item?, levels));
        return items.collect::<PyResult<Vec<Value>>>().map(Value::Array);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.hasattr("__fspath__")? {
        return toml_value(key, &value.call_method0("__fspath__")?, inside()?);
    }
    // Whole numbers, those of NumPy too; TOML has no larger ones, and the key says what is too large for it.
    if let Ok(number) = value.call_method0("__index__") {
        return Ok(match number.extract::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::String(number.str()?.extract()?),
        });
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Value::Float(number));
    }
    Err(error(format!(
        "{key}: expected a number, a string, a list or a dictionary, found {}; convert it",
        shown(value)
    )))
}
