//! Objects of a `config.json`, read so that errors name the key.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::config_error::ConfigError;

/// The object of that key, if it is there.
pub(crate) fn child(
    prefix: &str,
    object: &Map<String, Value>,
    key: &str,
) -> Result<Option<Map<String, Value>>, ConfigError> {
    let value = object.get(key).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| ConfigError::WrongType {
        key: format!("{prefix}{key}"),
        error,
    })
}

/// Reads an object all of whose fields are optional; an error names the key below `prefix`.
pub(crate) fn typed<T: DeserializeOwned>(
    prefix: &str,
    object: &Map<String, Value>,
) -> Result<T, ConfigError> {
    let read = |object| serde_json::from_value::<T>(Value::Object(object));
    read(object.clone()).map_err(|error| {
        // The reader does not say which one it was: the one that alone fails, too.
        let alone = |(key, value): (&String, &Value)| {
            let error = read(Map::from_iter([(key.clone(), value.clone())])).err()?;
            Some((format!("{prefix}{key}"), error))
        };
        match object.iter().find_map(alone) {
            Some((key, error)) => ConfigError::WrongType { key, error },
            None => ConfigError::Json(error),
        }
    })
}
