//! Windows and chunks that attention is limited to.

use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::Dimension;
use crate::object::{Object, shown};

/// A window or chunk that attention is limited to. Up to its width, attention is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its key.
    pub key: &'static str,
    /// Its width in tokens.
    pub tokens: u32,
}

/// Reads the narrowest window that is shorter than the `longest` sequence of the model. Refuses layers without
/// attention over tokens.
pub(crate) fn read(
    config: &Object<'_>,
    family: &Family,
    layers: u32,
    longest: u32,
) -> Result<Option<Window>, ConfigError> {
    let kinds = config.texts("layer_types")?;
    let is_known = |kind: &str| kind == FULL || kind == SLIDING || kind == CHUNKED;
    let refuse = |key, feature| {
        let key = config.name(key);
        Err(ConfigError::Unsupported { key, feature })
    };
    let mut unknown = kinds
        .iter()
        .filter(|kind| !is_known(kind) && !family.assumed);
    if let Some(kind) = unknown.next() {
        return refuse("layer_types", format!("layers of type {}", shown(kind)));
    }
    // MiniMax: 0 for linear attention.
    let kinds_of_attention = config.numbers("attn_type_list")?;
    if !family.assumed && kinds_of_attention.iter().any(|&kind| kind != 1) {
        return refuse("attn_type_list", "linear attention".to_owned());
    }
    // Patterns of the layers; the window below holds for those that slide, and limits all.
    config.asked("sliding_window_pattern");
    config.asked("_sliding_window_pattern");
    let width = |key, kind: &str| {
        let read = config.dimension(&[key])?;
        let default = || family.default(key, config);
        let width = read.or_else(|| default().map(|value| Dimension { key, value }));
        let applies = kinds.is_empty() || kinds.contains(&kind);
        Ok(width.filter(|_| applies))
    };
    let slides = config.switch("use_sliding_window")?;
    // Qwen: the first layers have no window.
    let first = config.dimension(&["max_window_layers"])?;
    let slides = slides.unwrap_or(family.slides) && first.is_none_or(|first| first.value < layers);
    let sliding = width("sliding_window", SLIDING)?.filter(|_| slides);
    let chunk = width(CHUNK, CHUNKED)?;
    for (kind, key, width) in [
        (SLIDING, "sliding_window", sliding),
        (CHUNKED, CHUNK, chunk),
    ] {
        if kinds.contains(&kind) && width.is_none() && slides {
            return Err(config.missing(&[key]));
        }
    }
    let windows = [sliding, chunk].into_iter().flatten();
    let windows = windows.map(|Dimension { key, value: tokens }| Window { key, tokens });
    Ok(windows
        .filter(|window| window.tokens < longest)
        .min_by_key(|window| window.tokens))
}

/// The key of a chunk's width.
pub(crate) const CHUNK: &str = "attention_chunk_size";

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";
const CHUNKED: &str = "chunked_attention";
