//! Why a `config.json` is refused.

use std::error::Error;
use std::fmt;

use rooflut::Invalid;

/// Why a `config.json` is refused. A key is named together with the keys of the enclosing objects.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not a JSON object.
    Json(serde_json::Error),
    /// The text, or that of a file beside it, takes too much memory.
    TooLarge(rooflut_error::Error),
    /// The text of a file beside the `config.json` is not a JSON object.
    Beside {
        /// The name of the file.
        file: &'static str,
        /// The syntax error.
        error: serde_json::Error,
    },
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
        key: String,
    },
    /// The type of the model is not known.
    UnknownType {
        /// The type; `None` if the file has none.
        found: Option<String>,
    },
    /// A key that shapes the model is not known for models of this type.
    UnknownKey {
        /// The key.
        key: String,
        /// The type of the model.
        model_type: String,
    },
    /// The model has a feature that rooflut does not model.
    Unsupported {
        /// The key that says so.
        key: String,
        /// The feature.
        feature: String,
    },
    /// The weights or KV entries have a format that rooflut does not model.
    Format {
        /// The key that says so.
        key: String,
        /// The format.
        format: String,
        /// The option that replaces it.
        remedy: Remedy,
    },
    /// A list with an entry for each layer has more or fewer.
    Pattern {
        /// Its key.
        key: String,
        /// Number of its entries.
        found: usize,
        /// Number of layers.
        layers: u32,
    },
    /// The dimensions contradict each other or are out of range. Its fields are keys of the file.
    Spec(Invalid),
}

impl ConfigError {
    /// A dimension that is zero.
    pub(crate) fn zero(key: &'static str) -> ConfigError {
        ConfigError::Spec(Invalid::new(key, "expected a positive number, found 0", &[]))
    }

    /// The key in spite of which a Llama may be assumed.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            ConfigError::UnknownType { .. } => Some("model_type".to_owned()),
            ConfigError::UnknownKey { key, .. } | ConfigError::Unsupported { key, .. } => Some(key.clone()),
            _ => None,
        }
    }

    /// Returns the option that is worth a try in spite of this error. (A Llama may be assumed in spite of an
    /// unsupported feature too, but is another model.)
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            ConfigError::UnknownType { .. } | ConfigError::UnknownKey { .. } => Some(Remedy::AssumeLlama),
            ConfigError::Format { remedy, .. } => Some(*remedy),
            _ => None,
        }
    }
}

/// An option that reads a file in spite of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// [`Options::assuming_llama`](crate::Options::assuming_llama).
    AssumeLlama,
    /// [`Options::with_weight_dtype`](crate::Options::with_weight_dtype).
    WeightDtype,
    /// [`Options::with_kv_dtype`](crate::Options::with_kv_dtype).
    KvDtype,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Json(error) => write!(f, "{error}; expected the config.json of a Hugging Face model"),
            ConfigError::TooLarge(error) => write!(f, "{error}"),
            ConfigError::Beside { file, error } => {
                write!(f, "{file}: {error}; correct or remove the file")
            }
            ConfigError::Type { key, expected, found } => {
                write!(f, "{key}: expected {expected}, found {found}; correct the file")
            }
            ConfigError::Missing { key } => write!(
                f,
                "{key}: expected a number, found none; check that this is the whole config.json of \
                 a decoder-only transformer"
            ),
            ConfigError::UnknownType { found: Some(found) } => write!(
                f,
                "model_type: layers of type \"{found}\" are not known; use a model of a known \
                 type, or read it as a Llama"
            ),
            ConfigError::UnknownType { found: None } => write!(
                f,
                "model_type: expected the type of the model, such as \"llama\", found none; \
                 add it, or read the file as a Llama's"
            ),
            ConfigError::UnknownKey { key, model_type } => write!(
                f,
                "{key}: this key shapes the model, but is not known for models of type \
                 \"{model_type}\"; use a model without it, or read it as a Llama"
            ),
            ConfigError::Unsupported { key, feature } => {
                write!(f, "{key}: {feature} cannot be modelled yet; use a model without it")
            }
            ConfigError::Format { key, format, .. } => {
                write!(f, "{key}: {format} cannot be modelled yet; choose a format to model in its place")
            }
            ConfigError::Pattern { key, found, layers } => {
                write!(f, "{key}: expected an entry for each of the {layers} layers, found {found}; correct the file")
            }
            ConfigError::Spec(error) => write!(f, "{error}; correct the file"),
        }
    }
}

impl Error for ConfigError {}
