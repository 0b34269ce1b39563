//! Layers that attend to the keys that the indexer of an earlier layer selected, as in GLM-5.2.

use rooflut::model::{Attention, Mla};

use crate::error::ConfigError;
use crate::family::Family;
use crate::object::{Object, shown};
use crate::spans::expect_one_each;

/// The layers of a model with sparse latent attention that have no indexer of their own.
pub(crate) struct ReusedIndexes {
    /// Whether the layers are such, in order.
    layers: Vec<bool>,
}

/// Reads which of `layers` layers have no indexer; `None` in families without one. Files list the layers, or say that
/// after the first ones every so many have one (`DeepseekV2MLAAttention` in vLLM's
/// `vllm/model_executor/models/deepseek_v2.py`).
pub(crate) fn read(config: &Object<'_>, family: &Family, layers: u32) -> Result<Option<ReusedIndexes>, ConfigError> {
    const TYPES: &str = "indexer_types";
    const EVERY: &str = "index_topk_freq";
    if !family.has_indexer || family.assumed {
        return Ok(None);
    }
    let refuse = |key: &str, feature: String| Err(ConfigError::Unsupported { key: config.name(key), feature });
    let first = config.dimension(&["index_skip_topk_offset"])?.map_or(2, |first| first.value);
    let every = config.dimension(&[EVERY])?.map(|every| every.value);
    if every == Some(0) {
        return Err(ConfigError::zero(EVERY));
    }
    let reuses = |layer: u32| (layer + 1).saturating_sub(first).checked_rem(every.unwrap_or(1)) != Some(0);
    let counted: Vec<_> = (0..layers).map(reuses).collect();
    let types = config.texts(TYPES)?;
    if types.is_empty() {
        return match counted.first() {
            Some(true) => refuse(EVERY, "a first layer without an indexer".to_owned()),
            _ => Ok(Some(ReusedIndexes { layers: counted })),
        };
    }
    expect_one_each(config, TYPES, types.len(), layers)?;
    if let Some(other) = types.iter().find(|kind| !["full", "shared"].contains(kind)) {
        return refuse(TYPES, format!("an indexer of type {}", shown(other)));
    }
    let listed: Vec<_> = types.iter().map(|kind| *kind == "shared").collect();
    if listed.first() == Some(&true) {
        return refuse(TYPES, "a first layer without an indexer".to_owned());
    }
    if every.is_some() && listed != counted {
        return refuse(TYPES, format!("a list that disagrees with {EVERY}"));
    }
    Ok(Some(ReusedIndexes { layers: listed }))
}

impl ReusedIndexes {
    /// Returns the attention of a layer: `like`, which has an indexer, or without one of its own.
    pub(crate) fn of(&self, layer: u32, mut like: Attention) -> Attention {
        if let (Attention::Mla(Mla { indexer: Some(own), .. }), Some(true)) =
            (&mut like, self.layers.get(layer as usize))
        {
            *own = own.reused();
        }
        like
    }
}
