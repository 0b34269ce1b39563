//! The batch of one step as lists of numbers and tuples.

use pyo3::prelude::*;
use pyo3::types::PyString;
use rooflut::step::{Chunk, DecodeGroup};

use crate::arrays::number;
use crate::error::{error, in_place_of, shown};
use crate::steps::chunk;

/// Reads `prefill`: new tokens, or tuples of them, the KV length and whether the prompt ends there.
pub(crate) fn chunks(list: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Chunk>> {
    items("prefill", list, |item| {
        let values = values(item);
        let (new, kv_len, is_last) = match values.as_slice() {
            [new] => (new, new, true),
            [new, kv_len] => (new, kv_len, true),
            [new, kv_len, is_last] => (new, kv_len, boolean("is_last", is_last)?),
            _ => {
                let found = shown(item);
                return Err(error(format!("expected new_tokens or (new_tokens, kv_len[, is_last]), found {found}")));
            }
        };
        let new = number("new_tokens", new, 0)?;
        chunk(new, number("kv_len", kv_len, 0)?, is_last).map_err(error)
    })
}

/// Reads `decode`: tuples of requests, the KV length of each and the drafted tokens of each.
pub(crate) fn groups(list: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<DecodeGroup>> {
    items("decode", list, |item| {
        let values = values(item);
        let (requests, kv_len, drafted) = match values.as_slice() {
            [requests, kv_len] => (requests, kv_len, 0),
            [requests, kv_len, drafted] => (requests, kv_len, number("drafted", drafted, 0)?),
            _ => {
                let found = shown(item);
                return Err(error(format!("expected (requests, kv_len[, drafted]), found {found}")));
            }
        };
        let requests = number("requests", requests, 0)?;
        let group = DecodeGroup::uniform(requests, number("kv_len", kv_len, 0)?);
        group.and_then(|group| group.with_drafted(drafted)).map_err(error)
    })
}

/// Reads each item of a list.
fn items<'py, T>(
    name: &str,
    list: Option<&Bound<'py, PyAny>>,
    read: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    if list.is_instance_of::<PyString>() || list.try_iter().is_err() {
        let found = shown(list);
        return Err(error(format!("{name}: expected a list, found {found}")));
    }
    let py = list.py();
    let read = |(place, item): (usize, PyResult<Bound<'py, PyAny>>)| {
        item.and_then(|item| read(&item))
            .map_err(|cause| in_place_of(cause, py, |cause| format!("{name}[{place}]: {}", cause.value(py))))
    };
    list.try_iter()?.enumerate().map(read).collect()
}

/// Returns the values of a tuple, a list or a row of an array, of which no item has more than three; of anything else,
/// itself.
fn values<'py>(item: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    let values = if item.is_instance_of::<PyString>() { None } else { item.try_iter().ok() };
    let values = values.and_then(|values| values.take(4).collect::<PyResult<_>>().ok());
    values.unwrap_or_else(|| vec![item.clone()])
}

fn boolean(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| {
        let found = shown(value);
        error(format!("{name}: expected True or False, found {found}"))
    })
}
