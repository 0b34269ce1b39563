//! The dimensions of a model from a Hugging Face `config.json`.

use rooflut::hardware::Dtype;
use rooflut::model::{ModelSpec, ModelSpecBuilder};
use rooflut::step::compat::CompatSpec;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config_architecture::refuse_state_space;
use crate::config_error::ConfigError;
use crate::config_keys::{Keys, TOP_K};
use crate::config_object::{child, typed};
use crate::quantization::{Formats, QuantizationConfig};

/// What a `config.json` says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigModel {
    /// The dimensions. Where there is a window, the longest sequence is that.
    pub(crate) spec: ModelSpec,
    /// The same for the predecessors' models.
    pub(crate) compat: CompatSpec,
    /// What confines attention.
    pub(crate) window: Option<Window>,
    /// What the file calls the dimensions.
    pub(crate) keys: Keys,
}

/// A limit of attention, up to which it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The key of the file.
    pub(crate) key: &'static str,
    /// Its width.
    pub(crate) tokens: u32,
}

/// The fields that matter.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    hidden_size: Option<u32>,
    num_hidden_layers: Option<u32>,
    num_attention_heads: Option<u32>,
    num_key_value_heads: Option<u32>,
    head_dim: Option<u32>,
    intermediate_size: Option<u32>,
    vocab_size: Option<u32>,
    tie_word_embeddings: Option<bool>,
    max_position_embeddings: Option<u32>,
    num_local_experts: Option<u32>,
    num_experts: Option<u32>,
    n_routed_experts: Option<u32>,
    num_experts_per_tok: Option<u32>,
    moe_intermediate_size: Option<u32>,
    shared_expert_intermediate_size: Option<u32>,
    n_shared_experts: Option<u32>,
    kv_lora_rank: Option<u32>,
    layer_types: Option<Vec<String>>,
    first_k_dense_replace: Option<u32>,
    decoder_sparse_step: Option<u32>,
    interleave_moe_layer_step: Option<u32>,
    mlp_only_layers: Option<Vec<u32>>,
    sliding_window: Option<u32>,
    use_sliding_window: Option<bool>,
    attention_chunk_size: Option<u32>,
    /// Read apart from the others.
    #[serde(skip)]
    quantization_config: Option<QuantizationConfig>,
}

