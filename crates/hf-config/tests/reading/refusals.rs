//! Files that are refused.

use crate::{config, delta, latent, refusal, spec, with};
use rooflut::model::Ffn;
use rooflut_hf_config::{Options, Remedy, read};
use serde_json::{Value, json};

#[test]
fn what_is_not_known_is_refused_unless_it_is_assumed_to_be_a_llama() {
    let experts = json!({"num_experts": 8, "num_experts_per_tok": 2});
    #[rustfmt::skip] // A case per line.
    let cases = [
        (json!({"model_type": "new"}), "model_type: layers of type \"new\" are not known"),
        (json!({"model_type": null}), "model_type: expected the type of the model"),
        (json!({"model_type": "mamba2"}), "model_type: mamba2 has state-space"),
        (json!({"kv_lora_rank": 512}), "kv_lora_rank: this key shapes the model"),
        (experts.clone(), "num_experts: this key shapes the model"),
        (json!({"hidden_act": "xielu"}), "hidden_act: the activation xielu"),
        (json!({"layer_types": ["linear_attention"]}), "layer_types: layers of type linear"),
        (delta(json!({"mamba_ssm_dtype": "bfloat16"})), "mamba_ssm_dtype: a state in bfloat16"),
        (delta(json!({"linear_conv_kernel_dim": 3})), "linear_conv_kernel_dim: a convolution of 3"),
        (delta(json!({"linear_value_head_dim": 64})), "linear_value_head_dim: heads of values of 64, not 128,"),
        (json!({"attn_type_list": [0, 1]}), "attn_type_list: linear attention"),
    ];
    for (changes, expected) in cases {
        let text = config(changes).to_string();
        let error = read(&text, Options::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(expected), "{message}");
        let is_worth_a_try = error.remedy() == Some(Remedy::AssumeLlama);
        assert_eq!(message.contains("a Llama"), is_worth_a_try, "{message}");
        assert_ne!(message.contains("cannot be modelled"), is_worth_a_try);
        let assumed = read(&text, Options::default().assuming_llama()).unwrap();
        let (key, _) = expected.split_once(':').unwrap();
        assert_eq!(assumed.ignored[0], key, "{text}");
    }
    let known = read(config(json!({})).to_string(), Options::default().assuming_llama());
    assert_eq!(known.unwrap().ignored, [""; 0]);
    let several = config(json!({"model_type": "new", "kv_lora_rank": 512, "swa_heads": 4})).to_string();
    let several = read(several, Options::default().assuming_llama()).unwrap();
    assert_eq!(several.ignored, ["model_type", "kv_lora_rank", "swa_heads"]);
    let layers = json!({"model_type": "ernie4_5_moe", "moe_layer_start_index": 0,
        "moe_layer_end_index": -1, "moe_layer_interval": 1});
    assert!(read(config(with(experts.clone(), layers)).to_string(), Options::default()).is_ok());
    let read_as_llama = |changes| {
        let text = config(changes).to_string();
        read(text, Options::default().assuming_llama()).unwrap().spec
    };
    assert!(matches!(read_as_llama(experts.clone()).layers[0].ffn, Ffn::Moe { experts: 8, .. }));
    let ungated = read_as_llama(json!({"model_type": "new", "hidden_act": "relu2"}));
    assert!(matches!(ungated.layers[0].ffn, Ffn::Dense { gated: false, .. }));
    assert_eq!(read_as_llama(json!({"kv_lora_rank": 512})), spec(json!({})));
}

