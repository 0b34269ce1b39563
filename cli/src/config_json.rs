//! The dimensions of a model from a Hugging Face `config.json`.

use std::fmt;

use rooflut::hardware::Dtype;
use rooflut::model::{Ffn, ModelSpec, SpecError};
use serde::Deserialize;

use crate::quantization::{Formats, QuantizationConfig};

/// Why a `config.json` does not give a model.
#[derive(Debug)]
pub(crate) enum ConfigError {
    /// It is not JSON, or a field has another type.
    Json(serde_json::Error),
    /// A field is missing.
    Missing(&'static str),
    /// It describes something that the step model does not know.
    Unsupported {
        /// The field that says so.
        field: &'static str,
        /// What that means.
        what: String,
    },
    /// The dimensions cannot be.
    Spec(SpecError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Json(error) => {
                write!(
                    f,
                    "{error}; expected the config.json of a Hugging Face model"
                )
            }
            ConfigError::Missing(field) => write!(
                f,
                "{field}: expected a number, found none; add it, or use the config.json of a \
                 decoder-only transformer"
            ),
            ConfigError::Unsupported { field, what } => write!(
                f,
                "{field}: {what} cannot be modelled; use a model of full attention, gated FFNs or \
                 experts, and layers that are all alike"
            ),
            ConfigError::Spec(error) => write!(f, "{error}; correct the file"),
        }
    }
}

/// The fields that matter.
#[derive(Deserialize)]
struct Config {
    text_config: Option<Box<Config>>,
    model_type: Option<String>,
    hidden_size: Option<u32>,
    num_hidden_layers: Option<u32>,
    num_attention_heads: Option<u32>,
    num_key_value_heads: Option<u32>,
    head_dim: Option<u32>,
    intermediate_size: Option<u32>,
    vocab_size: Option<u32>,
    max_position_embeddings: Option<u32>,
    #[serde(alias = "num_experts", alias = "n_routed_experts")]
    num_local_experts: Option<u32>,
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
pub(crate) fn read(text: &str) -> Result<ModelSpec, ConfigError> {
    let mut config: Config = serde_json::from_str(text).map_err(ConfigError::Json)?;
    if let Some(mut text_config) = config.text_config.take() {
        let quantization = config.quantization_config.take();
        text_config.quantization_config = text_config.quantization_config.or(quantization);
        config = *text_config;
    }
    config.refuse_unsupported()?;
    let spec = config.spec()?;
    spec.check().map_err(ConfigError::Spec)?;
    Ok(spec)
}

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

    fn spec(&self) -> Result<ModelSpec, ConfigError> {
        let hidden = required("hidden_size", self.hidden_size)?;
        let q_heads = required("num_attention_heads", self.num_attention_heads)?;
        let per_head = hidden.checked_div(q_heads).unwrap_or(0);
        let formats = match &self.quantization_config {
            Some(quantization) => quantization.formats(self.experts().is_some()),
            None => Ok(Formats::all(Dtype::Bf16)),
        };
        let formats = formats.map_err(|what| ConfigError::Unsupported {
            field: "quantization_config",
            what,
        })?;
        Ok(ModelSpec {
            hidden,
            layers: required("num_hidden_layers", self.num_hidden_layers)?,
            q_heads,
            kv_heads: self.num_key_value_heads.unwrap_or(q_heads),
            head_dim: self.head_dim.unwrap_or(per_head),
            vocab: required("vocab_size", self.vocab_size)?,
            ffn: self.ffn(formats.experts)?,
            weight_dtype: formats.attention,
            max_model_len: self.max_model_len()?,
        })
    }

    /// The experts, where there are several.
    fn experts(&self) -> Option<u32> {
        self.num_local_experts.filter(|&experts| experts > 1)
    }

    fn ffn(&self, expert_dtype: Dtype) -> Result<Ffn, ConfigError> {
        let Some(experts) = self.experts() else {
            let intermediate = required("intermediate_size", self.intermediate_size)?;
            return Ok(Ffn::Dense { intermediate });
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
        Ok(Ffn::Moe {
            experts,
            top_k: required("num_experts_per_tok", self.num_experts_per_tok)?,
            intermediate,
            shared_intermediate,
            dense_intermediate: self.moe_intermediate_size.and(self.intermediate_size),
            expert_dtype,
        })
    }

    fn is_llama_4(&self) -> bool {
        let kind = self.model_type.as_deref().unwrap_or_default();
        kind.starts_with("llama4")
    }

    fn max_model_len(&self) -> Result<u32, ConfigError> {
        let longest = required("max_position_embeddings", self.max_position_embeddings)?;
        let slides = self.use_sliding_window != Some(false);
        let window = self.sliding_window.filter(|_| slides);
        let limits = [window, self.attention_chunk_size];
        Ok(limits.into_iter().flatten().fold(longest, u32::min))
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

    fn with(fields: &str) -> Result<ModelSpec, ConfigError> {
        let opened = LLAMA.strip_suffix('}').unwrap();
        read(&format!("{opened}, {fields}}}"))
    }

    #[test]
    fn a_dense_model_equals_the_built_in_one() {
        let built_in = rooflut::model::find("llama-3.1-8b").unwrap().spec;
        assert_eq!(read(LLAMA).unwrap(), built_in);
        let nested = format!(r#"{{"model_type": "multimodal", "text_config": {LLAMA}}}"#);
        assert_eq!(read(&nested).unwrap(), built_in);
    }

    #[test]
    fn experts_are_read_under_each_of_their_names() {
        for name in ["num_local_experts", "num_experts", "n_routed_experts"] {
            let fields = format!(
                r#""{name}": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                "decoder_sparse_step": 1, "mlp_only_layers": []"#
            );
            let expected = Ffn::Moe {
                experts: 128,
                top_k: 8,
                intermediate: 768,
                shared_intermediate: 0,
                dense_intermediate: Some(14_336),
                expert_dtype: Dtype::Bf16,
            };
            assert_eq!(with(&fields).unwrap().ffn, expected, "{name}");
        }
    }

    #[test]
    fn a_window_limits_the_length_unless_it_is_off() {
        let length = |fields| with(fields).unwrap().max_model_len;
        assert_eq!(length(r#""attention_chunk_size": 8192"#), 8192);
        let off = LLAMA.replace("null", r#"4096, "use_sliding_window": false"#);
        assert_eq!(read(&off).unwrap().max_model_len, 131_072);
        let on = LLAMA.replace("null", "4096");
        assert_eq!(read(&on).unwrap().max_model_len, 4096);
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
}
