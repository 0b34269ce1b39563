//! The model that `--model` names.

use std::path::Path;
use std::{fmt, fs};

use rooflut::hardware::Dtype;
use rooflut::model::{self, CATALOG, ModelSpec};
use rooflut::step::compat::CompatSpec;
use rooflut_hf_config::{Keys, Window};
use rooflut_nearest::{hint, nearest};

use crate::error::Error;

/// A model and its name.
pub(crate) struct NamedModel {
    /// Its short name, or the path of its file.
    pub(crate) name: String,
    /// Its dimensions.
    pub(crate) spec: ModelSpec,
    /// Its dimensions for the latency models of InferSim, BLIS and the calibration.
    pub(crate) compat: CompatSpec,
    /// The format of `--dtype`, which replaces that of its weights.
    pub(crate) dtype: Option<Dtype>,
    /// The window of its attention, which is not modelled.
    pub(crate) window: Option<Window>,
    /// The keys of its dimensions in its file.
    pub(crate) keys: Option<Keys>,
}

impl NamedModel {
    /// Returns the model with weights of `dtype`, if one is given.
    pub(crate) fn with_weights(self, dtype: Option<Dtype>) -> NamedModel {
        let spec = match dtype {
            Some(dtype) => self.spec.with_weight_dtype(dtype),
            None => self.spec,
        };
        NamedModel {
            spec,
            dtype,
            ..self
        }
    }
}

impl fmt::Display for NamedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.dtype {
            Some(dtype) => write!(f, " ({dtype} weights)"),
            None => Ok(()),
        }
    }
}

/// Finds a built-in model by name or Hugging Face id, or reads the `config.json` at this path (or in this
/// folder).
pub(crate) fn find(name: &str) -> Result<NamedModel, Error> {
    if let Some(entry) = model::find(name) {
        return Ok(NamedModel {
            name: entry.name.to_owned(),
            spec: entry.spec,
            compat: entry.into(),
            dtype: None,
            window: None,
            keys: None,
        });
    }
    let mut path = Path::new(name).to_path_buf();
    if path.is_dir() {
        path.push("config.json");
    }
    if !path.exists() && path.extension().is_none_or(|extension| extension != "json") {
        return Err(unknown(name));
    }
    let text = fs::read_to_string(&path).map_err(Error::reading(&path))?;
    let config =
        rooflut_hf_config::read(&text).map_err(|error| Error::in_file(&path, None, error))?;
    let compat = CompatSpec::from(&config.spec);
    Ok(NamedModel {
        name: name.to_owned(),
        spec: config.spec,
        compat: match config.dense_intermediate {
            Some(size) => compat.with_dense_intermediate(size),
            None => compat,
        },
        dtype: None,
        window: config.window,
        keys: Some(config.keys),
    })
}

fn unknown(name: &str) -> Error {
    let known = CATALOG.iter().flat_map(|entry| {
        let ids = entry
            .aliases
            .iter()
            .filter(|id| name.contains('/') == id.contains('/'));
        let own = (!name.contains('/')).then_some(&entry.name);
        ids.chain(own).copied()
    });
    Error::new(format!(
        "unknown model \"{name}\"{}; `rooflut models` lists all, or give the path of a config.json",
        hint(&nearest(name, known))
    ))
}
