//! Why a `config.json` does not give a model.

use std::fmt;

use rooflut::model::SpecError;

use crate::config_keys::TOP_K;

/// Why a `config.json` does not give a model. Names are keys of the file.
#[derive(Debug)]
pub(crate) enum ConfigError {
    /// It is not a JSON object.
    Json(serde_json::Error),
    /// A value has another type.
    WrongType {
        /// Its key, with those of the objects around it.
        key: String,
        /// What was found and expected.
        error: serde_json::Error,
    },
    /// A number is missing.
    Missing(&'static str),
    /// Layers without attention.
    Architecture {
        /// The key that says so.
        key: &'static str,
        /// What the architecture is called.
        name: String,
    },
    /// It describes something that the step model does not know.
    Unsupported {
        /// The key that says so.
        field: &'static str,
        /// What that means.
        what: String,
    },
    /// The dimensions cannot be.
    Spec(SpecError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Json(error) => {
                write!(
                    f,
                    "{error}; expected the config.json of a Hugging Face model"
                )
            }
            ConfigError::WrongType { key, error } => {
                let error = error.to_string().replace("u32", "a whole number");
                write!(f, "{key}: {error}; correct the file")
            }
            ConfigError::Missing(field) => write!(
                f,
                "{field}: expected a number, found none; add it, or use the config.json of a \
                 decoder-only transformer"
            ),
            ConfigError::Architecture { key, name } => write!(
                f,
                "{key}: the architecture {name} is not modelled (state-space or recurrent layers); \
                 use a decoder-only transformer"
            ),
            ConfigError::Unsupported { field, what } => write!(
                f,
                "{field}: {what} cannot be modelled; use a model of full attention, gated FFNs or \
                 experts, and layers that are all alike"
            ),
            ConfigError::Spec(SpecError::TopK { top_k, experts }) => write!(
                f,
                "{TOP_K}: expected at most the {experts} experts, found {top_k}; correct the file"
            ),
            ConfigError::Spec(error) => write!(f, "{error}; correct the file"),
        }
    }
}
