//! The model that a `config.json` describes.

use rooflut::Invalid;
use rooflut::hardware::Dtype;
use rooflut::model::{Attention, Ffn, Layers, ModelSpec, ModelSpecBuilder, Span};
use serde_json::{Map, Value};

use crate::attention;
use crate::block_sparse;
use crate::compressed::{self, CompressedLayers};
use crate::delta;
use crate::error::ConfigError;
use crate::family::Family;
use crate::ffn::{self, DenseLayers};
use crate::generation;
use crate::head;
use crate::indexer;
use crate::json::parse;
use crate::keys::{Dimension, Field, Keys};
use crate::modules::Modules;
use crate::object::{Object, shown};
use crate::options::Options;
use crate::quantization::{Formats, LayerFormats};
use crate::spans;
use crate::stand_in::StandIn;
use crate::structure;

/// The model that a `config.json` describes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HfModel {
    /// Its dimensions.
    pub spec: ModelSpec,
    /// Format of the KV entries, if the files name one.
    pub kv_dtype: Option<Dtype>,
    /// The format that stands in for the model's own weight format, with [`Options::for_memory_only`].
    pub stand_in: Option<StandIn>,
    /// `intermediate_size` if the experts have their own width, `moe_intermediate_size`.
    pub dense_intermediate: Option<u32>,
    /// The keys of the dimensions.
    pub keys: Keys,
    /// The keys that were ignored, as a Llama was assumed; empty where the file is read without.
    pub ignored: Vec<String>,
}

/// Reads the text of a `config.json`.
///
/// A multimodal model has the dimensions of its `text_config`. Layers that differ in their windows or FFNs are groups;
/// a window as long as the longest sequence counts as no window. Layers that draft tokens (`num_nextn_predict_layers`,
/// `mtp_num_hidden_layers`) are [`mtp_layers`](ModelSpec::mtp_layers), like the last of the other layers. MiniMax's
/// (`num_mtp_modules`) are not read, because vLLM does not run them. The file of an EAGLE-3 head, vLLM's or that of
/// speculators, is a model with [`eagle3`](ModelSpec::eagle3).
///
/// # Errors
///
/// [`ConfigError`] if the text is not a JSON object, lacks a dimension, or describes a model that rooflut cannot time:
/// a model of an unknown type, with a shaping key that is unknown for the type, or with a feature that is not modelled.
pub fn read(json: impl AsRef<[u8]>, options: Options<'_>) -> Result<HfModel, ConfigError> {
    let file = parse(json.as_ref(), None)?;
    let mut model = read_as(&file, options)?;
    if options.assume_llama {
        let plain = Options { assume_llama: false, ..options };
        let refused = read_as(&file, plain).err().and_then(|error| error.key());
        model.ignored.retain(|key| Some(key) != refused.as_ref());
        model.ignored.splice(..0, refused);
    }
    Ok(model)
}

