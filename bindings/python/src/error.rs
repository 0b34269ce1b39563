//! The exception of the package.

use std::fmt::Display;

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{PyErr, create_exception};

/// Bytes of a value that a message repeats at most.
const SHORT: usize = 80;

create_exception!(
    rooflut,
    RooflutError,
    PyValueError,
    "An input that cannot be answered; the message says what was found, what was expected and what to do."
);

/// Returns an exception with the message of an error.
pub(crate) fn error(message: impl Display) -> PyErr {
    RooflutError::new_err(message.to_string())
}

/// Returns an exception with a message in place of its cause; an interrupt stays what it is.
pub(crate) fn in_place_of(cause: PyErr, py: Python<'_>, message: impl FnOnce(&PyErr) -> String) -> PyErr {
    if cause.is_instance_of::<PyException>(py) { error(message(&cause)) } else { cause }
}

/// Returns a number, a text or a short list as Python writes it; of other values, the name of their type.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let is_plain = value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyList>()
        || value.is_none();
    let written = if is_plain { value.repr().ok() } else { None };
    match written.map(|written| written.to_string_lossy().into_owned()) {
        Some(written) if written.len() <= SHORT => written,
        _ => value
            .get_type()
            .name()
            .map_or_else(|_| "another type".to_owned(), |name| name.to_string_lossy().into_owned()),
    }
}
