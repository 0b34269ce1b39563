//! Published models: read with the published number of parameters, or refused by what is not modelled.
//!
//! Each line of the fixture has the keys that shape a model, by the id of the model on Hugging Face, and the number of
//! parameters of its text model. 32 lines were collected from the published files and model cards (GLM-5.2, MiniMax-M3:
//! as NVIDIA's wheel `aisimulate` has them; their counts are those of the dimensions); the others were written down
//! from memory of them, so that a count that disagrees is a reason to look the file up.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut::hardware::Dtype;
use rooflut::model;
use rooflut_hf_config::{ConfigError, HfModel, Options, read};
use serde_json::Value;

/// A line of the fixture.
struct Published {
    model: String,
    billions: f64,
    refused: Option<String>,
    config: String,
    hf_quant_config: Option<String>,
}

impl Published {
    fn read(&self) -> Result<HfModel, ConfigError> {
        let quantization = self.hf_quant_config.as_deref().map(str::as_bytes);
        let options = Options::default().with_hf_quant_config(quantization);
        read(&self.config, options)
    }
}

fn published() -> Vec<Published> {
    let lines = include_str!("fixtures/published.jsonl").lines();
    // Nemotron-H's file has a number that JSON has no word for.
    let lines = lines.map(|line| line.replace("Infinity", r#""<inf>""#));
    let parse = |line: String| -> Value { serde_json::from_str(&line).unwrap() };
    let as_written = |value: &Value| value.to_string().replace(r#""<inf>""#, "Infinity");
    let fields = lines.map(parse);
    let published = fields.map(|fields| Published {
        model: fields["model"].as_str().unwrap().to_owned(),
        billions: fields["billions"].as_f64().unwrap(),
        refused: fields["refused"].as_str().map(str::to_owned),
        config: as_written(&fields["config"]),
        hf_quant_config: fields.get("hf_quant_config").map(as_written),
    });
    published.collect()
}

fn find(model: &str) -> Published {
    let mut all = published().into_iter();
    all.find(|published| published.model == model).unwrap()
}

/// Round numbers of the publisher.
const ROUND: [&str; 8] = [
    "deepseek-ai/DeepSeek-V4-Flash",
    "deepseek-ai/DeepSeek-V4-Pro",
    "hpcai-tech/grok-1",
    "inclusionAI/Ling-lite",
    "nvidia/Nemotron-4-340B-Base",
    "Qwen/Qwen3.5-27B",
    "Qwen/Qwen3.5-35B-A3B",
    "Qwen/Qwen3.5-397B-A17B",
];

#[test]
fn every_model_is_read_as_published_or_refused_by_name() {
    let mut wrong = Vec::new();
    for published in published() {
        let Published { model, billions, .. } = &published;
        match (published.read(), &published.refused) {
            (Err(error), Some(feature)) if error.to_string().contains(feature) => {}
            (Err(error), _) => wrong.push(format!("{model}: {error}")),
            (Ok(read), refused) => {
                let found = read.spec.weight_params() as f64 / 1e9;
                let tolerance = if ROUND.contains(&model.as_str()) { 0.03 } else { 0.005 };
                let error = found / billions - 1.0;
                if refused.is_some() || error.abs() > tolerance {
                    wrong.push(format!("{model}: {found} for {billions}, {refused:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn models_with_other_attention_equal_the_built_in_ones() {
    for model in [
        "deepseek-ai/DeepSeek-V3.2",
        "deepseek-ai/DeepSeek-V4-Flash",
        "deepseek-ai/DeepSeek-V4-Pro",
        "zai-org/GLM-5-FP8",
        "zai-org/GLM-5.2",
        "zai-org/GLM-5.2-FP8",
        "MiniMaxAI/MiniMax-M3",
        "Qwen/Qwen3-Next-80B-A3B-Thinking",
        "Qwen/Qwen3.5-27B",
        "Qwen/Qwen3.5-35B-A3B",
        "Qwen/Qwen3.5-397B-A17B",
    ] {
        let read = find(model).read().unwrap();
        let built_in = model::find(model).unwrap().spec;
        assert_eq!(read.spec.with_sampler(built_in.sampler), built_in, "{model}");
    }
}

#[test]
fn layers_that_draft_tokens_are_counted_apart() {
    for (model, layers) in [
        ("deepseek-ai/DeepSeek-V3", 1),
        ("Qwen/Qwen3.5-27B", 1),
        ("Qwen/Qwen3-Next-80B-A3B-Thinking", 1),
        ("zai-org/GLM-4.5-Air", 1),
        ("deepseek-ai/DeepSeek-V4-Flash", 0),
        ("zai-org/GLM-5.2", 1),
        ("MiniMaxAI/MiniMax-M3", 1),
        ("moonshotai/Kimi-K2-Instruct", 0),
        ("moonshotai/Kimi-K2.5", 0),
        ("MiniMaxAI/MiniMax-M2.5", 0),
    ] {
        let read = find(model).read().unwrap().spec;
        assert_eq!(read.mtp_layers, layers, "{model}");
        let built_in = model::find(model).map(|built_in| built_in.spec.mtp_layers);
        assert!(built_in.is_none_or(|built_in| built_in == layers), "{model}");
    }
}

#[test]
fn formats_of_published_models_are_read() {
    for (model, attention, ffn, kv) in [
        ("MiniMaxAI/MiniMax-M2.5", Dtype::Fp8Block, Dtype::Fp8Block, None),
        ("Qwen/Qwen3-30B-A3B-FP8", Dtype::Fp8Block, Dtype::Fp8Block, None),
        ("openai/gpt-oss-120b", Dtype::Bf16, Dtype::Mxfp4, None),
        ("nvidia/Llama-3.1-70B-Instruct-FP8", Dtype::Fp8, Dtype::Fp8, Some(Dtype::Fp8)),
        ("nvidia/Qwen3-235B-A22B-NVFP4", Dtype::Nvfp4, Dtype::Nvfp4, Some(Dtype::Fp8)),
        ("deepseek-ai/DeepSeek-V3", Dtype::Fp8Block, Dtype::Fp8Block, None),
        ("deepseek-ai/DeepSeek-V4-Flash", Dtype::Fp8Block, Dtype::Mxfp4, None),
        ("moonshotai/Kimi-K2.5", Dtype::Bf16, Dtype::Int4, None),
    ] {
        let read = find(model).read().unwrap();
        let group = read.spec.layers.last().unwrap();
        let found = (group.attention_dtype, group.ffn_dtype, read.kv_dtype);
        assert_eq!(found, (attention, ffn, kv), "{model}");
    }
}

#[test]
fn the_built_in_scout_is_that_of_its_file() {
    let built_in = model::find("llama-4-scout").unwrap();
    let read = find("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic").read().unwrap();
    assert_eq!(read.spec.with_sampler(built_in.spec.sampler), built_in.spec);
}

#[test]
fn the_catalogue_agrees_with_published_files() {
    let mut compared = 0;
    for published in published() {
        let (Some(entry), Ok(read)) = (model::find(&published.model), published.read()) else {
            continue;
        };
        let spec = entry.spec.with_sampler(read.spec.sampler);
        assert_eq!(read.spec, spec, "{}", published.model);
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}
