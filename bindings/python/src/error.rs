//! The exception of the package.

use std::fmt::Display;

use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, create_exception};

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
