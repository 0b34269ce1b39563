//! Dimensions of attention and FFN.

use crate::{config, heads, latent, model, refusal, spec, with};
use rooflut::model::{Attention, Ffn, LayerGroup, Sampler, Span, find};
use rooflut_hf_config::{HfModel, Options, read};
use serde_json::{Value, json};

#[test]
fn a_dense_model_equals_the_built_in_one_wherever_its_text_model_stands() {
    let built_in = find("llama-3.1-8b").unwrap().spec.with_sampler(Sampler::Plain);
    assert_eq!(spec(json!({})), built_in);
    for key in ["text_config", "llm_config", "language_config"] {
        let nested = json!({"model_type": "multimodal", key: config(json!({}))});
        assert_eq!(model(&nested).spec, built_in, "{key}");
    }
}

#[test]
fn what_a_file_leaves_out_is_the_default_of_its_type() {
    let left_out = |model_type: &str| {
        let mut config = config(json!({"model_type": model_type}));
        config.as_object_mut().unwrap().remove("num_key_value_heads");
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
            (heads(&spec).kv_heads, heads(&spec).head_dim, spec.tied_embeddings, found),
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

#[test]
fn latent_attention_is_read_with_and_without_a_compressed_query() {
    let dimensions = |changes| match model(&latent(changes)).spec.layers[1].attention {
        Attention::Mla(mla) => [mla.q_heads, mla.q_rank, mla.kv_rank, mla.nope_dim, mla.rope_dim, mla.v_dim],
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
        let indexer = json!({"model_type": "glm_moe_dsa", "index_n_heads": 16, "index_head_dim": 64,
            "index_topk": 512});
        latent(with(indexer, changes))
    };
    let Attention::Mla(mla) = model(&sparse(json!({}))).spec.layers[1].attention else { panic!("latent attention") };
    let indexer = mla.indexer.unwrap();
    assert_eq!([indexer.heads, indexer.head_dim, indexer.top_k], [16, 64, 512]);
    for key in ["index_n_heads", "index_head_dim", "index_topk"] {
        let refused = |value: Value| refusal(sparse(json!({ key: value })).to_string());
        for message in [refused(json!(null)), refused(json!(0))] {
            assert!(message.contains(key), "{message}");
        }
    }
}

#[test]
fn layers_reuse_the_keys_of_an_earlier_indexer() {
    let sparse = |changes: Value| {
        let indexer = json!({"model_type": "glm_moe_dsa", "index_n_heads": 16, "index_head_dim": 64, "index_topk": 512,
            "num_hidden_layers": 6, "layer_types": vec!["deepseek_sparse_attention"; 6]});
        latent(with(indexer, changes))
    };
    let reusing = |changes: Value| -> u32 {
        let read = model(&sparse(changes)).spec;
        let reuses = |group: &&LayerGroup| {
            let Attention::Mla(mla) = group.attention else { panic!("latent attention") };
            let indexer = mla.indexer.unwrap();
            assert!([[16, 64, 512], [0, 0, 512]].contains(&[indexer.heads, indexer.head_dim, indexer.top_k]));
            indexer.heads == 0
        };
        read.layers.iter().filter(reuses).map(|group| group.layers).sum()
    };
    assert_eq!(reusing(json!({})), 0);
    // Layers 0, 1, 3 and 5 have an indexer; 0, 1, 2 and 5 with the offset.
    assert_eq!(reusing(json!({"index_topk_freq": 2})), 2);
    assert_eq!(reusing(json!({"index_topk_freq": 3, "index_skip_topk_offset": 3})), 2);
    let types = json!(["full", "shared", "shared", "full", "shared", "shared"]);
    assert_eq!(reusing(json!({"indexer_types": types})), 4);
    for (changes, expected) in [
        (json!({"indexer_types": ["full"]}), "indexer_types: expected an entry for each of the 6 layers, found 1"),
        (json!({"indexer_types": vec!["shared"; 6]}), "indexer_types: a first layer without an indexer cannot be"),
        (json!({"indexer_types": vec!["none"; 6]}), "indexer_types: an indexer of type none cannot be modelled yet"),
        (
            json!({"indexer_types": types, "index_topk_freq": 2}),
            "indexer_types: a list that disagrees with index_topk_freq",
        ),
        (
            json!({"index_topk_freq": 4, "index_skip_topk_offset": 0}),
            "index_topk_freq: a first layer without an indexer",
        ),
        (json!({"index_topk_freq": 0}), "index_topk_freq: expected a positive number, found 0"),
        (json!({"index_topk_pattern": "FFSS"}), "index_topk_pattern: this key shapes the model"),
        (json!({"layer_types": vec!["linear_attention"; 6]}), "layer_types: layers of type linear_attention cannot"),
    ] {
        let message = refusal(sparse(changes).to_string());
        assert!(message.starts_with(expected), "{message}");
    }
    // Read as a Llama, these keys have no effect.
    let assumed = read(sparse(json!({"index_topk_freq": 2})).to_string(), Options::default().assuming_llama()).unwrap();
    assert!(assumed.ignored.contains(&"index_topk_freq".to_owned()), "{:?}", assumed.ignored);
}

#[test]
fn an_ffn_without_a_gate_has_two_projections() {
    let gated = |changes| match spec(changes).layers[0].ffn {
        Ffn::Dense { gated, .. } => gated,
        other => panic!("{other:?}"),
    };
    assert!(gated(json!({"hidden_act": "silu"})));
    assert!(!gated(json!({"model_type": "apertus", "hidden_act": "xielu"})));
    assert!(!gated(json!({"model_type": "nemotron", "hidden_act": "relu2"})));
    assert!(!gated(json!({"model_type": "gpt_neox", "hidden_act": "gelu"})));
    let wide = spec(json!({"model_type": "falcon", "intermediate_size": null}));
    assert!(matches!(wide.layers[0].ffn, Ffn::Dense { intermediate: 16_384, gated: false, .. }));
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
        let config = config(with(experts.clone(), changes));
        let Ffn::Moe { shared_intermediate, .. } = model(&config).spec.layers[0].ffn else {
            panic!("experts");
        };
        assert_eq!(shared_intermediate, expected, "{config}");
    }
}

#[test]
fn the_longest_request_is_scaled_as_vllm_derives_it() {
    let longest = |model_type: &str, scaling: Value| {
        let keys = json!({"model_type": model_type, "max_position_embeddings": 40_960, "sliding_window": null});
        spec(with(keys, json!({"rope_scaling": scaling}))).max_model_len
    };
    let yarn = json!({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768});
    for (scaling, expected) in [
        (Value::Null, 40_960),
        (yarn.clone(), 131_072),
        (json!({"type": "yarn", "factor": 4, "original_max_position_embeddings": 32_768}), 131_072),
        (json!({"type": "linear", "factor": 2.5}), 102_400),
        (json!({"type": "dynamic", "factor": 2}), 81_920),
        (json!({"rope_type": "default"}), 40_960),
        (json!({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}), 40_960),
        (json!({"type": "longrope", "factor": 32.0}), 40_960),
    ] {
        assert_eq!(longest("llama", scaling.clone()), expected, "{scaling}");
    }
    // The positions of a Gemma 3 are scaled in its file.
    assert_eq!(longest("gemma3_text", json!({"rope_type": "linear", "factor": 8.0})), 40_960);
    let newer = json!({"max_position_embeddings": 40_960, "rope_parameters": yarn});
    assert_eq!(spec(newer).max_model_len, 131_072);
    let wrong = refusal(config(json!({"rope_scaling": {"type": "linear", "factor": "two"}})).to_string());
    assert_eq!(wrong, "rope_scaling.factor: expected a number, found \"two\"; correct the file");
}
