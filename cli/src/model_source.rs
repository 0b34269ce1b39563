//! The model that `--model` names.

use std::fs;
use std::path::Path;

use rooflut::model::{self, CATALOG};
use rooflut::step::compat::CompatSpec;
use rooflut_hf_config::{Keys, Options, Window};
use rooflut_nearest::{hint, nearest};
use rooflut_scenario::{Model, RunError};

use crate::error::Error;

/// A model, and what is known of it beside its dimensions.
pub(crate) struct NamedModel {
    /// Its short name, or the path of its file, and its dimensions.
    pub(crate) model: Model,
    /// Its dimensions for the latency models of InferSim, BLIS and the calibration.
    pub(crate) compat: CompatSpec,
    /// The window of its attention, which is not modelled.
    pub(crate) window: Option<Window>,
    /// The keys of its dimensions in its file.
    keys: Option<Keys>,
}

/// Finds a built-in model by name or Hugging Face id, or reads the `config.json` at this path (or in this
/// folder).
pub(crate) fn find(name: &str) -> Result<NamedModel, Error> {
    if let Some(entry) = model::find(name) {
        return Ok(NamedModel {
            model: Model::new(entry.name, entry.spec),
            compat: entry.into(),
            window: entry.window.map(|key| Window {
                key,
                tokens: entry.spec.max_model_len,
            }),
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
    let config = rooflut_hf_config::read(&text, Options::default())
        .map_err(|error| Error::in_file(&path, None, error))?;
    let compat = CompatSpec::from(&config.spec);
    Ok(NamedModel {
        model: Model::new(name, config.spec),
        compat: match config.dense_intermediate {
            Some(size) => compat.with_dense_intermediate(size),
            None => compat,
        },
        window: config.window,
        keys: Some(config.keys),
    })
}

/// Returns an error with dimensions as the files of `models` call them.
pub(crate) fn with_keys(error: RunError, models: &[&NamedModel]) -> Error {
    let (model, error, possible) = match error {
        RunError::Tp {
            model,
            error,
            possible,
        } => (model, error, possible),
        error => return error.into(),
    };
    let named = models.iter().find(|named| named.model.name == model.name);
    let error = match named.and_then(|named| named.keys.as_ref()) {
        Some(keys) => keys.rename(error),
        None => error,
    };
    Error::from(RunError::Tp {
        model,
        error,
        possible,
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
