//! Attention over compressed keys, as in DeepSeek-V4.

use rooflut::hardware::{Dtype, Indexer};
use rooflut::model::{Attention, ModelSpecBuilder};

use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::{Dimension, Field};
use crate::object::{Object, shown};
use crate::spans::expect_one_each;

/// Tokens of a compressed key of layers whose indexer selects keys.
const SELECTING: i64 = 4;

/// Tokens of a compressed key of the other layers.
const COMPRESSING: i64 = 128;

/// Differences between the attention of the layers of a model, and the format of its experts.
pub(crate) struct CompressedLayers {
    /// Tokens of a compressed key of each layer; 0 or 1 in layers that have a window alone.
    ratios: Vec<i64>,
    indexer: Indexer,
    /// Format of the experts of a quantised model.
    pub(crate) experts: Dtype,
}

/// Reads the layers of a model with attention over compressed keys; `None` in other families.
/// `drafting` layers, which come last and are not modelled, may have ratios, too.
pub(crate) fn read(
    config: &Object<'_>,
    family: &Family,
    layers: u32,
    drafting: u32,
) -> Result<Option<CompressedLayers>, ConfigError> {
    const RATIOS: &str = "compress_ratios";
    const EXPERTS: &str = "expert_dtype";
    if !family.compressed {
        return Ok(None);
    }
    let refuse = |key: &str, feature: String| Err(ConfigError::Unsupported { key: config.name(key), feature });
    // The rotary embedding of compressed keys.
    config.asked("compress_rope_theta");
    let rope = family.required(config, &["qk_rope_head_dim"])?;
    if rope.value != 64 {
        return refuse(rope.key, format!("heads with a rotary embedding of {}", rope.value));
    }
    let mut ratios = config.numbers(RATIOS)?;
    if ratios.len() as u64 == u64::from(layers) + u64::from(drafting) {
        ratios.truncate(layers as usize);
    }
    expect_one_each(config, RATIOS, ratios.len(), layers)?;
    if let Some(other) = ratios.iter().find(|ratio| ![0, 1, SELECTING, COMPRESSING].contains(ratio)) {
        return refuse(RATIOS, format!("a key for {other} tokens"));
    }
    if ratios.iter().all(|ratio| *ratio < SELECTING) {
        return refuse(RATIOS, "a model whose layers have a window alone".to_owned());
    }
    let experts = match config.text(EXPERTS)? {
        None | Some("fp4") => Dtype::Mxfp4,
        Some("fp8") => Dtype::Fp8Block,
        Some(other) => return refuse(EXPERTS, format!("experts in {}", shown(other))),
    };
    let required = |key| match family.required(config, key) {
        Ok(Dimension { key, value: 0 }) => Err(ConfigError::zero(key)),
        found => found.map(|found| found.value),
    };
    let indexer = Indexer {
        heads: required(&["index_n_heads"])?,
        head_dim: required(&["index_head_dim"])?,
        top_k: required(&["index_topk"])?,
    };
    Ok(Some(CompressedLayers { ratios, indexer, experts }))
}

/// Reads the dimensions of the heads.
pub(crate) fn fields(config: &Object<'_>, family: &Family) -> Result<Vec<Field>, ConfigError> {
    // One vector is key and value of all heads.
    config.asked("num_key_value_heads");
    let field = |name, set, keys| Ok(Field::new(name, set, family.required(config, keys)?));
    let streams = field("streams", ModelSpecBuilder::streams, &["hc_mult"])?;
    let groups = field("o_groups", ModelSpecBuilder::o_groups, &["o_groups"])?;
    if let Some(Field { dimension, .. }) = [streams, groups].iter().find(|field| field.dimension.value == 0) {
        return Err(ConfigError::zero(dimension.key));
    }
    Ok(vec![
        streams,
        groups,
        field("o_rank", ModelSpecBuilder::o_rank, &["o_lora_rank"])?,
        field("q_rank", ModelSpecBuilder::q_rank, &["q_lora_rank"])?,
        field("head_dim", ModelSpecBuilder::head_dim, &["head_dim"])?,
        field("window", ModelSpecBuilder::window, &["sliding_window"])?,
    ])
}

impl CompressedLayers {
    /// Returns the attention of a layer: `like`, with the ratio and the indexer of the layer.
    pub(crate) fn of(&self, layer: u32, like: Attention) -> Attention {
        let (Attention::Compressed(mut own), Some(ratio)) = (like, self.ratios.get(layer as usize)) else {
            return like;
        };
        own.ratio = match *ratio {
            ..=1 => 0,
            ratio => u32::try_from(ratio).unwrap_or(u32::MAX),
        };
        own.indexer = (*ratio == SELECTING).then_some(self.indexer);
        Attention::Compressed(own)
    }
}
