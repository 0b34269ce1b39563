//! Dimensions and formats that a `config.json` is read as, and errors that refuse it.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "test code outside of test functions")]

mod dimensions;
mod formats;
mod heads;
mod layers;
mod refusals;

use rooflut::model::{Attention, Gqa, ModelSpec};
use rooflut_hf_config::{HfModel, Options, read};
use serde_json::{Value, json};

/// Returns an object with other values.
fn with(mut object: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("an object") };
    object.as_object_mut().unwrap().extend(changes);
    object
}

/// Llama-3.1-8B with other values.
fn config(changes: Value) -> Value {
    let config = json!({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128_256, "max_position_embeddings": 131_072});
    with(config, changes)
}

/// Keys of a Qwen3.5 with others.
fn delta(changes: Value) -> Value {
    let keys = json!({"model_type": "qwen3_5_text", "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128});
    with(keys, changes)
}

fn model(config: &Value) -> HfModel {
    read(config.to_string(), Options::default()).unwrap()
}

fn spec(changes: Value) -> ModelSpec {
    model(&config(changes)).spec
}

fn heads(spec: &ModelSpec) -> Gqa {
    match spec.layers[0].attention {
        Attention::Gqa(heads) => heads,
        other => panic!("{other:?}"),
    }
}

fn refusal(text: impl AsRef<[u8]>) -> String {
    let refused = read(text, Options::default());
    refused.unwrap_err().to_string()
}

/// A small model with latent attention.
fn latent(changes: Value) -> Value {
    let latent = json!({"model_type": "deepseek_v3", "first_k_dense_replace": 1, "n_routed_experts": 8,
        "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 1024, "q_lora_rank": 768,
        "kv_lora_rank": 256, "qk_nope_head_dim": 96, "qk_rope_head_dim": 32, "v_head_dim": 64});
    config(with(latent, changes))
}
