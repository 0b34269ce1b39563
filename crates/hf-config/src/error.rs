//! Why a `config.json` is refused.

use std::error::Error;
use std::fmt;

use rooflut::model::SpecError;

use crate::keys::TOP_K;

/// Why a `config.json` is refused. Keys are named with those of the objects around them.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not a JSON object.
    Json(serde_json::Error),
    /// A value has the wrong type.
    Type {
        /// Its key.
        key: String,
        /// The type that was expected.
        expected: &'static str,
        /// The value, or the type of a long one.
        found: String,
    },
    /// A number is missing.
    Missing {
        /// Its key.
        key: &'static str,
    },
    /// The model has state-space or recurrent layers.
    Architecture {
        /// The key that says so.
        key: &'static str,
        /// The architecture.
        name: String,
    },
    /// The model has a feature that rooflut does not model.
    Unsupported {
        /// The key that says so.
        key: &'static str,
        /// The feature.
        feature: String,
    },
    /// The dimensions contradict each other or are out of range. Its fields are keys of the file.
    Spec(SpecError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Json(error) => write!(
                f,
                "{error}; expected the config.json of a Hugging Face model"
            ),
            ConfigError::Type {
                key,
                expected,
                found,
            } => write!(
                f,
                "{key}: expected {expected}, found {found}; correct the file"
            ),
            ConfigError::Missing { key } => write!(
                f,
                "{key}: expected a number, found none; add it, or use the config.json of a \
                 decoder-only transformer"
            ),
            ConfigError::Architecture { key, name } => write!(
                f,
                "{key}: the architecture {name} is not modelled (state-space or recurrent layers); \
                 use a decoder-only transformer"
            ),
            ConfigError::Unsupported { key, feature } => write!(
                f,
                "{key}: {feature} cannot be modelled; use a model of full attention, gated FFNs or \
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

impl Error for ConfigError {}
