//! Reports as HTML.

use pyo3::prelude::*;
use rooflut_html::{Document, Input};

use crate::error::error;

/// Returns the report of an answer or of rows, which ``name`` names, as one HTML file.
#[pyfunction]
pub(crate) fn html(py: Python<'_>, name: &str, text: &str) -> PyResult<String> {
    py.detach(|| document(name, text)).map_err(error)
}

fn document(name: &str, text: &str) -> Result<String, String> {
    let input = Input::read(name, text.as_bytes()).map_err(|error| error.to_string())?;
    let mut html = Vec::new();
    Document::new(vec![input]).write(&mut html).map_err(|error| error.to_string())?;
    String::from_utf8(html).map_err(|error| error.to_string())
}
