//! Formats of weights and KV entries, and samplers.

use crate::{config, model};
use rooflut::hardware::Dtype;
use rooflut::model::{Sampler, find};
use rooflut_hf_config::{Options, Remedy, read};
use serde_json::{Value, json};

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
    let given = options.with_weight_dtype(Some(Dtype::Bf16)).with_kv_dtype(Some(Dtype::Bf16));
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
    assert_eq!(read(&text, options).unwrap().spec.layers[0].attention_dtype, Dtype::Nvfp4);
}

#[test]
fn for_memory_only_a_format_without_kernels_is_replaced_by_one_of_its_size() {
    let groups = |weights: Value| {
        let group = json!({"targets": ["Linear"], "weights": weights, "input_activations": null});
        json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"]})
    };
    let int4 = json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128});
    let int8 = json!({"num_bits": 8, "type": "int", "strategy": "channel"});
    for (quantization, dtype, format) in [
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": 128}),
            Dtype::Int4,
            "quantization_config.quant_method: gptq weights",
        ),
        (json!({"quant_method": "awq", "bits": 4}), Dtype::Int4, "quantization_config.quant_method: awq weights"),
        (
            json!({"quant_method": "bitsandbytes", "load_in_8bit": true}),
            Dtype::Fp8,
            "quantization_config.quant_method: bitsandbytes weights",
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}),
            Dtype::Int4,
            "quantization_config.quant_algo: W4A8_AWQ weights",
        ),
        (
            groups(int4),
            Dtype::Int4,
            "quantization_config.config_groups.group_0.weights: 4-bit int weights with a scale per group of 128",
        ),
        (
            groups(int8),
            Dtype::Fp8,
            "quantization_config.config_groups.group_0.weights: 8-bit int weights with a scale per channel",
        ),
    ] {
        let text = config(json!({"quantization_config": quantization})).to_string();
        let options = Options::default();
        assert!(read(&text, options).is_err(), "{format}");
        let found = read(&text, options.for_memory_only()).unwrap();
        let layer = found.spec.layers[0];
        assert_eq!([layer.attention_dtype, layer.ffn_dtype], [dtype; 2]);
        let stand_in = found.stand_in.unwrap();
        assert_eq!((stand_in.format.as_str(), stand_in.dtype), (format, dtype));
        // A given format is another choice.
        let given = options.for_memory_only().with_weight_dtype(Some(Dtype::Nvfp4));
        let given = read(&text, given).unwrap();
        assert_eq!(given.spec.layers[0].ffn_dtype, Dtype::Nvfp4);
        assert_eq!(given.stand_in, None);
    }
    // Formats that are known stay, and a number of bits that is not named is no format.
    let known = config(json!({"quantization_config": {"quant_method": "fp8"}})).to_string();
    let known = read(known, Options::default().for_memory_only()).unwrap();
    assert_eq!(known.stand_in, None);
    for quantization in [json!({"quant_method": "gguf"}), json!({"quant_method": "gptq", "bits": 3})] {
        let text = config(json!({"quantization_config": quantization})).to_string();
        let refused = read(&text, Options::default().for_memory_only()).unwrap_err();
        assert_eq!(refused.remedy(), Some(Remedy::WeightDtype));
    }
}

#[test]
fn a_given_format_of_quantised_weights_keeps_what_their_publisher_left_at_16_bits() {
    let formats = |quantization: Value, dtype| {
        let experts = json!({"model_type": "mixtral", "num_local_experts": 8,
            "num_experts_per_tok": 2, "quantization_config": quantization});
        let options = Options::default().with_weight_dtype(Some(dtype));
        let group = read(config(experts).to_string(), options).unwrap().spec.layers[0];
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
        (r#"{"top_p": 0.9, "top_k": null, "unknown": {}}"#, Sampler::TopP),
        (r#"{"top_p": 0.9}"#, Sampler::TopP),
        (r#"{"top_k": 20, "repetition_penalty": 1}"#, Sampler::TopP),
        (r#"{"top_p": 0.8, "repetition_penalty": 1.05}"#, Sampler::RepetitionPenalty),
    ] {
        assert_eq!(with(text).unwrap(), sampler, "{text}");
    }
    for (text, expected) in [
        ("no JSON", "generation_config.json: expected ident"),
        (
            r#"{"top_p": "all"}"#,
            "generation_config.json: top_p: expected a number above 0 and at most 1, found \"all\"",
        ),
        (r#"{"top_p": 1.5}"#, "generation_config.json: top_p: expected a number above 0 and at most 1, found 1.5"),
        (r#"{"top_k": 2.5}"#, "generation_config.json: top_k: expected a whole number of at least -1, found 2.5"),
        (r#"{"temperature": -1}"#, "generation_config.json: temperature: expected a number of at least 0, found -1"),
        (
            r#"{"repetition_penalty": 0}"#,
            "generation_config.json: repetition_penalty: expected a number above 0, found 0",
        ),
    ] {
        let message = with(text).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
