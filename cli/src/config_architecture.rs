//! Architectures of a `config.json` that are not modelled at all.

use serde_json::{Map, Value};

use crate::config_error::ConfigError;

/// The model types with layers that have no attention, apart from those whose names say so.
const STATE_SPACE_TYPES: [&str; 12] = [
    "bamba",
    "falcon_h1",
    "granitemoehybrid",
    "jamba",
    "lfm2",
    "lfm2_moe",
    "nemotron_h",
    "plamo2",
    "recurrent_gemma",
    "xlstm",
    "zamba",
    "zamba2",
];
/// What the names of others contain.
const STATE_SPACE_NAMES: [&str; 2] = ["mamba", "rwkv"];
/// Keys that only such models have.
const STATE_SPACE_KEYS: [&str; 7] = [
    "hybrid_override_pattern",
    "linear_conv_kernel_dim",
    "mamba_d_ssm",
    "mamba_d_state",
    "ssm_cfg",
    "ssm_state_size",
    "state_size",
];

/// Refuses models with layers that have no attention.
pub(crate) fn refuse_state_space(object: &Map<String, Value>) -> Result<(), ConfigError> {
    let kind = object.get("model_type").and_then(Value::as_str);
    let is_state_space = |kind: &&str| {
        STATE_SPACE_TYPES.contains(kind) || STATE_SPACE_NAMES.iter().any(|name| kind.contains(name))
    };
    if let Some(kind) = kind.filter(is_state_space) {
        return Err(ConfigError::Architecture {
            key: "model_type",
            name: kind.to_owned(),
        });
    }
    let present = |key: &&str| object.get(*key).is_some_and(|value| !value.is_null());
    match STATE_SPACE_KEYS.into_iter().find(present) {
        Some(key) => Err(ConfigError::Architecture {
            key,
            name: kind.unwrap_or("of a state-space model").to_owned(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_space_architectures_are_not_modelled() {
        for (text, expected) in [
            (
                r#"{"model_type": "mamba2", "hidden_size": 2560, "state_size": 128}"#,
                "model_type: the architecture mamba2 is not modelled",
            ),
            (
                r#"{"model_type": "jamba"}"#,
                "model_type: the architecture jamba is not modelled",
            ),
            (
                r#"{"d_model": 2560, "ssm_cfg": {}}"#,
                "ssm_cfg: the architecture of a state-space model is not modelled",
            ),
        ] {
            let object = serde_json::from_str(text).unwrap();
            let message = refuse_state_space(&object).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
        let llama = serde_json::from_str(r#"{"model_type": "llama", "ssm_cfg": null}"#).unwrap();
        assert!(refuse_state_space(&llama).is_ok());
    }
}
