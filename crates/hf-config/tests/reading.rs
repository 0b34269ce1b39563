//! Dimensions and formats that a `config.json` is read as, and errors that refuse it.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

use rooflut::hardware::Dtype;
use rooflut::model::{Attention, Ffn, Gqa, ModelSpec, Sampler, Span, find};
use rooflut_hf_config::{HfModel, Options, Remedy, read};
use serde_json::{Value, json};

/// Llama-3.1-8B with other values.
fn config(changes: Value) -> Value {
    let mut config = json!({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128_256, "max_position_embeddings": 131_072});
    let Value::Object(changes) = changes else {
        panic!("an object")
    };
    config.as_object_mut().unwrap().extend(changes);
    config
}

/// Keys of a Qwen3.5 with others.
fn delta(changes: Value) -> Value {
    let mut keys = json!({"model_type": "qwen3_5_text", "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128});
    let Value::Object(changes) = changes else {
        panic!("an object")
    };
    keys.as_object_mut().unwrap().extend(changes);
    keys
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

#[test]
fn a_dense_model_equals_the_built_in_one_wherever_its_text_model_stands() {
    let built_in = find("llama-3.1-8b").unwrap().spec;
    let built_in = built_in.with_sampler(Sampler::Plain);
    assert_eq!(spec(json!({})), built_in);
    for key in ["text_config", "llm_config", "language_config"] {
        let nested = json!({"model_type": "multimodal", key: config(json!({}))});
        assert_eq!(model(&nested).spec, built_in, "{key}");
    }
}

#[test]
fn each_fourth_layer_attends_to_all_tokens_unless_the_layers_are_listed() {
    let layers = |changes| {
        let spec = spec(delta(changes));
        let groups = spec.layers.iter();
        groups.map(|group| group.layers).collect::<Vec<_>>()
    };
    assert_eq!(layers(json!({})), [24, 8]);
    assert_eq!(layers(json!({"full_attention_interval": 8})), [28, 4]);
    let kinds = ["full_attention", "linear_attention"].repeat(16);
    assert_eq!(layers(json!({"layer_types": kinds})), [16, 16]);
    let short = config(delta(json!({"layer_types": ["linear_attention"]})));
    let message = refusal(short.to_string());
    assert!(message.starts_with("layer_types: "), "{message}");
}

#[test]
fn what_a_file_leaves_out_is_the_default_of_its_type() {
    let left_out = |model_type: &str| {
        let mut config = config(json!({"model_type": model_type}));
        config
            .as_object_mut()
            .unwrap()
            .remove("num_key_value_heads");
        model(&config)
    };
    for (model_type, kv_heads, head_dim, tied, window) in [
        ("llama", 32, 128, false, None),
        ("mistral", 8, 128, false, Some(4096)),
        ("qwen2", 32, 128, false, None),
        ("glm4", 2, 128, false, None),
        ("cohere", 32, 128, true, None),
        ("gemma", 16, 256, true, None),
        ("gemma2", 4, 256, true, Some(4096)),
        ("starcoder2", 2, 128, true, None),
    ] {
        let HfModel { spec, .. } = left_out(model_type);
        let found = match spec.limited_span() {
            Span::Window(tokens) => Some(tokens),
            _ => None,
        };
        assert_eq!(
            (
                heads(&spec).kv_heads,
                heads(&spec).head_dim,
                spec.tied_embeddings,
                found
            ),
            (kv_heads, head_dim, tied, window),
            "{model_type}"
        );
    }
    // Null is a value: as many KV heads as query heads.
    let null = spec(json!({"model_type": "mistral", "num_key_value_heads": null}));
    assert_eq!(heads(&null).kv_heads, 32);
    assert!(!spec(json!({"model_type": "gemma", "tie_word_embeddings": false})).tied_embeddings);
    let beside = json!({"tie_word_embeddings": true, "text_config": config(json!({}))});
    assert!(model(&beside).spec.tied_embeddings);
}

/// A small model with latent attention.
fn latent(changes: Value) -> Value {
    let mut latent = json!({"model_type": "deepseek_v3", "first_k_dense_replace": 1, "n_routed_experts": 8,
        "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 1024, "q_lora_rank": 768,
        "kv_lora_rank": 256, "qk_nope_head_dim": 96, "qk_rope_head_dim": 32, "v_head_dim": 64});
    let changes = changes.as_object().unwrap().clone();
    latent.as_object_mut().unwrap().extend(changes);
    config(latent)
}

#[test]
fn latent_attention_is_read_with_and_without_a_compressed_query() {
    let dimensions = |changes| match model(&latent(changes)).spec.layers[1].attention {
        Attention::Mla(mla) => [
            mla.q_heads,
            mla.q_rank,
            mla.kv_rank,
            mla.nope_dim,
            mla.rope_dim,
            mla.v_dim,
        ],
        other => panic!("{other:?}"),
    };
    assert_eq!(dimensions(json!({})), [32, 768, 256, 96, 32, 64]);
    let others = json!({"q_lora_rank": null, "head_dim": 32, "qk_head_dim": 128, "num_nextn_predict_layers": 1});
    assert_eq!(dimensions(others), [32, 0, 256, 96, 32, 64]);
    let mut left_out = latent(json!({}));
    for key in ["q_lora_rank", "qk_rope_head_dim"] {
        left_out.as_object_mut().unwrap().remove(key);
    }
    let read = model(&left_out).spec.layers[1].attention;
    assert!(matches!(read, Attention::Mla(mla) if (mla.q_rank, mla.rope_dim) == (1536, 64)));
}

#[test]
fn the_indexer_of_sparse_attention_is_read_and_required() {
    let sparse = |changes: Value| {
        let mut sparse = latent(
            json!({"model_type": "glm_moe_dsa", "index_n_heads": 16, "index_head_dim": 64,
            "index_topk": 512}),
        );
        let changes = changes.as_object().unwrap().clone();
        sparse.as_object_mut().unwrap().extend(changes);
        sparse
    };
    let Attention::Mla(mla) = model(&sparse(json!({}))).spec.layers[1].attention else {
        panic!("latent attention")
    };
    let indexer = mla.indexer.unwrap();
    assert_eq!(
        [indexer.heads, indexer.head_dim, indexer.top_k],
        [16, 64, 512]
    );
    for key in ["index_n_heads", "index_head_dim", "index_topk"] {
        let refused = |value: Value| refusal(sparse(json!({ key: value })).to_string());
        for message in [refused(json!(null)), refused(json!(0))] {
            assert!(message.contains(key), "{message}");
        }
    }
}

#[test]
fn an_ffn_without_a_gate_has_two_projections() {
    let gated = |changes| match spec(changes).layers[0].ffn {
        Ffn::Dense { gated, .. } => gated,
        other => panic!("{other:?}"),
    };
    assert!(gated(json!({"hidden_act": "silu"})));
    assert!(!gated(
        json!({"model_type": "apertus", "hidden_act": "xielu"})
    ));
    assert!(!gated(
        json!({"model_type": "nemotron", "hidden_act": "relu2"})
    ));
    assert!(!gated(
        json!({"model_type": "gpt_neox", "hidden_act": "gelu"})
    ));
    let wide = spec(json!({"model_type": "falcon", "intermediate_size": null}));
    assert!(matches!(
        wide.layers[0].ffn,
        Ffn::Dense {
            intermediate: 16_384,
            gated: false,
            ..
        }
    ));
}

#[test]
fn experts_are_read_under_each_of_their_names() {
    let expected = find("qwen3-30b-a3b").unwrap().spec.layers[0].ffn;
    for (model_type, experts, top_k) in [
        ("qwen3_moe", "num_experts", "num_experts_per_tok"),
        ("minimax_m2", "num_local_experts", "num_experts_per_tok"),
        ("deepseek", "n_routed_experts", "num_experts_per_tok"),
        ("bailing_moe", "moe_num_experts", "moe_k"),
    ] {
        let config = config(json!({"model_type": model_type, experts: 128, top_k: 8,
            "moe_intermediate_size": 768}));
        let model = model(&config);
        assert_eq!(model.spec.layers[0].ffn, expected, "{model_type}");
        assert_eq!(model.dense_intermediate, Some(14_336));
    }
    assert_eq!(model(&config(json!({}))).dense_intermediate, None);
}

#[test]
fn a_shared_expert_is_read_from_its_width_or_its_count() {
    let experts = json!({"model_type": "qwen2_moe", "num_experts": 16, "num_experts_per_tok": 1,
        "moe_intermediate_size": 768});
    for (changes, expected) in [
        (json!({}), 0),
        (json!({"n_shared_experts": 2}), 1536),
        (json!({"shared_expert_intermediate_size": 512}), 512),
        (json!({"model_type": "llama4_text"}), 768),
    ] {
        let mut config = config(experts.clone());
        let changes = changes.as_object().unwrap().clone();
        config.as_object_mut().unwrap().extend(changes);
        let Ffn::Moe {
            shared_intermediate,
            ..
        } = model(&config).spec.layers[0].ffn
        else {
            panic!("experts");
        };
        assert_eq!(shared_intermediate, expected, "{config}");
    }
}

/// Layers by the tokens that they attend to, and by whether their FFN is dense.
fn groups(model: &HfModel) -> Vec<(u32, Span, bool)> {
    let groups = model.spec.layers.iter().map(|group| {
        let Attention::Gqa(heads) = group.attention else {
            panic!("{group:?}");
        };
        let is_dense = matches!(group.ffn, Ffn::Dense { .. });
        (group.layers, heads.span, is_dense)
    });
    groups.collect()
}

#[test]
fn layers_have_the_windows_of_their_pattern() {
    let window = |layers, tokens| (layers, Span::Window(tokens), true);
    let full = |layers| (layers, Span::Full, true);
    let kinds = |kind, every: usize| -> Vec<&str> {
        let layers = (0..32).map(|layer| match layer % every {
            0 => "full_attention",
            _ => kind,
        });
        layers.collect()
    };
    for (changes, expected) in [
        (json!({"sliding_window": null}), vec![full(32)]),
        (json!({"sliding_window": 4096}), vec![window(32, 4096)]),
        (json!({"sliding_window": 131_072}), vec![full(32)]),
        (
            json!({"sliding_window": 4096, "use_sliding_window": false}),
            vec![full(32)],
        ),
        (
            json!({"sliding_window": 4096, "layer_types": kinds("sliding_attention", 1)}),
            vec![full(32)],
        ),
        (
            json!({"sliding_window": 4096, "layer_types": kinds("sliding_attention", 3)}),
            vec![full(11), window(21, 4096)],
        ),
        (
            json!({"sliding_window": 4096, "sliding_window_pattern": 5}),
            vec![window(26, 4096), full(6)],
        ),
        (
            json!({"model_type": "gemma2"}),
            vec![window(16, 4096), full(16)],
        ),
        (
            json!({"model_type": "gemma3_text", "sliding_window": 512}),
            vec![window(27, 512), full(5)],
        ),
        (
            json!({"model_type": "qwen2", "sliding_window": 4096}),
            vec![full(32)],
        ),
        (
            json!({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true,
                "max_window_layers": 20}),
            vec![full(20), window(12, 4096)],
        ),
        (
            json!({"sliding_window": 9000, "attention_chunk_size": 8192}),
            vec![(32, Span::Chunk(8192), true)],
        ),
        (
            json!({"attention_chunk_size": 8192, "layer_types": kinds("chunked_attention", 2)}),
            vec![full(16), (16, Span::Chunk(8192), true)],
        ),
    ] {
        let read = model(&config(changes.clone()));
        assert_eq!(groups(&read), expected, "{changes}");
        assert_eq!(read.spec.max_model_len, 131_072);
    }
    let short = json!({"sliding_window": 4096, "layer_types": ["sliding_attention"]});
    assert_eq!(
        refusal(config(short).to_string()),
        "layer_types: expected an entry for each of the 32 layers, found 1; correct the file"
    );
}

#[test]
fn dense_layers_stand_beside_those_of_experts() {
    let base = json!({"num_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 768});
    for (changes, dense) in [
        (json!({"first_k_dense_replace": 3}), 3),
        (json!({"first_k_dense_replace": 1, "moe_layer_freq": 1}), 1),
        (json!({"moe_layer_start_index": 4}), 4),
        (
            json!({"moe_layer_start_index": 2, "moe_layer_end_index": 29}),
            4,
        ),
        (json!({"decoder_sparse_step": 2}), 16),
        (json!({"mlp_only_layers": [0, 31]}), 2),
        (json!({"interleave_moe_layer_step": 2}), 16),
        (json!({"moe_layers": [1, 3, 5]}), 29),
        (json!({"moe_layer_interval": 4}), 24),
    ] {
        let mut file = config(json!({"model_type": "mixtral"}));
        for more in [&base, &changes] {
            file.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
        }
        let read = model(&file);
        let mut found = groups(&read);
        found.sort_by_key(|(_, _, is_dense)| !is_dense);
        assert_eq!(
            found,
            [(dense, Span::Full, true), (32 - dense, Span::Full, false)],
            "{changes}"
        );
        let of_dense = read.spec.layers.iter().find_map(|group| match group.ffn {
            Ffn::Dense { intermediate, .. } => Some(intermediate),
            _ => None,
        });
        assert_eq!(of_dense, Some(14_336));
    }
    for (key, list) in [
        ("mlp_layer_types", json!(["dense", "sparse"])),
        ("moe_layer_freq", json!([0, 1])),
    ] {
        let mut file = config(json!({"model_type": "mixtral", key: list}));
        let more = base.as_object().unwrap().clone();
        file.as_object_mut().unwrap().extend(more);
        let expected = format!("{key}: expected an entry for each of the 32 layers, found 2");
        assert!(refusal(file.to_string()).starts_with(&expected));
    }
}

#[test]
fn number_formats_stand_in_the_file_beside_the_text_model_or_in_a_file_of_their_own() {
    let fp8 = json!({"quant_method": "fp8"});
    let beside = json!({"quantization_config": fp8, "text_config": config(json!({}))});
    assert_eq!(model(&beside).spec.layers[0].attention_dtype, Dtype::Fp8);
    let plain = config(json!({})).to_string();
    let text = br#"{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8",
        "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}"#;
    let options = Options::default().with_hf_quant_config(Some(text));
    let nvidia = read(&plain, options).unwrap();
    assert_eq!(nvidia.spec.layers[0].attention_dtype, Dtype::Fp8);
    assert_eq!(nvidia.kv_dtype, Some(Dtype::Fp8));
    let given = options
        .with_weight_dtype(Some(Dtype::Bf16))
        .with_kv_dtype(Some(Dtype::Bf16));
    let given = read(&plain, given).unwrap();
    let built_in = find("llama-3.1-8b").unwrap().spec;
    assert_eq!(given.spec, built_in.with_sampler(Sampler::Plain));
    assert_eq!(given.kv_dtype, Some(Dtype::Bf16));
    for (text, expected) in [
        ("", "hf_quant_config.json: EOF"),
        ("[]", "hf_quant_config.json: invalid type"),
        ("{}", "hf_quant_config.json: quantization: expected"),
        (
            r#"{"quantization": {"quant_algo": "W4A16_AWQ"}}"#,
            "hf_quant_config.json: quantization.quant_algo: W4A16_AWQ weights cannot",
        ),
    ] {
        let options = Options::default().with_hf_quant_config(Some(text.as_bytes()));
        let message = read(&plain, options).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_format_that_is_not_modelled_is_replaced_by_a_given_one() {
    let text = config(json!({"quantization_config": {"quant_method": "mxfp4"}})).to_string();
    let error = read(&text, Options::default()).unwrap_err();
    assert_eq!(error.remedy(), Some(Remedy::WeightDtype));
    let options = Options::default().with_weight_dtype(Some(Dtype::Nvfp4));
    assert_eq!(
        read(&text, options).unwrap().spec.layers[0].attention_dtype,
        Dtype::Nvfp4
    );
}

#[test]
fn a_given_format_of_quantised_weights_keeps_what_their_publisher_left_at_16_bits() {
    let formats = |quantization: Value, dtype| {
        let experts = json!({"model_type": "mixtral", "num_local_experts": 8,
            "num_experts_per_tok": 2, "quantization_config": quantization});
        let options = Options::default().with_weight_dtype(Some(dtype));
        let group = read(config(experts).to_string(), options)
            .unwrap()
            .spec
            .layers[0];
        (group.attention_dtype, group.ffn_dtype)
    };
    let blocks = || json!({"quant_method": "fp8", "weight_block_size": [128, 128]});
    let mxfp4 = || json!({"quant_method": "mxfp4"});
    let mixed = || json!({"quant_method": "fp8", "ignored_layers": ["self_attn"]});
    for (quantization, dtype, expected) in [
        (blocks(), Dtype::Fp8, (Dtype::Fp8Block, Dtype::Fp8Block)),
        (blocks(), Dtype::Nvfp4, (Dtype::Bf16, Dtype::Nvfp4)),
        (blocks(), Dtype::Bf16, (Dtype::Bf16, Dtype::Bf16)),
        (mxfp4(), Dtype::Nvfp4, (Dtype::Bf16, Dtype::Mxfp4)),
        (mxfp4(), Dtype::Fp8, (Dtype::Bf16, Dtype::Fp8)),
        (mixed(), Dtype::Fp8, (Dtype::Bf16, Dtype::Fp8)),
        (Value::Null, Dtype::Fp8, (Dtype::Fp8, Dtype::Fp8)),
        (Value::Null, Dtype::Int4, (Dtype::Bf16, Dtype::Int4)),
    ] {
        let about = format!("{quantization} {dtype}");
        assert_eq!(formats(quantization, dtype), expected, "{about}");
    }
}

#[test]
fn what_is_not_known_is_refused_unless_it_is_assumed_to_be_a_llama() {
    let experts = json!({"num_experts": 8, "num_experts_per_tok": 2});
    let with = |changes: Value| {
        let mut both = experts.clone();
        let changes = changes.as_object().unwrap().clone();
        both.as_object_mut().unwrap().extend(changes);
        both
    };
    for (changes, expected) in [
        (
            json!({"model_type": "new"}),
            "model_type: layers of type \"new\" are not known",
        ),
        (
            json!({"model_type": null}),
            "model_type: expected the type of the model",
        ),
        (
            json!({"model_type": "deepseek_v4"}),
            "model_type: deepseek_v4 has attention over compressed keys",
        ),
        (
            json!({"model_type": "mamba2"}),
            "model_type: mamba2 has state-space",
        ),
        (
            json!({"kv_lora_rank": 512}),
            "kv_lora_rank: this key shapes the model",
        ),
        (experts.clone(), "num_experts: this key shapes the model"),
        (
            json!({"hidden_act": "xielu"}),
            "hidden_act: the activation xielu",
        ),
        (
            json!({"layer_types": ["linear_attention"]}),
            "layer_types: layers of type linear",
        ),
        (
            delta(json!({"mamba_ssm_dtype": "bfloat16"})),
            "mamba_ssm_dtype: a state in bfloat16",
        ),
        (
            delta(json!({"linear_conv_kernel_dim": 3})),
            "linear_conv_kernel_dim: a convolution of 3",
        ),
        (
            delta(json!({"linear_value_head_dim": 64})),
            "linear_value_head_dim: heads of values of 64, not 128,",
        ),
        (
            json!({"attn_type_list": [0, 1]}),
            "attn_type_list: linear attention",
        ),
    ] {
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
    let known = read(
        config(json!({})).to_string(),
        Options::default().assuming_llama(),
    );
    assert_eq!(known.unwrap().ignored, [""; 0]);
    let several =
        config(json!({"model_type": "new", "kv_lora_rank": 512, "swa_heads": 4})).to_string();
    let several = read(several, Options::default().assuming_llama()).unwrap();
    assert_eq!(several.ignored, ["model_type", "kv_lora_rank", "swa_heads"]);
    let layers = json!({"model_type": "ernie4_5_moe", "moe_layer_start_index": 0,
        "moe_layer_end_index": -1, "moe_layer_interval": 1});
    assert!(read(config(with(layers)).to_string(), Options::default()).is_ok());
    let read_as_llama = |changes| {
        let text = config(changes).to_string();
        read(text, Options::default().assuming_llama())
            .unwrap()
            .spec
    };
    assert!(matches!(
        read_as_llama(with(json!({}))).layers[0].ffn,
        Ffn::Moe { experts: 8, .. }
    ));
    let ungated = read_as_llama(json!({"model_type": "new", "hidden_act": "relu2"}));
    assert!(matches!(
        ungated.layers[0].ffn,
        Ffn::Dense { gated: false, .. }
    ));
    assert_eq!(read_as_llama(json!({"kv_lora_rank": 512})), spec(json!({})));
}

#[test]
fn bad_numbers_are_refused_by_their_key() {
    let experts = |changes: Value| {
        let mut experts =
            json!({"model_type": "mixtral", "num_experts": 8, "num_experts_per_tok": 2});
        let changes = changes.as_object().unwrap().clone();
        experts.as_object_mut().unwrap().extend(changes);
        experts
    };
    for (changes, expected) in [
        (
            json!({"num_key_value_heads": 7}),
            "num_attention_heads: expected a multiple of num_key_value_heads (7), found 32",
        ),
        (
            json!({"num_attention_heads": 24}),
            "hidden_size: expected a multiple of num_attention_heads (24), found 4096",
        ),
        (
            json!({"num_attention_heads": 0}),
            "num_attention_heads: expected a positive number",
        ),
        (
            json!({"num_hidden_layers": 0}),
            "num_hidden_layers: expected a positive number, found 0",
        ),
        (
            json!({"num_hidden_layers": 4_000_000_000_u32}),
            "num_hidden_layers: expected at most",
        ),
        (
            json!({"hidden_size": 4_096_000}),
            "hidden_size: expected at most",
        ),
        (json!({"vocab_size": 0}), "vocab_size: expected a positive"),
        (
            json!({"sliding_window": 0}),
            "sliding_window: expected a positive",
        ),
        (
            json!({"hidden_size": -1}),
            "hidden_size: expected a whole number, found -1",
        ),
        (
            json!({"hidden_size": 1e308}),
            "hidden_size: expected a whole number, found 1e+308",
        ),
        (
            json!({"hidden_size": 0.5}),
            "hidden_size: expected a whole number, found 0.5",
        ),
        (
            json!({"hidden_size": "4096"}),
            "hidden_size: expected a whole number, found \"4096\"",
        ),
        (
            json!({"hidden_size": {}}),
            "hidden_size: expected a whole number, found an object",
        ),
        (
            json!({"hidden_size": null}),
            "hidden_size: expected a number, found none",
        ),
        (
            json!({"model_type": 7}),
            "model_type: expected a text, found 7",
        ),
        (
            json!({"tie_word_embeddings": "no"}),
            "tie_word_embeddings: expected true or false",
        ),
        (
            json!({"layer_types": "full"}),
            "layer_types: expected a list of texts, found \"full\"",
        ),
        (
            json!({"quantization_config": []}),
            "quantization_config: expected an object",
        ),
        (
            json!({"text_config": 5}),
            "text_config: expected an object, found 5",
        ),
        (json!({"text_config": {}}), "model_type: expected the type"),
        (
            json!({"text_config": {"model_type": "llama"}}),
            "text_config.hidden_size: expected a number, found none",
        ),
        (
            experts(json!({"num_experts": 5000})),
            "num_experts: expected at most",
        ),
        (
            experts(json!({"num_experts": 0})),
            "num_experts: expected a positive",
        ),
        (
            experts(json!({"num_experts_per_tok": 9})),
            "num_experts_per_tok: expected at most the 8 experts, found 9",
        ),
        (
            experts(json!({"moe_intermediate_size": 0})),
            "moe_intermediate_size: expected a positive",
        ),
        (
            json!({"model_type": "gemma3_text", "sliding_window_pattern": 0}),
            "sliding_window_pattern: expected a positive number, found 0",
        ),
        (
            experts(json!({"attn_type_list": [1, 1]})),
            "attn_type_list: expected an entry for each of the 32 layers, found 2",
        ),
        (
            experts(json!({"mlp_layer_types": vec!["new"; 32]})),
            "mlp_layer_types: layers of type new cannot be modelled yet",
        ),
        (
            experts(json!({"mlp_only_layers": [0, 32]})),
            "mlp_only_layers: expected indices of layers, found 32",
        ),
        (
            experts(json!({"moe_layers": [-1]})),
            "moe_layers: expected indices of layers, found -1",
        ),
        (
            experts(json!({"decoder_sparse_step": -1})),
            "decoder_sparse_step: expected a positive number, found -1",
        ),
        (
            experts(json!({"moe_layer_freq": vec![2; 32]})),
            "moe_layer_freq: expected 0 or 1 for each layer, found 2",
        ),
        (
            latent(json!({"kv_lora_rank": 0})),
            "kv_lora_rank: expected a positive",
        ),
        (
            latent(json!({"kv_lora_rank": null})),
            "kv_lora_rank: expected a number, found none",
        ),
        (
            latent(json!({"qk_rope_head_dim": null})),
            "qk_rope_head_dim: expected a number, found none",
        ),
        (
            latent(json!({"v_head_dim": 5000})),
            "v_head_dim: expected at most 4096, found 5000",
        ),
    ] {
        let message = refusal(config(changes).to_string());
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_kind_of_layer_without_its_width_is_refused() {
    let kinds = |kind| json!({"layer_types": vec![kind; 32]});
    for (kind, key) in [
        ("sliding_attention", "sliding_window"),
        ("chunked_attention", "attention_chunk_size"),
    ] {
        let message = refusal(config(kinds(kind)).to_string());
        assert!(
            message.starts_with(&format!("{key}: expected a number, found none")),
            "{message}"
        );
    }
}

#[test]
fn layers_without_a_window_may_have_heads_of_their_own() {
    let gemma = |changes: Value| {
        let mut gemma = json!({"model_type": "gemma4_text", "num_attention_heads": 16,
            "num_key_value_heads": 8, "hidden_size_per_layer_input": 0,
            "attention_k_eq_v": true, "num_global_key_value_heads": 2});
        let changes = changes.as_object().unwrap().clone();
        gemma.as_object_mut().unwrap().extend(changes);
        config(gemma).to_string()
    };
    let heads = |changes| {
        let spec = read(gemma(changes), Options::default()).unwrap().spec;
        let heads = spec.layers.iter().map(|group| {
            let Attention::Gqa(heads) = group.attention else {
                panic!("{group:?}");
            };
            (group.layers, heads.kv_heads, heads.head_dim)
        });
        heads.collect::<Vec<_>>()
    };
    assert_eq!(heads(json!({})), [(27, 8, 256), (5, 2, 512)]);
    let own = json!({"attention_k_eq_v": false, "global_head_dim": 128});
    assert_eq!(heads(own), [(27, 8, 256), (5, 8, 128)]);
    // A window as long as the longest sequence leaves the heads as they are.
    let long = json!({"sliding_window": 262_144});
    assert_eq!(heads(long), [(27, 8, 256), (5, 2, 512)]);
    for (changes, expected) in [
        (
            json!({"hidden_size_per_layer_input": 256}),
            "hidden_size_per_layer_input: per-layer embeddings cannot be modelled yet",
        ),
        (
            json!({"num_kv_shared_layers": 18}),
            "num_kv_shared_layers: layers that share KV entries cannot be modelled yet",
        ),
        (
            json!({"num_global_key_value_heads": 3}),
            "num_attention_heads: expected a multiple of num_global_key_value_heads (3), found 16",
        ),
        (
            json!({"global_head_dim": 0}),
            "global_head_dim: expected a positive number, found 0",
        ),
        (
            json!({"enable_moe_block": true}),
            "num_experts: expected a number, found none",
        ),
        (
            json!({"enable_moe_block": true, "num_experts": 8, "top_k_experts": 2}),
            "moe_intermediate_size: expected a number, found none",
        ),
    ] {
        let message = refusal(gemma(changes));
        assert!(message.starts_with(expected), "{message}");
    }
    let without = gemma(json!({})).replace("hidden_size_per_layer_input", "unset");
    assert!(refusal(&without).starts_with("hidden_size_per_layer_input: per-layer embeddings"));
    let assumed = read(without, Options::default().assuming_llama()).unwrap();
    assert_eq!(assumed.ignored, ["hidden_size_per_layer_input"]);
}

/// Every key with every kind of value.
#[test]
fn no_value_of_a_key_is_read_as_a_model_out_of_range() {
    let full = config(
        json!({"model_type": "qwen2_moe", "num_experts": 60, "head_dim": 128,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "decoder_sparse_step": 1,
        "shared_expert_intermediate_size": 5632, "sliding_window": 4096, "mlp_only_layers": [],
        "use_sliding_window": true, "max_window_layers": 21, "layer_types": ["full_attention"],
        "tie_word_embeddings": false, "hidden_act": "silu", "quantization_config":
        {"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}}),
    );
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
    for text in [
        &b""[..],
        b"[]",
        b"7",
        b"\x00\x01\xff",
        b"{",
        b"{\"hidden_size\": Inf}",
    ] {
        let message = refusal(text);
        assert!(
            message.ends_with("expected the config.json of a Hugging Face model"),
            "{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
    let infinite = config(json!({})).to_string().replace("4096", "Infinity");
    let expected = "hidden_size: expected a whole number, found \"Infinity\"";
    assert!(refusal(infinite).starts_with(expected));
}

#[test]
fn the_sampler_is_that_of_the_generation_config() {
    let plain = config(json!({})).to_string();
    let with = |text: &str| {
        let options = Options::default().with_generation_config(Some(text.as_bytes()));
        read(&plain, options).map(|model| model.spec.sampler)
    };
    for (text, sampler) in [
        ("{}", Sampler::Plain),
        (r#"{"top_p": 1.0, "top_k": 0}"#, Sampler::Plain),
        (r#"{"top_k": -1, "temperature": 0.6}"#, Sampler::Plain),
        (r#"{"top_k": 50, "do_sample": true}"#, Sampler::Plain),
        (r#"{"top_p": 0.9, "temperature": 0}"#, Sampler::Plain),
        (
            r#"{"top_p": 0.9, "top_k": null, "unknown": {}}"#,
            Sampler::TopP,
        ),
        (r#"{"top_p": 0.9}"#, Sampler::TopP),
        (r#"{"top_k": 20, "repetition_penalty": 1}"#, Sampler::TopP),
        (
            r#"{"top_p": 0.8, "repetition_penalty": 1.05}"#,
            Sampler::RepetitionPenalty,
        ),
    ] {
        assert_eq!(with(text).unwrap(), sampler, "{text}");
    }
    for (text, expected) in [
        ("no JSON", "generation_config.json: expected ident"),
        (
            r#"{"top_p": "all"}"#,
            "generation_config.json: top_p: expected a number above 0 and at most 1, found \"all\"",
        ),
        (
            r#"{"top_p": 1.5}"#,
            "generation_config.json: top_p: expected a number above 0 and at most 1, found 1.5",
        ),
        (
            r#"{"top_k": 2.5}"#,
            "generation_config.json: top_k: expected a whole number of at least -1, found 2.5",
        ),
        (
            r#"{"temperature": -1}"#,
            "generation_config.json: temperature: expected a number of at least 0, found -1",
        ),
        (
            r#"{"repetition_penalty": 0}"#,
            "generation_config.json: repetition_penalty: expected a number above 0, found 0",
        ),
    ] {
        let message = with(text).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
