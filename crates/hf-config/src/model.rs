//! The model that a `config.json` describes.

use rooflut::hardware::Dtype;
use rooflut::model::{Ffn, ModelSpec, ModelSpecBuilder, SpecError};

use crate::error::ConfigError;
use crate::family::Family;
use crate::ffn::{self, required};
use crate::json::parse;
use crate::keys::{Dimension, Field, Keys};
use crate::modules::Modules;
use crate::object::{Object, shown};
use crate::options::Options;
use crate::quantization::Formats;
use crate::refused;
use crate::structure;
use crate::window::{self, Window};

/// The model that a `config.json` describes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HfModel {
    /// Its dimensions. Where attention has a window, the longest sequence is that window.
    pub spec: ModelSpec,
    /// Format of the KV entries, where the files name one.
    pub kv_dtype: Option<Dtype>,
    /// `intermediate_size` where the experts have a width of their own, `moe_intermediate_size`.
    pub dense_intermediate: Option<u32>,
    /// The window of attention.
    pub window: Option<Window>,
    /// The keys of the dimensions.
    pub keys: Keys,
}

/// Reads the text of a `config.json`.
///
/// The dimensions of a multimodal model are those of its `text_config`. Where attention slides over a window, or is
/// limited to chunks, the longest sequence of the model is the narrowest of them, since windows are not modelled.
///
/// # Errors
///
/// [`ConfigError`] if the text is not a JSON object, lacks a dimension, or describes a model that rooflut cannot time:
/// one of an unknown type, with a key that shapes it and is not known for this type, or with a feature that is not
/// modelled.
pub fn read(json: impl AsRef<[u8]>, options: Options<'_>) -> Result<HfModel, ConfigError> {
    let file = parse(json.as_ref()).map_err(ConfigError::Json)?;
    let outer = Object::outermost("", &file);
    let nested = nested(&outer)?;
    let config = nested.as_ref().unwrap_or(&outer);
    let (family, model_type) = family(config, options.assume_llama)?;
    let hidden = required(config.dimension(HIDDEN)?, HIDDEN)?;
    let layers = required(config.dimension(LAYERS)?, LAYERS)?;
    let positions = required_or_default(config, &family, LONGEST)?;
    let window = window::read(config, &family, layers.value, positions.value)?;
    let ffn = ffn::read(config, &family, hidden, layers.value)?;
    let attention = attention(config, &family, hidden)?;
    let tied = config.switch(TIED)?;
    // OPT: embeddings as wide as the hidden state need no projection.
    let projection = config.dimension(&[PROJECTION])?;
    if projection.is_some_and(|width| width.value != hidden.value) && !family.assumed {
        return Err(ConfigError::UnknownKey {
            key: config.name(PROJECTION),
            model_type: model_type.to_owned(),
        });
    }
    let vocab = required_or_default(config, &family, VOCAB)?;
    if !options.assume_llama {
        structure::check(config, model_type)?;
    }
    let longest = match window {
        Some(Window { key, tokens: value }) => Dimension { key, value },
        None => positions,
    };
    let positions = Dimension {
        value: family
            .positions
            .map_or(0, |more| positions.value.saturating_add(more)),
        ..positions
    };
    let mut fields = vec![
        Field::new("hidden", ModelSpecBuilder::hidden, hidden),
        Field::new("layers", ModelSpecBuilder::layers, layers),
        Field::new("vocab", ModelSpecBuilder::vocab, vocab),
        Field::new("positions", ModelSpecBuilder::positions, positions),
        Field::new("max_model_len", ModelSpecBuilder::max_model_len, longest),
    ];
    fields.extend(attention);
    fields.extend(ffn.fields);
    let keys = Keys::new(&fields);
    let builder = ModelSpec::builder()
        .gated(ffn.gated)
        .tied_embeddings(tied.or(outer.switch(TIED)?).unwrap_or(family.tied));
    let builder = fields.iter().fold(builder, |builder, field| {
        (field.set)(builder, field.dimension.value)
    });
    let spec = builder.build();
    let mut spec = spec.map_err(|error| ConfigError::Spec(keys.rename(error)))?;
    let formats = formats(config, &outer, &options, Modules::of(&spec))?;
    spec.weight_dtype = formats.attention;
    if let Ffn::Moe { expert_dtype, .. } = &mut spec.ffn {
        *expert_dtype = formats.ffn;
    }
    Ok(HfModel {
        spec,
        kv_dtype: formats.kv,
        dense_intermediate: ffn.dense_intermediate,
        window,
        keys,
    })
}

