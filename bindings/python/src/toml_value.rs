//! Python's values as TOML.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString, PyTuple};
use toml::{Table, Value};

use crate::error::error;

/// Returns a dictionary as a table, without the keys whose value is `None`.
pub(crate) fn table(given: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in given {
        let key: String = key
            .extract()
            .map_err(|_| error(format!("expected names of keys, found {key}")))?;
        if !value.is_none() {
            let value = toml_value(&key, &value)?;
            table.insert(key, value);
        }
    }
    Ok(table)
}

fn toml_value(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A bool is a number, too: it comes first.
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return table(dict).map(Value::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| toml_value(key, &item?));
        return items.collect::<PyResult<Vec<Value>>>().map(Value::Array);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.hasattr("__fspath__")? {
        return Ok(Value::String(value.call_method0("__fspath__")?.extract()?));
    }
    // Whole numbers, those of NumPy too; TOML has no larger ones, and the key says what is too large for it.
    if value.hasattr("__index__")? {
        return Ok(match value.extract::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::String(value.call_method0("__index__")?.str()?.extract()?),
        });
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Value::Float(number));
    }
    Err(error(format!(
        "{key}: expected a number, a string, a list or a dictionary, found {}; convert it",
        value.get_type()
    )))
}
