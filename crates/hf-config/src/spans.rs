//! Windows and chunks that the attention of layers is limited to.

use rooflut::model::Span;

use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::Dimension;
use crate::object::{Object, shown};

/// Reads the tokens that each of the `layers` attends to. Refuses layers without attention over tokens.
pub(crate) fn read(config: &Object<'_>, family: &Family, layers: u32) -> Result<Vec<Span>, ConfigError> {
    let kinds = kinds(config, family, layers)?;
    refuse_linear_attention(config, family, layers)?;
    let width = |keys| {
        let width = family.dimension(config, keys)?;
        Ok(width.map(|width| width.value))
    };
    let slides = config.switch("use_sliding_window")?.unwrap_or(family.slides);
    // Qwen: the first layers have no window.
    let first = config.dimension(&["max_window_layers"])?.map_or(0, |first| first.value);
    let window = width(WINDOW)?.filter(|_| slides).map(Span::Window);
    let chunk = width(CHUNK)?.map(Span::Chunk);
    // Where the kinds are listed, a pattern adds nothing, and is not always a number.
    PATTERN.iter().for_each(|key| config.asked(key));
    let spans = if kinds.is_empty() {
        patterned(config, family, layers, [window, chunk], first)?
    } else {
        let of_kind = |kind: &&str| match *kind {
            SLIDING if slides => window.ok_or_else(|| config.missing(WINDOW)),
            CHUNKED => chunk.ok_or_else(|| config.missing(CHUNK)),
            _ => Ok(Span::Full),
        };
        kinds.iter().map(of_kind).collect::<Result<_, _>>()?
    };
    expect_one_each(config, KINDS, spans.len(), layers)?;
    for (none, keys) in [(Span::Window(0), WINDOW), (Span::Chunk(0), CHUNK)] {
        if let Some(field) = keys.first().filter(|_| spans.contains(&none)) {
            return Err(ConfigError::zero(field));
        }
    }
    Ok(spans)
}

/// Reads the kind of each layer, where they are listed.
fn kinds<'c>(config: &Object<'c>, family: &Family, layers: u32) -> Result<Vec<&'c str>, ConfigError> {
    let mut kinds = config.texts(KINDS)?;
    if family.assumed && kinds.len() != layers as usize {
        kinds.clear();
    }
    let is_known = |kind: &str| match kind {
        LINEAR => family.has_delta_nets,
        SPARSE => family.has_indexer,
        _ => [FULL, SLIDING, CHUNKED].contains(&kind),
    };
    let mut unknown = kinds.iter().filter(|kind| !is_known(kind) && !family.assumed);
    match unknown.next() {
        Some(kind) => Err(ConfigError::Unsupported {
            key: config.name(KINDS),
            feature: format!("layers of type {}", shown(kind)),
        }),
        None => Ok(kinds),
    }
}

/// Refuses layers of linear attention, which MiniMax lists as 0.
fn refuse_linear_attention(config: &Object<'_>, family: &Family, layers: u32) -> Result<(), ConfigError> {
    const ATTENTION: &str = "attn_type_list";
    let kinds = config.numbers(ATTENTION)?;
    if family.assumed || kinds.is_empty() {
        return Ok(());
    }
    if kinds.iter().any(|&kind| kind != 1) {
        return Err(ConfigError::Unsupported { key: config.name(ATTENTION), feature: "linear attention".to_owned() });
    }
    expect_one_each(config, ATTENTION, kinds.len(), layers)
}

/// Reads the spans of layers whose kinds are not listed: all but every so many, from the `first` on, have a window or a
/// chunk.
fn patterned(
    config: &Object<'_>,
    family: &Family,
    layers: u32,
    [window, chunk]: [Option<Span>; 2],
    first: u32,
) -> Result<Vec<Span>, ConfigError> {
    let every = |keys| {
        let every = family.dimension(config, keys)?;
        match every.filter(|every| every.value == 0 && !family.assumed) {
            Some(Dimension { key, .. }) => Err(ConfigError::zero(key)),
            None => Ok(every.map_or(0, |every| every.value)),
        }
    };
    let limited = match (window, chunk) {
        (Some(Span::Window(window)), Some(Span::Chunk(chunk))) if window < chunk => Span::Window(window),
        (window, chunk) => chunk.or(window).unwrap_or_default(),
    };
    let every = match limited {
        Span::Window(_) => every(PATTERN)?,
        Span::Chunk(_) => every(&["no_rope_layer_interval"])?,
        _ => 0,
    };
    // Llama 4: 0 for layers without positions, which are not chunked.
    let positions = config.numbers(POSITIONS)?;
    if chunk.is_some() && !positions.is_empty() {
        expect_one_each(config, POSITIONS, positions.len(), layers)?;
        let chunked = positions.iter().map(|&positions| match positions {
            0 => Span::Full,
            _ => limited,
        });
        return Ok(chunked.collect());
    }
    let spans = (0..layers).map(|layer| match (layer + 1).checked_rem(every) {
        Some(0) => Span::Full,
        _ if layer < first => Span::Full,
        _ => limited,
    });
    Ok(spans.collect())
}

/// Refuses a pattern that does not have one entry for each layer.
pub(crate) fn expect_one_each(config: &Object<'_>, key: &str, found: usize, layers: u32) -> Result<(), ConfigError> {
    if found == layers as usize { Ok(()) } else { Err(ConfigError::Pattern { key: config.name(key), found, layers }) }
}

pub(crate) const KINDS: &str = "layer_types";
const WINDOW: &[&str] = &["sliding_window"];
const CHUNK: &[&str] = &["attention_chunk_size"];
/// Every so many layers, one is without a window.
const PATTERN: &[&str] = &["sliding_window_pattern", "_sliding_window_pattern"];
const POSITIONS: &str = "no_rope_layers";

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";
const CHUNKED: &str = "chunked_attention";
/// A gated delta net.
pub(crate) const LINEAR: &str = "linear_attention";
/// Latent attention with an indexer.
const SPARSE: &str = "deepseek_sparse_attention";
