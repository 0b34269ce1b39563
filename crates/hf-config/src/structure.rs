//! Keys that shape the model and were not read.

use serde_json::Value;

use crate::object::{Object, shown};

/// Parts of keys that shape a model.
const SHAPING: &[&str] = &[
    "attention_type",
    "attn_layer",
    "attn_type",
    "block_configs",
    "block_type",
    "chunk_size",
    "compress_",
    "conv_kernel",
    "conv_l_cache",
    "cross_attention",
    "dense_layers",
    "embed_proj_dim",
    "expert",
    "ffn_dim",
    "head_dim",
    "index_head",
    "index_n_heads",
    "index_topk",
    "intermediate_size",
    "key_value_heads",
    "kv_heads",
    "kv_shared",
    "latent",
    "layer_freq",
    "layer_type",
    "layers_block",
    "linear_attn",
    "linear_conv",
    "linear_num",
    "lora_rank",
    "lru_",
    "mamba",
    "moe",
    "pattern",
    "per_layer",
    "sparse",
    "ssm",
    "swa_",
    "use_cla",
    "use_mla",
    "window",
];
/// Parts of keys that match one of [`SHAPING`] but set how tokens are routed in training.
const HARMLESS: &[&str] = &[
    "expert_bias",
    "expert_capacity",
    "moe_aux",
    "moe_capacity",
    "moe_dropout",
    "moe_drop_",
    "moe_gate",
    "moe_jitter",
    "moe_loss",
    "moe_mode",
    "moe_norm",
    "moe_router",
    "moe_use_",
];

/// Returns the keys that shape the model and were not asked for, unless their values switch them off.
pub(crate) fn unread(config: &Object<'_>) -> Vec<String> {
    let shapes = |key: &str| {
        let key = key.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| key.contains(part));
        has(SHAPING) && !has(HARMLESS)
    };
    let unread = config.unread().filter(|(key, value)| shapes(key) && !is_off(value));
    unread.map(|(key, _)| config.name(&shown(key))).collect()
}

/// Whether a value means that the model has nothing of the kind.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() || text == "full_attention",
        Value::Array(list) => list.iter().all(is_off),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_shapes_the_model_is_refused_unless_it_is_off_or_was_asked_for() {
        for (value, is_refused) in [
            (json!({"moe_k": 6}), true),
            (json!({"o_lora_rank": 1024}), true),
            (json!({"compress_ratios": [0, 4]}), true),
            (json!({"hybrid_layer_pattern": [0, 1]}), true),
            (json!({"swa_num_key_value_heads": 8}), true),
            (json!({"v_head_dim": 128}), true),
            (json!({"window_size": 256}), true),
            (json!({"conv_L_cache": 3}), true),
            (json!({"attention_types": [[["global", "local"], 12]]}), true),
            (json!({"attention_types": ["full_attention"]}), false),
            (json!({"num_experts": 0}), false),
            (json!({"is_moe": false}), false),
            (json!({"moe_k": null}), false),
            (json!({"compress_ratios": []}), false),
            (json!({"moe_router_scaling_factor": 3.0}), false),
            (json!({"for_llm_compressor": true}), false),
            (json!({"rope_theta": 10_000}), false),
        ] {
            let config = Object::outermost("outer.", value.as_object().unwrap());
            let (key, _) = value.as_object().unwrap().iter().next().unwrap();
            let expected = is_refused.then(|| format!("outer.{key}"));
            assert_eq!(unread(&config), Vec::from_iter(expected));
        }
        let value = json!({"num_experts": 8});
        let config = Object::outermost("", value.as_object().unwrap());
        config.dimension(&["num_experts"]).unwrap();
        assert_eq!(unread(&config), [""; 0]);
    }
}
