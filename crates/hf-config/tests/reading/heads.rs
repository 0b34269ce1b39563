//! EAGLE-3 heads.

use crate::{config, latent, refusal, spec, with};
use rooflut::hardware::Dtype;
use rooflut::model::{Attention, Ffn, ModelSpec};
use rooflut_hf_config::{Options, read};
use serde_json::{Value, json};

fn head(changes: Value) -> Value {
    let keys = json!({"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32_000});
    config(with(keys, changes))
}

fn dimensions(config: &Value) -> [u32; 3] {
    let head = crate::model(config).spec.eagle3.unwrap();
    [head.target_hidden, head.aux_states, head.draft_vocab]
}

#[test]
fn a_head_has_a_layer_and_dimensions_of_its_target() {
    let spec = crate::model(&head(json!({}))).spec;
    let expected =
        ModelSpec::builder().hidden(4096).layers(1).q_heads(32).kv_heads(8).head_dim(128).intermediate(14_336);
    let expected = expected.target_hidden(4096).aux_states(3).draft_vocab(32_000).vocab(128_256).max_model_len(131_072);
    assert_eq!(spec, expected.build().unwrap());
    assert_eq!(self::spec(json!({"architectures": ["LlamaForCausalLM"]})).eagle3, None);
}

#[test]
fn what_a_file_leaves_out_is_that_of_the_head_or_of_three_states() {
    for (changes, expected) in [
        (json!({"draft_vocab_size": null}), [4096, 3, 128_256]),
        (json!({"target_hidden_size": 7168}), [7168, 3, 32_000]),
        (json!({"num_aux_hidden_states": 5}), [4096, 5, 32_000]),
        (json!({"eagle_aux_hidden_state_layer_ids": [1, 9]}), [4096, 2, 32_000]),
        (json!({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 9, 17, 25]}}), [4096, 4, 32_000]),
        (json!({"eagle_config": {"eagle_aux_hidden_state_layer_ids": []}}), [4096, 3, 32_000]),
    ] {
        assert_eq!(dimensions(&head(changes.clone())), expected, "{changes}");
    }
}

#[test]
fn a_head_of_latent_attention_is_dense_whatever_its_target_has() {
    for architecture in ["Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM"] {
        let keys = json!({"architectures": [architecture], "num_hidden_layers": 1, "num_nextn_predict_layers": 1});
        for model_type in ["deepseek_v3", "kimi_k2"] {
            let config = latent(with(keys.clone(), json!({"model_type": model_type})));
            let spec = crate::model(&config).spec;
            let group = spec.layers.first();
            assert_eq!((spec.mtp_layers, spec.layers.total()), (0, 1));
            assert!(matches!(group.ffn, Ffn::Dense { intermediate: 14_336, .. }), "{group:?}");
            assert!(matches!(group.attention, Attention::Mla(mla) if mla.q_rank == 768), "{group:?}");
            assert_eq!(dimensions(&config), [4096, 3, 128_256]);
        }
    }
}

#[test]
fn files_of_speculators_have_the_layer_in_an_object() {
    let layer = config(json!({"model_type": "qwen3", "num_hidden_layers": 1, "head_dim": null}));
    let file = json!({"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3",
        "draft_vocab_size": 64_000, "target_hidden_size": 5120, "transformer_layer_config": layer});
    assert_eq!(dimensions(&file), [5120, 3, 64_000]);
}

#[test]
fn the_format_of_a_head_is_its_own() {
    let quantized = json!({"quantization_config": {"quant_method": "fp8"}});
    let spec = crate::model(&head(quantized)).spec;
    assert_eq!(spec.layers.first().attention_dtype, Dtype::Fp8);
}

#[test]
fn heads_that_are_not_modelled_are_refused_by_name() {
    for (changes, expected) in [
        (json!({"num_hidden_layers": 4}), "num_hidden_layers: expected a single one"),
        (
            json!({"eagle_config": {"use_aux_hidden_state": false}}),
            "eagle_config.use_aux_hidden_state: a head that reads",
        ),
        (
            json!({"architectures": ["EagleLlamaForCausalLM"]}),
            "architectures: a head of type EagleLlamaForCausalLM cannot",
        ),
        (json!({"architectures": ["PEagleDraftModel"]}), "architectures: a head of type PEagleDraftModel cannot"),
        (json!({"speculators_model_type": "dflash"}), "speculators_model_type: a head of type dflash cannot"),
        (json!({"draft_vocab_size": 200_000}), "draft_vocab_size: expected at most 128256, found 200000"),
        (json!({"num_aux_hidden_states": 0}), "num_aux_hidden_states: expected a positive number, found 0"),
        (json!({"target_hidden_size": 0}), "target_hidden_size: expected a positive number, found 0"),
    ] {
        let message = refusal(head(changes).to_string());
        assert!(message.starts_with(expected), "{message}");
    }
    let assumed = read(head(json!({})).to_string(), Options::default().assuming_llama()).unwrap();
    assert_eq!(assumed.ignored, [""; 0]);
}
