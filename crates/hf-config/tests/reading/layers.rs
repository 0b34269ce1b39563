//! Layers with windows, dense FFNs or heads of their own.

use crate::{config, delta, model, refusal, spec, with};
use rooflut::hardware::Dtype;
use rooflut::model::{Attention, Ffn, LayerGroup, Span};
use rooflut_hf_config::{HfModel, Options, read};
use serde_json::{Value, json};

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
    #[rustfmt::skip] // A case per line.
    let cases = [
        (json!({"sliding_window": null}), vec![full(32)]),
        (json!({"sliding_window": 4096}), vec![window(32, 4096)]),
        (json!({"sliding_window": 131_072}), vec![full(32)]),
        (json!({"sliding_window": 4096, "use_sliding_window": false}), vec![full(32)]),
        (json!({"sliding_window": 4096, "layer_types": kinds("sliding_attention", 1)}), vec![full(32)]),
        (json!({"sliding_window": 4096, "layer_types": kinds("sliding_attention", 3)}),
            vec![full(11), window(21, 4096)]),
        (json!({"sliding_window": 4096, "sliding_window_pattern": 5}), vec![window(26, 4096), full(6)]),
        (json!({"model_type": "gemma2"}), vec![window(16, 4096), full(16)]),
        (json!({"model_type": "gemma3_text", "sliding_window": 512}), vec![window(27, 512), full(5)]),
        (json!({"model_type": "qwen2", "sliding_window": 4096}), vec![full(32)]),
        (json!({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 20}),
            vec![full(20), window(12, 4096)]),
        (json!({"sliding_window": 9000, "attention_chunk_size": 8192}), vec![(32, Span::Chunk(8192), true)]),
        (json!({"attention_chunk_size": 8192, "layer_types": kinds("chunked_attention", 2)}),
            vec![full(16), (16, Span::Chunk(8192), true)]),
    ];
    for (changes, expected) in cases {
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
    let base = json!({"model_type": "mixtral", "num_experts": 8, "num_local_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": 768});
    for (changes, dense) in [
        (json!({"first_k_dense_replace": 3}), 3),
        (json!({"first_k_dense_replace": 1, "moe_layer_freq": 1}), 1),
        (json!({"moe_layer_start_index": 4}), 4),
        (json!({"moe_layer_start_index": 2, "moe_layer_end_index": 29}), 4),
        (json!({"decoder_sparse_step": 2}), 16),
        (json!({"mlp_only_layers": [0, 31]}), 2),
        (json!({"interleave_moe_layer_step": 2}), 16),
        (json!({"moe_layers": [1, 3, 5]}), 29),
        (json!({"moe_layer_interval": 4}), 24),
    ] {
        let read = model(&config(with(base.clone(), changes.clone())));
        let mut found = groups(&read);
        found.sort_by_key(|(_, _, is_dense)| !is_dense);
        assert_eq!(found, [(dense, Span::Full, true), (32 - dense, Span::Full, false)], "{changes}");
        let of_dense = read.spec.layers.iter().find_map(|group| match group.ffn {
            Ffn::Dense { intermediate, .. } => Some(intermediate),
            _ => None,
        });
        assert_eq!(of_dense, Some(14_336));
    }
    for (key, list) in [("mlp_layer_types", json!(["dense", "sparse"])), ("moe_layer_freq", json!([0, 1]))] {
        let file = config(with(base.clone(), json!({ key: list })));
        let expected = format!("{key}: expected an entry for each of the 32 layers, found 2");
        assert!(refusal(file.to_string()).starts_with(&expected));
    }
}