fn read_as(file: &Map<String, Value>, options: Options<'_>) -> Result<HfModel, ConfigError> {
    let outer = Object::outermost("", file);
    let nested = nested(&outer)?;
    let config = nested.as_ref().unwrap_or(&outer);
    let head = head::architecture(&outer)?;
    let (family, model_type) = match head {
        Some(architecture) => Family::of_head(config, architecture)?,
        None => Family::of(config, &outer, options.assume_llama)?,
    };
    let hidden = config.required(HIDDEN)?;
    let layers = config.required(LAYERS)?;
    let positions = family.required(config, LONGEST)?;
    // More layers than a model can have are refused below.
    let listed = layers.value.min(MOST_LISTED);
    let spans = spans::read(config, &family, listed)?;
    let nets = delta::read(config, &family, listed)?;
    let mtp = family.dimension(config, MTP)?.filter(|_| head.is_none());
    let indexes = indexer::read(config, &family, listed)?;
    let compressed = compressed::read(config, &family, listed, mtp.map_or(0, |mtp| mtp.value))?;
    let blocks = block_sparse::read(config, &family, listed)?;
    let ffn = ffn::read(config, &family, hidden, listed)?;
    let attention = attention::read(config, &family, hidden)?;
    let sparse = blocks.as_ref().map(|blocks| blocks.of(&attention)).transpose()?;
    let global = attention::read_global(config, &family, &attention)?;
    let tied = config.switch(TIED)?;
    // OPT: embeddings as wide as the hidden state need no projection.
    let projection = config.dimension(&[PROJECTION])?;
    if projection.is_some_and(|width| width.value != hidden.value) && !family.assumed {
        return Err(ConfigError::UnknownKey { key: config.name(PROJECTION), model_type: model_type.to_owned() });
    }
    let vocab = family.required(config, VOCAB)?;
    let head = head.map(|_| head::fields(config, &outer, [hidden, vocab])).transpose()?;
    let ignored = structure::unread(config);
    if let Some(key) = ignored.first().filter(|_| !options.assume_llama) {
        return Err(ConfigError::UnknownKey { key: key.clone(), model_type: shown(model_type) });
    }
    let longest = Dimension { value: longest(config, model_type, positions.value)?, ..positions };
    let positions =
        Dimension { value: family.positions.map_or(0, |more| positions.value.saturating_add(more)), ..positions };
    let mut fields = vec![
        Field::new("hidden", ModelSpecBuilder::hidden, hidden),
        Field::new("layers", ModelSpecBuilder::layers, layers),
        Field::new("vocab", ModelSpecBuilder::vocab, vocab),
        Field::new("positions", ModelSpecBuilder::positions, positions),
        Field::new("max_model_len", ModelSpecBuilder::max_model_len, longest),
    ];
    // DeepSeek-V4 drafts with a layer that has a window alone, which is not modelled.
    let mtp = mtp.filter(|_| !family.compressed);
    fields.extend(mtp.map(|mtp| Field::new("mtp_layers", ModelSpecBuilder::mtp_layers, mtp)));
    fields.extend(attention);
    fields.extend(ffn.fields);
    fields.extend(head.into_iter().flatten());
    let keys = Keys::new(&fields);
    let builder = ModelSpec::builder()
        .gated(ffn.gated)
        .output_gate(nets.as_ref().is_some_and(|nets| nets.output_gate))
        .joint_qk_norm(family.joint_qk_norm)
        .tied_embeddings(tied.or(outer.switch(TIED)?).unwrap_or(family.tied));
    let builder = fields.iter().fold(builder, |builder, field| (field.set)(builder, field.dimension.value));
    let mut spec = builder.build().map_err(|error| ConfigError::Spec(keys.rename(error)))?;
    let modules = Modules::of(&spec, &ffn.dense.layers, family.layers);
    let mut formats = Formats::of(config, &outer, &options, modules)?;
    let compressed = compressed.as_ref();
    if let Some(CompressedLayers { experts, .. }) = compressed {
        // DeepSeek's own releases, whose experts are not in the format of the other layers.
        let quantized = formats.layers.iter_mut().filter(|layer| layer.ffn == Dtype::Fp8Block);
        quantized.for_each(|layer| layer.ffn = *experts);
    }
    let of_layer = |layer, like| match (&nets, &blocks, compressed) {
        (Some(nets), ..) if nets.layers.get(layer as usize) == Some(&true) => Some(nets.attention),
        (_, Some(blocks), _) if blocks.has(layer) => sparse,
        (.., Some(layers)) => Some(layers.of(layer, like)),
        _ => indexes.as_ref().map(|indexes| indexes.of(layer, like)),
    };
    spec.layers = groups(&spec, &spans, global, &of_layer, &ffn.dense, &formats.layers)?;
    if let Some(dtype) = options.weight_dtype {
        spec = spec.with_weight_dtype(dtype);
    }
    spec.check().map_err(|error| ConfigError::Spec(keys.rename(error)))?;
    spec.sampler = generation::sampler(&options)?;
    Ok(HfModel {
        spec,
        kv_dtype: formats.kv,
        stand_in: formats.stand_in,
        dense_intermediate: ffn.dense_intermediate,
        keys,
        ignored,
    })
}