/// The model types whose FFN has no gate.
const UNGATED: [&str; 10] = [
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

/// Reads the text of a `config.json`.
///
/// Where attention slides over a window, or is confined to chunks, the longest sequence is that
/// window: up to there it is full attention.
pub(crate) fn read(text: &str) -> Result<ConfigModel, ConfigError> {
    let outer: Map<String, Value> = serde_json::from_str(text).map_err(ConfigError::Json)?;
    let nested = child("", &outer, "text_config")?;
    let (prefix, object) = match &nested {
        Some(nested) => ("text_config.", nested),
        None => ("", &outer),
    };
    refuse_state_space(&outer)?;
    refuse_state_space(object)?;
    let mut config: Config = typed(prefix, object)?;
    for (prefix, object) in [("", &outer), (prefix, object)] {
        if let Some(quantization) = child(prefix, object, QUANTIZATION)? {
            let prefix = format!("{prefix}{QUANTIZATION}.");
            config.quantization_config = Some(typed(&prefix, &quantization)?);
        }
    }
    config.refuse_unsupported()?;
    let keys = config.keys();
    let built = config.spec()?.build();
    let spec = built.map_err(|error| ConfigError::Spec(keys.rename(error)))?;
    let compat = CompatSpec::from(&spec);
    Ok(ConfigModel {
        spec,
        compat: match config.moe_intermediate_size.and(config.intermediate_size) {
            Some(size) => compat.with_dense_intermediate(size),
            None => compat,
        },
        window: config.window(),
        keys,
    })
}

/// The key of the formats.
const QUANTIZATION: &str = "quantization_config";

impl Config {
    fn refuse_unsupported(&self) -> Result<(), ConfigError> {
        let refuse = |field, what: String| Err(ConfigError::Unsupported { field, what });
        if self.kv_lora_rank.is_some() {
            return refuse("kv_lora_rank", "multi-head latent attention".to_owned());
        }
        let attention =
            |kind: &&String| !kind.ends_with("_attention") || *kind == "linear_attention";
        if let Some(kind) = self.layer_types.iter().flatten().find(attention) {
            return refuse("layer_types", format!("layers of type {kind}"));
        }
        if let Some(kind) = self
            .model_type
            .as_deref()
            .filter(|kind| UNGATED.contains(kind))
        {
            return refuse("model_type", format!("the ungated FFN of {kind}"));
        }
        let mixtures = [
            (
                "first_k_dense_replace",
                self.first_k_dense_replace.unwrap_or(0) > 0,
            ),
            (
                "decoder_sparse_step",
                self.decoder_sparse_step.unwrap_or(1) > 1,
            ),
            (
                "interleave_moe_layer_step",
                self.interleave_moe_layer_step.unwrap_or(1) > 1,
            ),
            (
                "mlp_only_layers",
                self.mlp_only_layers.iter().flatten().count() > 0,
            ),
        ];
        match mixtures.into_iter().find(|(_, mixed)| *mixed) {
            Some((field, _)) if self.experts().is_some() => {
                refuse(field, "a mixture of dense and expert layers".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn spec(&self) -> Result<ModelSpecBuilder, ConfigError> {
        let hidden = required("hidden_size", self.hidden_size)?;
        let q_heads = required("num_attention_heads", self.num_attention_heads)?;
        let per_head = hidden.checked_div(q_heads).unwrap_or(0);
        let formats = match &self.quantization_config {
            Some(quantization) => quantization.formats(self.experts().is_some()),
            None => Ok(Formats::all(Dtype::Bf16)),
        };
        let formats = formats.map_err(|what| ConfigError::Unsupported {
            field: QUANTIZATION,
            what,
        })?;
        let model = ModelSpec::builder()
            .hidden(hidden)
            .layers(required("num_hidden_layers", self.num_hidden_layers)?)
            .q_heads(q_heads)
            .kv_heads(self.num_key_value_heads.unwrap_or(q_heads))
            .head_dim(self.head_dim.unwrap_or(per_head))
            .vocab(required("vocab_size", self.vocab_size)?)
            .weight_dtype(formats.attention)
            .tied_embeddings(self.tie_word_embeddings.unwrap_or(false))
            .max_model_len(self.max_model_len()?);
        self.with_ffn(model, formats.experts)
    }

    /// The experts, where there are several, under one of their names.
    fn experts(&self) -> Option<(&'static str, u32)> {
        [
            ("num_local_experts", self.num_local_experts),
            ("num_experts", self.num_experts),
            ("n_routed_experts", self.n_routed_experts),
        ]
        .into_iter()
        .find_map(|(key, experts)| Some((key, experts.filter(|&experts| experts > 1)?)))
    }

    fn keys(&self) -> Keys {
        let experts = self.experts();
        Keys {
            kv_heads: match self.num_key_value_heads {
                Some(_) => "num_key_value_heads",
                None => "num_attention_heads",
            },
            head_dim: match self.head_dim {
                Some(_) => "head_dim",
                None => "hidden_size / num_attention_heads",
            },
            intermediate: match self.moe_intermediate_size.and(experts) {
                Some(_) => "moe_intermediate_size",
                None => "intermediate_size",
            },
            experts: experts.map_or("num_local_experts", |(key, _)| key),
            shared_intermediate: match self.shared_expert_intermediate_size {
                Some(_) => "shared_expert_intermediate_size",
                None => "n_shared_experts",
            },
            max_model_len: self
                .window()
                .map_or("max_position_embeddings", |window| window.key),
        }
    }

    fn with_ffn(
        &self,
        model: ModelSpecBuilder,
        expert_dtype: Dtype,
    ) -> Result<ModelSpecBuilder, ConfigError> {
        let Some((_, experts)) = self.experts() else {
            let intermediate = required("intermediate_size", self.intermediate_size)?;
            return Ok(model.intermediate(intermediate));
        };
        let intermediate = match self.moe_intermediate_size {
            Some(intermediate) => intermediate,
            None => required("intermediate_size", self.intermediate_size)?,
        };
        let shared_intermediate =
            match (self.shared_expert_intermediate_size, self.n_shared_experts) {
                (Some(width), _) => width,
                (None, Some(shared)) => shared.saturating_mul(intermediate),
                // Llama 4 has one shared expert, as wide as the others, and does not say so.
                (None, None) if self.is_llama_4() => intermediate,
                (None, None) => 0,
            };
        Ok(model
            .experts(experts)
            .top_k(required(TOP_K, self.num_experts_per_tok)?)
            .intermediate(intermediate)
            .shared_intermediate(shared_intermediate)
            .expert_dtype(expert_dtype))
    }

    fn is_llama_4(&self) -> bool {
        let kind = self.model_type.as_deref().unwrap_or_default();
        kind.starts_with("llama4")
    }

    fn max_model_len(&self) -> Result<u32, ConfigError> {
        let longest = required("max_position_embeddings", self.max_position_embeddings)?;
        Ok(self.window().map_or(longest, |window| window.tokens))
    }

    /// The narrowest window that is shorter than the longest sequence.
    fn window(&self) -> Option<Window> {
        let slides = self.use_sliding_window != Some(false);
        let sliding = self.sliding_window.filter(|_| slides);
        let longest = self.max_position_embeddings.unwrap_or(u32::MAX);
        let windows = [
            ("sliding_window", sliding),
            ("attention_chunk_size", self.attention_chunk_size),
        ];
        windows
            .into_iter()
            .filter_map(|(key, tokens)| {
                Some(Window {
                    key,
                    tokens: tokens?,
                })
            })
            .filter(|window| window.tokens < longest)
            .min_by_key(|window| window.tokens)
    }
}

fn required(field: &'static str, value: Option<u32>) -> Result<u32, ConfigError> {
    value.ok_or(ConfigError::Missing(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLAMA: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128256, "max_position_embeddings": 131072, "sliding_window": null}"#;

    fn read_spec(text: &str) -> Result<ModelSpec, ConfigError> {
        read(text).map(|model| model.spec)
    }

    fn with(fields: &str) -> Result<ModelSpec, ConfigError> {
        let opened = LLAMA.strip_suffix('}').unwrap();
        read_spec(&format!("{opened}, {fields}}}"))
    }

    #[test]
    fn a_dense_model_equals_the_built_in_one() {
        let built_in = rooflut::model::find("llama-3.1-8b").unwrap().spec;
        assert_eq!(read_spec(LLAMA).unwrap(), built_in);
        let nested = format!(r#"{{"model_type": "multimodal", "text_config": {LLAMA}}}"#);
        assert_eq!(read_spec(&nested).unwrap(), built_in);
    }

    #[test]
    fn experts_are_read_under_each_of_their_names() {
        for name in ["num_local_experts", "num_experts", "n_routed_experts"] {
            let fields = format!(
                r#""{name}": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                "decoder_sparse_step": 1, "mlp_only_layers": []"#
            );
            let expected = rooflut::model::find("qwen3-30b-a3b").unwrap().spec.ffn;
            assert_eq!(with(&fields).unwrap().ffn, expected, "{name}");
        }
    }

    #[test]
    fn a_window_limits_the_length_unless_it_is_off() {
        let length = |fields| with(fields).unwrap().max_model_len;
        assert_eq!(length(r#""attention_chunk_size": 8192"#), 8192);
        let off = LLAMA.replace("null", r#"4096, "use_sliding_window": false"#);
        let read = |text: &str| read(text).map(|model| (model.spec.max_model_len, model.window));
        assert_eq!(read(&off).unwrap(), (131_072, None));
        let on = LLAMA.replace("null", "4096");
        let window = Window {
            key: "sliding_window",
            tokens: 4096,
        };
        assert_eq!(read(&on).unwrap(), (4096, Some(window)));
        let wide = LLAMA.replace("null", "131072");
        assert_eq!(read(&wide).unwrap(), (131_072, None));
    }

    #[test]
    fn what_cannot_be_modelled_is_refused_by_name() {
        let experts = r#""num_experts": 8, "num_experts_per_tok": 2"#;
        for (fields, field) in [
            (r#""kv_lora_rank": 512"#.to_owned(), "kv_lora_rank"),
            (r#""layer_types": ["mamba"]"#.to_owned(), "layer_types"),
            (
                r#""quantization_config": {"quant_method": "awq"}"#.to_owned(),
                "quantization_config",
            ),
            (
                format!(r#"{experts}, "first_k_dense_replace": 1"#),
                "first_k_dense_replace",
            ),
        ] {
            let message = with(&fields).unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
        let missing = LLAMA.replace("hidden_size", "hidden");
        let message = read(&missing).unwrap_err().to_string();
        assert!(
            message.starts_with("hidden_size: expected a number"),
            "{message}"
        );
        assert!(read("[]").is_err());
    }

    #[test]
    fn messages_name_the_keys_of_the_file() {
        for (from, to, expected) in [
            (
                "num_key_value_heads\": 8",
                "num_key_value_heads\": 7",
                "num_attention_heads: expected a multiple of num_key_value_heads (7), found 32",
            ),
            (
                "num_hidden_layers\": 32",
                "num_hidden_layers\": 0",
                "num_hidden_layers: expected a positive number, found 0",
            ),
            (
                "hidden_size\": 4096",
                "hidden_size\": 4096000",
                "hidden_size: expected at most",
            ),
            (
                "vocab_size\": 128256",
                "vocab_size\": 0",
                "vocab_size: expected a positive",
            ),
            ("null", "0", "sliding_window: expected a positive"),
            (
                "null}",
                "null, \"num_experts\": 5000, \"num_experts_per_tok\": 2}",
                "num_experts: expected at most",
            ),
            (
                "null}",
                "null, \"num_experts\": 8, \"num_experts_per_tok\": 9}",
                "num_experts_per_tok: expected at most the 8 experts, found 9",
            ),
            (
                "null}",
                "null, \"num_experts\": 8, \"num_experts_per_tok\": 2, \
             \"moe_intermediate_size\": 0}",
                "moe_intermediate_size: expected a positive",
            ),
        ] {
            let message = read(&LLAMA.replace(from, to)).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_named_by_its_key() {
        for (fields, expected) in [
            (
                r#""head_dim": "128""#,
                "head_dim: invalid type: string \"128\", expected a whole number; correct the file",
            ),
            (
                r#""moe_intermediate_size": -1"#,
                "moe_intermediate_size: invalid value",
            ),
            (r#""text_config": []"#, "text_config: invalid type"),
            (
                r#""quantization_config": "fp8""#,
                "quantization_config: invalid type",
            ),
            (r#""layer_types": 5"#, "layer_types: invalid type"),
            (
                r#""quantization_config": {"ignore": 3}"#,
                "quantization_config.ignore: invalid type",
            ),
            (
                r#""text_config": {"hidden_size": 1.5}"#,
                "text_config.hidden_size: invalid type",
            ),
        ] {
            let message = with(fields).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
