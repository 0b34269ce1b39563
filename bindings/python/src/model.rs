//! Models as Hugging Face describes them.

use pyo3::prelude::*;
use rooflut_hf_config::Options;

use crate::border::compute;
use crate::error::error;

/// Reads the text of a ``config.json`` and returns the model's dimensions as JSON.
#[pyfunction]
#[pyo3(signature = (config, hf_quant_config = None, generation_config = None, assume_llama = false))]
pub(crate) fn read_config(
    py: Python<'_>,
    config: &str,
    hf_quant_config: Option<&str>,
    generation_config: Option<&str>,
    assume_llama: bool,
) -> PyResult<String> {
    let options = if assume_llama { Options::default().assuming_llama() } else { Options::default() };
    let options = options
        .with_hf_quant_config(hf_quant_config.map(str::as_bytes))
        .with_generation_config(generation_config.map(str::as_bytes));
    let model = compute(py, || rooflut_hf_config::read(config.as_bytes(), options))?.map_err(error)?;
    let json = serde_json::json!({
        "spec": model.spec,
        "kv_dtype": model.kv_dtype,
        "ignored": model.ignored,
    });
    serde_json::to_string(&json).map_err(error)
}