#[test]
fn layers_without_a_window_may_have_heads_of_their_own() {
    let gemma = |changes: Value| {
        let gemma = json!({"model_type": "gemma4_text", "num_attention_heads": 16,
            "num_key_value_heads": 8, "hidden_size_per_layer_input": 0,
            "attention_k_eq_v": true, "num_global_key_value_heads": 2});
        config(with(gemma, changes)).to_string()
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
    #[rustfmt::skip] // A case per line.
    let cases = [
        (json!({"hidden_size_per_layer_input": 256}),
            "hidden_size_per_layer_input: per-layer embeddings cannot be modelled yet"),
        (json!({"num_kv_shared_layers": 18}),
            "num_kv_shared_layers: layers that share KV entries cannot be modelled yet"),
        (json!({"num_global_key_value_heads": 3}),
            "num_attention_heads: expected a multiple of num_global_key_value_heads (3), found 16"),
        (json!({"global_head_dim": 0}), "global_head_dim: expected a positive number, found 0"),
        (json!({"enable_moe_block": true}), "num_experts: expected a number, found none"),
        (json!({"enable_moe_block": true, "num_experts": 8, "top_k_experts": 2}),
            "moe_intermediate_size: expected a number, found none"),
    ];
    for (changes, expected) in cases {
        let message = refusal(gemma(changes));
        assert!(message.starts_with(expected), "{message}");
    }
    let without = gemma(json!({})).replace("hidden_size_per_layer_input", "unset");
    assert!(refusal(&without).starts_with("hidden_size_per_layer_input: per-layer embeddings"));
    let assumed = read(without, Options::default().assuming_llama()).unwrap();
    assert_eq!(assumed.ignored, ["hidden_size_per_layer_input"]);
}

/// A small model with block-sparse attention.
fn block_sparse(sparse: Value, changes: Value) -> Value {
    let attention = json!({"use_sparse_attention": true, "sparse_attention_freq": [0, 1, 1, 1],
        "sparse_disable_index_value": [0, 1, 1, 1], "sparse_index_dim": 64, "sparse_num_index_heads": 8,
        "sparse_block_size": 128, "sparse_topk_blocks": 16, "sparse_score_type": "max"});
    let keys = json!({"model_type": "minimax_m3", "num_hidden_layers": 4, "num_key_value_heads": 8,
        "sparse_attention_config": with(attention, sparse), "moe_layer_freq": [0, 1, 1, 1],
        "dense_intermediate_size": 4096, "num_local_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2,
        "intermediate_size": 1024, "shared_intermediate_size": 2048, "hidden_act": "swigluoai"});
    config(with(keys, changes))
}

#[test]
fn blocks_of_keys_are_selected_in_the_listed_layers() {
    let read = model(&block_sparse(json!({}), json!({}))).spec;
    let [dense, sparse] = read.layers[..] else { panic!("two groups") };
    assert!(matches!(dense.attention, Attention::Gqa(heads) if heads.kv_heads == 8), "{dense:?}");
    assert!(matches!(dense.ffn, Ffn::Dense { intermediate: 4096, .. }), "{dense:?}");
    let Attention::Msa(of) = sparse.attention else { panic!("block-sparse") };
    let found = [of.q_heads, of.kv_heads, of.head_dim, of.index_dim, of.block, of.top_blocks];
    assert_eq!((sparse.layers, found), (3, [32, 8, 128, 64, 128, 16]));
    let experts = matches!(sparse.ffn, Ffn::Moe { intermediate: 1024, shared_intermediate: 2048, .. });
    assert!(experts, "{sparse:?}");
    // Published files have the model inside of another one, which says its type.
    let mut inner = block_sparse(json!({}), json!({}));
    inner.as_object_mut().unwrap().remove("model_type");
    assert_eq!(model(&json!({"model_type": "minimax_m3_vl", "text_config": inner})).spec, read);
    assert_eq!(read.mtp_layers, 1);
    #[rustfmt::skip] // A case per line.
    let cases = [
        (json!({"sparse_window": 8}), json!({}), "sparse_attention_config.sparse_window: a key of sparse attention that is not known"),
        (json!({"sparse_index_dim": 5000}), json!({}), "sparse_index_dim: expected at most 4096, found 5000"),
        (json!({"sparse_attention_freq": [1, 1]}), json!({}), "sparse_attention_config.sparse_attention_freq: expected an entry for each of the 4 layers, found 2"),
        (json!({"sparse_disable_index_value": [0, 0, 0, 0]}), json!({}), "sparse_attention_config.sparse_disable_index_value: an indexer with values cannot be modelled"),
        (json!({"sparse_score_type": "mean"}), json!({}), "sparse_attention_config.sparse_score_type: the score mean cannot be modelled"),
        (json!({"sparse_num_index_heads": 4}), json!({}), "sparse_attention_config.sparse_num_index_heads: 4 heads of the indexer beside 8 KV heads cannot be"),
        (json!({"use_sparse_attention": false}), json!({}), "sparse_attention_config.use_sparse_attention: layers of this type without sparse attention cannot"),
        (json!({"sparse_block_size": null}), json!({}), "sparse_attention_config.sparse_block_size: expected a number, found none"),
        (json!({"sparse_topk_blocks": 0}), json!({}), "sparse_attention_config.sparse_topk_blocks: expected a positive number, found 0"),
        (json!({}), json!({"sparse_attention_config": null}), "sparse_attention_config: expected"),
    ];
    for (sparse, changes, expected) in cases {
        let message = refusal(block_sparse(sparse, changes).to_string());
        assert!(message.starts_with(expected), "{message}");
    }
}

/// A small model with attention over compressed keys.
fn compressed(changes: Value) -> Value {
    let keys = json!({"model_type": "deepseek_v4", "num_hidden_layers": 4, "head_dim": 512, "sliding_window": 128,
        "compress_ratios": [0, 4, 128, 4, 0], "index_n_heads": 8, "index_head_dim": 128, "index_topk": 256,
        "o_groups": 4, "o_lora_rank": 256, "q_lora_rank": 512, "hc_mult": 4, "num_nextn_predict_layers": 1,
        "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 1024,
        "num_hash_layers": 1, "expert_dtype": "fp4",
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}});
    config(with(keys, changes))
}

