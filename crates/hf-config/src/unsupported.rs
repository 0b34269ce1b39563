//! Refuses architectures that the step model does not know.

use crate::error::ConfigError;
use crate::object::Object;

/// Model types with layers that have no attention, apart from [`STATE_SPACE_NAMES`].
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
/// Parts of the names of other such model types.
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
/// Model types whose FFN has no gate.
const UNGATED_TYPES: [&str; 10] = [
    "bloom",
    "falcon",
    "gpt2",
    "gpt_bigcode",
    "gpt_neox",
    "gptj",
    "mpt",
    "opt",
    "phi",
    "starcoder2",
];

/// Refuses models with state-space or recurrent layers.
pub(crate) fn refuse_state_space(config: &Object<'_>) -> Result<(), ConfigError> {
    let model_type = config.text("model_type")?;
    let is_state_space = |name: &&str| {
        STATE_SPACE_TYPES.contains(name) || STATE_SPACE_NAMES.iter().any(|part| name.contains(part))
    };
    let (key, name) = match model_type.filter(is_state_space) {
        Some(name) => ("model_type", name),
        None => match STATE_SPACE_KEYS.into_iter().find(|key| config.has(key)) {
            Some(key) => (key, model_type.unwrap_or("of a state-space model")),
            None => return Ok(()),
        },
    };
    Err(ConfigError::Architecture {
        key,
        name: name.to_owned(),
    })
}

/// Refuses latent or linear attention, and FFNs without a gate.
pub(crate) fn refuse_layers(config: &Object<'_>) -> Result<(), ConfigError> {
    let refuse = |key, feature| Err(ConfigError::Unsupported { key, feature });
    if config.has("kv_lora_rank") {
        return refuse("kv_lora_rank", "multi-head latent attention".to_owned());
    }
    let is_other = |kind: &&str| !kind.ends_with("_attention") || *kind == "linear_attention";
    if let Some(kind) = config.texts("layer_types")?.into_iter().find(is_other) {
        return refuse("layer_types", format!("layers of type {kind}"));
    }
    let is_ungated = |name: &&str| UNGATED_TYPES.contains(name);
    if let Some(name) = config.text("model_type")?.filter(is_ungated) {
        return refuse("model_type", format!("the ungated FFN of {name}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        let file = serde_json::from_str(text).unwrap();
        let config = Object::outermost(&file);
        let checked = refuse_state_space(&config).and_then(|()| refuse_layers(&config));
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn architectures_that_are_not_modelled_are_refused_by_their_key() {
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
            (
                r#"{"kv_lora_rank": 512}"#,
                "kv_lora_rank: multi-head latent attention cannot be modelled",
            ),
            (
                r#"{"layer_types": ["full_attention", "linear_attention"]}"#,
                "layer_types: layers of type linear_attention cannot be modelled",
            ),
            (
                r#"{"model_type": "gpt2"}"#,
                "model_type: the ungated FFN of gpt2 cannot be modelled",
            ),
        ] {
            let message = refused(text).unwrap();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn attention_with_a_window_and_keys_without_a_value_are_accepted() {
        let layers = r#"{"layer_types": ["sliding_attention", "full_attention"]}"#;
        assert_eq!(refused(layers), None);
        let llama = r#"{"model_type": "llama", "ssm_cfg": null, "kv_lora_rank": null}"#;
        assert_eq!(refused(llama), None);
    }
}
