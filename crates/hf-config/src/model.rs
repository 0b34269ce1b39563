//! The model that a `config.json` describes.

use rooflut::hardware::Dtype;
use rooflut::model::{ModelSpec, ModelSpecBuilder};
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::ffn;
use crate::keys::{Dimension, Field, Keys};
use crate::object::Object;
use crate::quantization::{Formats, QUANTIZATION};
use crate::unsupported::{refuse_layers, refuse_state_space};

/// The model that a `config.json` describes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HfModel {
    /// Its dimensions. Where attention has a window, the longest sequence is that window.
    pub spec: ModelSpec,
    /// `intermediate_size` where the experts have a width of their own, `moe_intermediate_size`.
    pub dense_intermediate: Option<u32>,
    /// The window of attention.
    pub window: Option<Window>,
    /// The keys of the dimensions.
    pub keys: Keys,
}

/// A window or chunk that attention is limited to. Up to its width, attention is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its key.
    pub key: &'static str,
    /// Its width in tokens.
    pub tokens: u32,
}

/// Reads the text of a `config.json`.
///
/// The dimensions of a multimodal model are those of its `text_config`. Where attention slides over
/// a window, or is limited to chunks, the longest sequence of the model is the narrowest of them,
/// since windows are not modelled.
///
/// # Errors
///
/// [`ConfigError`] if the text is not a JSON object, lacks a dimension, or describes a model that
/// rooflut cannot time.
pub fn read(json: impl AsRef<[u8]>) -> Result<HfModel, ConfigError> {
    let file: Map<String, Value> =
        serde_json::from_slice(json.as_ref()).map_err(ConfigError::Json)?;
    let outer = Object::outermost(&file);
    let nested = outer.object("text_config")?;
    let config = nested.as_ref().unwrap_or(&outer);
    refuse_state_space(&outer)?;
    refuse_state_space(config)?;
    refuse_layers(config)?;
    let fields = fields(config)?;
    let keys = Keys::new(&fields);
    let formats = formats(config, &outer)?;
    let builder = ModelSpec::builder()
        .weight_dtype(formats.attention)
        .tied_embeddings(config.switch("tie_word_embeddings")?.unwrap_or(false));
    let builder = match ffn::experts(config)? {
        Some(_) => builder.expert_dtype(formats.experts),
        None => builder,
    };
    let builder = fields.iter().fold(builder, |builder, field| {
        (field.set)(builder, field.dimension.value)
    });
    let spec = builder.build();
    Ok(HfModel {
        spec: spec.map_err(|error| ConfigError::Spec(keys.rename(error)))?,
        dense_intermediate: dense_intermediate(config)?,
        window: window(config)?,
        keys,
    })
}

/// Reads all dimensions.
fn fields(config: &Object<'_>) -> Result<Vec<Field>, ConfigError> {
    let hidden = config.required("hidden_size")?;
    let q_heads = config.required("num_attention_heads")?;
    let head_dim = Dimension {
        key: "hidden_size / num_attention_heads",
        value: hidden.value.checked_div(q_heads.value).unwrap_or(0),
    };
    let max_model_len = match window(config)? {
        Some(Window { key, tokens: value }) => Dimension { key, value },
        None => config.required(POSITIONS)?,
    };
    let field = |name, set, dimension| Field {
        name,
        set,
        dimension,
    };
    let mut fields = vec![
        field("hidden", ModelSpecBuilder::hidden, hidden),
        field(
            "layers",
            ModelSpecBuilder::layers,
            config.required("num_hidden_layers")?,
        ),
        field("q_heads", ModelSpecBuilder::q_heads, q_heads),
        field(
            "kv_heads",
            ModelSpecBuilder::kv_heads,
            config.dimension("num_key_value_heads")?.unwrap_or(q_heads),
        ),
        field(
            "head_dim",
            ModelSpecBuilder::head_dim,
            config.dimension("head_dim")?.unwrap_or(head_dim),
        ),
        field(
            "vocab",
            ModelSpecBuilder::vocab,
            config.required("vocab_size")?,
        ),
        field(
            "max_model_len",
            ModelSpecBuilder::max_model_len,
            max_model_len,
        ),
    ];
    fields.extend(match ffn::experts(config)? {
        Some(experts) => ffn::expert_fields(config, experts)?,
        None => ffn::dense_fields(config)?,
    });
    Ok(fields)
}

/// Reads the number formats, which a multimodal model has beside its `text_config` or in it.
fn formats(config: &Object<'_>, outer: &Object<'_>) -> Result<Formats, ConfigError> {
    let quantization = match config.object(QUANTIZATION)? {
        Some(quantization) => Some(quantization),
        None => outer.object(QUANTIZATION)?,
    };
    match quantization {
        Some(quantization) => Formats::read(&quantization, ffn::experts(config)?.is_some()),
        None => Ok(Formats::all(Dtype::Bf16)),
    }
}

/// `intermediate_size`, where the experts have a size of their own.
fn dense_intermediate(config: &Object<'_>) -> Result<Option<u32>, ConfigError> {
    match config.dimension("moe_intermediate_size")? {
        Some(_) => Ok(config
            .dimension("intermediate_size")?
            .map(|size| size.value)),
        None => Ok(None),
    }
}

/// The key of the longest sequence.
const POSITIONS: &str = "max_position_embeddings";

/// The narrowest window that is shorter than the longest sequence.
fn window(config: &Object<'_>) -> Result<Option<Window>, ConfigError> {
    let longest = config.required(POSITIONS)?.value;
    let slides = config.switch("use_sliding_window")?.unwrap_or(true);
    let sliding = config.dimension("sliding_window")?.filter(|_| slides);
    let chunk = config.dimension("attention_chunk_size")?;
    let windows = [sliding, chunk].into_iter().flatten();
    let windows = windows.map(|Dimension { key, value: tokens }| Window { key, tokens });
    Ok(windows
        .filter(|window| window.tokens < longest)
        .min_by_key(|window| window.tokens))
}

#[cfg(test)]
mod tests {
    use rooflut::model::Ffn;

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
    fn a_shared_expert_is_read_from_its_width_or_its_count() {
        let experts =
            r#""num_experts": 16, "num_experts_per_tok": 1, "moe_intermediate_size": 768"#;
        for (fields, expected) in [
            ("", 0),
            (r#", "n_shared_experts": 2"#, 1536),
            (r#", "shared_expert_intermediate_size": 512"#, 512),
            (r#", "model_type": "llama4_text""#, 768),
        ] {
            let Ffn::Moe {
                shared_intermediate,
                ..
            } = with(&format!("{experts}{fields}")).unwrap().ffn
            else {
                panic!("experts");
            };
            assert_eq!(shared_intermediate, expected, "{fields}");
        }
        let config = LLAMA.replace('}', &format!(", {experts}}}"));
        assert_eq!(read(config).unwrap().dense_intermediate, Some(14_336));
        assert_eq!(read(LLAMA).unwrap().dense_intermediate, None);
    }

    #[test]
    fn number_formats_may_stand_beside_the_dimensions_of_the_text() {
        let fp8 = r#""quantization_config": {"quant_method": "fp8"}"#;
        let beside = format!(r#"{{{fp8}, "text_config": {LLAMA}}}"#);
        assert_eq!(read_spec(&beside).unwrap().weight_dtype, Dtype::Fp8);
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
            let message = read(LLAMA.replace(from, to)).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