const HIDDEN: &[&str] = &["hidden_size", "n_embd", "n_embed", "d_model"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
const Q_HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads"];
const KV_HEADS: &[&str] = &[
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "attn_config.kv_n_heads",
];
const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels"];
// The vocabulary as padded comes first.
const VOCAB: &[&str] = &["padded_vocab_size", "vocab_size"];
const LONGEST: &[&str] = &[
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
];
const PROJECTION: &str = "word_embed_proj_dim";
const TIED: &str = "tie_word_embeddings";

/// Returns the object with the dimensions of the text model, if there is one.
fn nested<'j>(outer: &Object<'j>) -> Result<Option<Object<'j>>, ConfigError> {
    for key in ["text_config", "llm_config", "language_config"] {
        if let Some(nested) = outer.object(key)? {
            return Ok(Some(nested));
        }
    }
    Ok(None)
}

/// Returns the family of the model, and its type.
fn family<'j>(config: &Object<'j>, assume_llama: bool) -> Result<(Family, &'j str), ConfigError> {
    const KEY: &str = "model_type";
    let Some(model_type) = config.text(KEY)? else {
        let found = None;
        return match assume_llama {
            true => Ok((Family::ASSUMED, "")),
            false => Err(ConfigError::UnknownType { found }),
        };
    };
    let family = match Family::find(model_type) {
        Some(family) if assume_llama => family.assumed(),
        Some(family) => *family,
        None if assume_llama => Family::ASSUMED,
        None => {
            return Err(match refused::feature(model_type) {
                Some(feature) => ConfigError::Unsupported {
                    key: config.name(KEY),
                    feature: format!("{model_type} has {feature}, which"),
                },
                None => ConfigError::UnknownType {
                    found: Some(shown(model_type)),
                },
            });
        }
    };
    Ok((family, model_type))
}

/// Reads a dimension that the model cannot be without, or takes that of its family.
fn required_or_default(
    config: &Object<'_>,
    family: &Family,
    keys: &'static [&'static str],
) -> Result<Dimension, ConfigError> {
    required(dimension_or_default(config, family, keys)?, keys)
}

fn dimension_or_default(
    config: &Object<'_>,
    family: &Family,
    keys: &'static [&'static str],
) -> Result<Option<Dimension>, ConfigError> {
    let default = |&key: &&'static str| {
        let value = family.default(key, config)?;
        Some(Dimension { key, value })
    };
    Ok(config
        .dimension(keys)?
        .or_else(|| keys.iter().find_map(default)))
}

/// Reads the dimensions of the attention heads.
fn attention(
    config: &Object<'_>,
    family: &Family,
    hidden: Dimension,
) -> Result<[Field; 3], ConfigError> {
    let q_heads = required_or_default(config, family, Q_HEADS)?;
    // Falcon has one KV head where these say so, ChatGLM as many as query heads.
    let is_new = config.switch("new_decoder_architecture")? == Some(true);
    let is_single = config.switch("multi_query")? == Some(true) && !is_new;
    let is_grouped = config.switch("multi_query_attention")? != Some(false);
    let kv_heads = dimension_or_default(config, family, KV_HEADS)?.filter(|_| is_grouped);
    let kv_heads = match is_single {
        true => Dimension {
            key: "multi_query",
            value: 1,
        },
        false => kv_heads.unwrap_or(q_heads),
    };
    let head_dim = match dimension_or_default(config, family, HEAD_DIM)? {
        Some(head_dim) => head_dim,
        None if hidden
            .value
            .checked_rem(q_heads.value)
            .is_some_and(|rest| rest > 0) =>
        {
            return Err(ConfigError::Spec(SpecError::NotDivisible {
                field: hidden.key,
                found: hidden.value,
                by: q_heads.key,
                divisor: q_heads.value,
            }));
        }
        None => Dimension {
            key: "hidden_size / num_attention_heads",
            value: hidden.value.checked_div(q_heads.value).unwrap_or(0),
        },
    };
    Ok([
        Field::new("q_heads", ModelSpecBuilder::q_heads, q_heads),
        Field::new("kv_heads", ModelSpecBuilder::kv_heads, kv_heads),
        Field::new("head_dim", ModelSpecBuilder::head_dim, head_dim),
    ])
}

/// Reads the number formats, which a multimodal model has beside its `text_config` or in it, and NVIDIA's models in a
/// file of their own.
fn formats(
    config: &Object<'_>,
    outer: &Object<'_>,
    options: &Options<'_>,
    modules: Modules,
) -> Result<Formats, ConfigError> {
    const KEY: &str = "quantization_config";
    const FILE: &str = "hf_quant_config.json: ";
    const FORMATS: &str = "quantization";
    if let Some(quantization) = config.object(KEY)?.or(outer.object(KEY)?) {
        return Formats::read(&quantization, options, modules);
    }
    let Some(text) = options.hf_quant_config else {
        return Ok(Formats::given(options));
    };
    let file = parse(text).map_err(ConfigError::QuantJson)?;
    let file = Object::outermost(FILE, &file);
    let missing = || file.lacks(FORMATS, "an object");
    let quantization = file.object(FORMATS)?.ok_or_else(missing)?;
    Formats::read_modelopt(&quantization, options, modules)
}
