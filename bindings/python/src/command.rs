//! The command line.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::border::{compute, interruptible};

/// Returns what the command prints with these arguments.
#[pyfunction]
pub(crate) fn answer(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<String> {
    let arguments = [OsString::from("rooflut")].into_iter().chain(arguments);
    let arguments: Vec<OsString> = arguments.collect();
    interruptible(py, move |stop| rooflut_cli::answer(arguments, stop).map_err(|error| error.to_string()))
}

/// Runs the command with these arguments, its name first, and returns its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    compute(py, || rooflut_cli::main_with(arguments))
}