/// Returns the layers of a model whose layers are like its first group, except for their `spans` and `formats`, for
/// those that are `dense`, and for attention that differs: `of_layer` where it returns one, or else the `global` heads in
/// layers without a span.
fn groups(
    spec: &ModelSpec,
    spans: &[Span],
    global: Option<Attention>,
    of_layer: &dyn Fn(u32, Attention) -> Option<Attention>,
    dense: &DenseLayers,
    formats: &[LayerFormats],
) -> Result<Layers, ConfigError> {
    let like = *spec.layers.first();
    let mut kinds: Vec<((Attention, bool, LayerFormats), u32)> = Vec::new();
    for ((layer, &span), &formats) in (0..).zip(spans).zip(formats) {
        let is_dense = dense.layers.binary_search(&layer).is_ok();
        let attention = match (of_layer(layer, like.attention), span) {
            (Some(own), _) => own,
            (None, Span::Full) => global.unwrap_or(like.attention),
            (None, _) => like.attention,
        };
        let attention = attention.with_span(span.up_to(spec.max_model_len));
        let kind = (attention, is_dense, formats);
        let mut alike = kinds.iter_mut();
        match alike.find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let ffn = if dense.layers.is_empty() {
        like.ffn
    } else {
        dense_ffn(spec, dense.intermediate).map_err(ConfigError::Spec)?
    };
    let groups = kinds.into_iter().map(|((attention, is_dense, formats), layers)| {
        let mut group = like;
        group.layers = layers;
        group.attention = attention;
        group.attention_dtype = formats.attention;
        group.ffn_dtype = formats.ffn;
        group.shared_dtype = formats.shared;
        if is_dense {
            group.ffn = ffn;
        }
        group
    });
    Layers::try_new(&groups.collect::<Vec<_>>()).map_err(ConfigError::Spec)
}

/// Returns the longest request as vLLM derives it from the positions of the file: scaled, unless RoPE is scaled in a
/// way whose positions are those after it.
fn longest(config: &Object<'_>, model_type: &str, positions: u32) -> Result<u32, ConfigError> {
    let Some(scaling) = config.object("rope_scaling")?.or(config.object("rope_parameters")?) else {
        return Ok(positions);
    };
    let kind = scaling.text("rope_type")?.or(scaling.text("type")?).unwrap_or_default();
    if ["su", "longrope", "llama3"].contains(&kind) || model_type.contains("gemma3") {
        return Ok(positions);
    }
    let original = scaling.dimension(&["original_max_position_embeddings"])?.filter(|_| kind == "yarn");
    let factor = scaling.value("factor", "a number", Value::as_f64)?.unwrap_or(1.0);
    // A saturating conversion.
    Ok((f64::from(original.map_or(positions, |original| original.value)) * factor) as u32)
}

/// Returns a dense FFN with a gate.
fn dense_ffn(spec: &ModelSpec, intermediate: u32) -> Result<Ffn, Invalid> {
    let builder = ModelSpec::builder().hidden(spec.hidden).layers(1).q_heads(1).kv_heads(1).head_dim(1).vocab(1);
    let model = builder.intermediate(intermediate).max_model_len(1).build()?;
    Ok(model.layers.first().ffn)
}

/// Maximum length of a list with an entry for each layer: more than any model has layers.
const MOST_LISTED: u32 = 1 << 13;

const HIDDEN: &[&str] = &["hidden_size", "n_embd", "n_embed", "d_model"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
// The vocabulary as padded comes first.
const VOCAB: &[&str] = &["padded_vocab_size", "vocab_size"];
const LONGEST: &[&str] = &["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length"];
const MTP: &[&str] = &["num_nextn_predict_layers", "mtp_num_hidden_layers"];
const PROJECTION: &str = "word_embed_proj_dim";
const TIED: &str = "tie_word_embeddings";

/// Returns the object with the dimensions of the text model, if there is one.
fn nested<'j>(outer: &Object<'j>) -> Result<Option<Object<'j>>, ConfigError> {
    for key in ["text_config", "llm_config", "language_config", "transformer_layer_config"] {
        if let Some(nested) = outer.object(key)? {
            return Ok(Some(nested));
        }
    }
    Ok(None)
}