#[test]
fn bad_numbers_are_refused_by_their_key() {
    let experts = |changes: Value| {
        let experts = json!({"model_type": "mixtral", "num_experts": 8, "num_experts_per_tok": 2});
        with(experts, changes)
    };
    #[rustfmt::skip] // A case per line.
    let cases = [
        (json!({"num_key_value_heads": 7}),
            "num_attention_heads: expected a multiple of num_key_value_heads (7), found 32"),
        (json!({"num_attention_heads": 24}),
            "hidden_size: expected a multiple of num_attention_heads (24), found 4096"),
        (json!({"num_attention_heads": 0}), "num_attention_heads: expected a positive number"),
        (json!({"num_hidden_layers": 0}), "num_hidden_layers: expected a positive number, found 0"),
        (json!({"num_hidden_layers": 4_000_000_000_u32}), "num_hidden_layers: expected at most"),
        (json!({"hidden_size": 4_096_000}), "hidden_size: expected at most"),
        (json!({"vocab_size": 0}), "vocab_size: expected a positive"),
        (json!({"sliding_window": 0}), "sliding_window: expected a positive"),
        (json!({"hidden_size": -1}), "hidden_size: expected a whole number, found -1"),
        (json!({"hidden_size": 1e308}), "hidden_size: expected a whole number, found 1e+308"),
        (json!({"hidden_size": 0.5}), "hidden_size: expected a whole number, found 0.5"),
        (json!({"hidden_size": "4096"}), "hidden_size: expected a whole number, found \"4096\""),
        (json!({"hidden_size": {}}), "hidden_size: expected a whole number, found an object"),
        (json!({"hidden_size": null}), "hidden_size: expected a number, found none"),
        (json!({"model_type": 7}), "model_type: expected a text, found 7"),
        (json!({"tie_word_embeddings": "no"}), "tie_word_embeddings: expected true or false"),
        (json!({"layer_types": "full"}), "layer_types: expected a list of texts, found \"full\""),
        (json!({"quantization_config": []}), "quantization_config: expected an object"),
        (json!({"text_config": 5}), "text_config: expected an object, found 5"),
        (json!({"text_config": {}, "model_type": null}), "model_type: expected the type"),
        (json!({"text_config": {}}), "text_config.hidden_size: expected a number, found none"),
        (json!({"text_config": {"model_type": "llama"}}), "text_config.hidden_size: expected a number, found none"),
        (experts(json!({"num_experts": 5000})), "num_experts: expected at most"),
        (experts(json!({"num_experts": 0})), "num_experts: expected a positive"),
        (experts(json!({"num_experts_per_tok": 9})), "num_experts_per_tok: expected at most the 8 experts, found 9"),
        (experts(json!({"moe_intermediate_size": 0})), "moe_intermediate_size: expected a positive"),
        (json!({"model_type": "gemma3_text", "sliding_window_pattern": 0}),
            "sliding_window_pattern: expected a positive number, found 0"),
        (experts(json!({"attn_type_list": [1, 1]})),
            "attn_type_list: expected an entry for each of the 32 layers, found 2"),
        (experts(json!({"mlp_layer_types": vec!["new"; 32]})),
            "mlp_layer_types: layers of type new cannot be modelled yet"),
        (experts(json!({"mlp_only_layers": [0, 32]})), "mlp_only_layers: expected indices of layers, found 32"),
        (experts(json!({"moe_layers": [-1]})), "moe_layers: expected indices of layers, found -1"),
        (experts(json!({"decoder_sparse_step": -1})), "decoder_sparse_step: expected a positive number, found -1"),
        (experts(json!({"moe_layer_freq": vec![2; 32]})), "moe_layer_freq: expected 0 or 1 for each layer, found 2"),
        (latent(json!({"kv_lora_rank": 0})), "kv_lora_rank: expected a positive"),
        (latent(json!({"kv_lora_rank": null})), "kv_lora_rank: expected a number, found none"),
        (latent(json!({"qk_rope_head_dim": null})), "qk_rope_head_dim: expected a number, found none"),
        (latent(json!({"v_head_dim": 5000})), "v_head_dim: expected at most 4096, found 5000"),
    ];
    for (changes, expected) in cases {
        let message = refusal(config(changes).to_string());
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_kind_of_layer_without_its_width_is_refused() {
    let kinds = |kind| json!({"layer_types": vec![kind; 32]});
    for (kind, key) in [("sliding_attention", "sliding_window"), ("chunked_attention", "attention_chunk_size")] {
        let message = refusal(config(kinds(kind)).to_string());
        assert!(message.starts_with(&format!("{key}: expected a number, found none")), "{message}");
    }
}

/// Every key with every kind of value.
#[test]
fn no_value_of_a_key_is_read_as_a_model_out_of_range() {
    let full = config(json!({"model_type": "qwen2_moe", "num_experts": 60, "head_dim": 128,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "decoder_sparse_step": 1,
        "shared_expert_intermediate_size": 5632, "sliding_window": 4096, "mlp_only_layers": [],
        "use_sliding_window": true, "max_window_layers": 21, "layer_types": ["full_attention"],
        "tie_word_embeddings": false, "hidden_act": "silu", "quantization_config":
        {"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}}));
    let values = json!([null, true, -1, 0, 1, 7, 4_294_967_295_u32, 1e308, 0.5, "", "full\n",
        "\u{202e}", [], [0], [8, 8], ["a"], {}, {"a": {}}]);
    let mut refused = 0;
    for key in full.as_object().unwrap().keys() {
        for value in values.as_array().unwrap() {
            let mut changed = full.clone();
            changed[key] = value.clone();
            match read(changed.to_string(), Options::default()) {
                Ok(model) => assert_eq!(model.spec.check(), Ok(()), "{key}: {value}"),
                Err(error) => {
                    let message = error.to_string();
                    assert!(!message.contains('\n') && message.len() < 250, "{message}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn what_is_no_object_is_refused() {
    for text in [&b""[..], b"[]", b"7", b"\x00\x01\xff", b"{", b"{\"hidden_size\": Inf}"] {
        let message = refusal(text);
        assert!(message.ends_with("expected the config.json of a Hugging Face model"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let infinite = config(json!({})).to_string().replace("4096", "Infinity");
    let expected = "hidden_size: expected a whole number, found \"Infinity\"";
    assert!(refusal(infinite).starts_with(expected));
}