#[test]
fn layers_compress_keys_as_listed() {
    let read = model(&compressed(json!({}))).spec;
    let layer = |group: &LayerGroup| match group.attention {
        Attention::Compressed(of) => (group.layers, of.ratio, of.indexer.map(|indexer| indexer.top_k)),
        other => panic!("{other:?}"),
    };
    let found: Vec<_> = read.layers.iter().map(layer).collect();
    assert_eq!(found, [(1, 0, None), (2, 4, Some(256)), (1, 128, None)]);
    assert_eq!((read.streams, read.mtp_layers), (4, 0));
    let Attention::Compressed(of) = read.layers[1].attention else { panic!("compressed keys") };
    assert_eq!([of.q_heads, of.q_rank, of.head_dim, of.window, of.o_groups, of.o_rank], [32, 512, 512, 128, 4, 256]);
    let formats = |changes| {
        let read = model(&compressed(changes)).spec;
        [read.layers[0].attention_dtype, read.layers[0].ffn_dtype, read.layers[0].shared_dtype]
    };
    assert_eq!(formats(json!({})), [Dtype::Fp8Block, Dtype::Mxfp4, Dtype::Fp8Block]);
    assert_eq!(formats(json!({"expert_dtype": "fp8"})), [Dtype::Fp8Block; 3]);
    assert_eq!(formats(json!({"quantization_config": null})), [Dtype::Bf16; 3]);
    // Releases of others have the format that they say.
    let nvfp4 = json!({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}});
    assert_eq!(formats(nvfp4)[1], Dtype::Nvfp4);
    assert_eq!(formats(json!({"quantization_config": {"quant_method": "fp8"}}))[1], Dtype::Fp8);
    #[rustfmt::skip] // A case per line.
    let cases = [
        (json!({"compress_ratios": [0, 4, 128]}), "compress_ratios: expected an entry for each of the 4 layers, found 3"),
        (json!({"compress_ratios": [0, 4, 128, 4, 0, 4]}), "compress_ratios: expected an entry for each of the 4 layers, found 6"),
        (json!({"compress_ratios": [0, 1, 0, 0]}), "compress_ratios: a model whose layers have a window alone cannot be modelled"),
        (json!({"compress_ratios": [0, 4, 16, 4]}), "compress_ratios: a key for 16 tokens cannot be modelled yet"),
        (json!({"expert_dtype": "int4"}), "expert_dtype: experts in int4 cannot be modelled yet"),
        (json!({"qk_rope_head_dim": 32}), "qk_rope_head_dim: heads with a rotary embedding of 32 cannot be modelled"),
        (json!({"index_topk": null}), "index_topk: expected a number, found none"),
        (json!({"hc_mult": 0}), "hc_mult: expected a positive number, found 0"),
        (json!({"o_groups": 5}), "num_attention_heads: expected a multiple of o_groups (5), found 32"),
        (json!({"swa_heads": 4}), "swa_heads: this key shapes the model"),
        (json!({"layer_types": ["full_attention", "full_attention", "x", "x"]}), "layer_types: layers of type x cannot be modelled"),
    ];
    for (changes, expected) in cases {
        let message = refusal(compressed(changes).to_string());
        assert!(message.starts_with(expected), "{message}");
    }
}
