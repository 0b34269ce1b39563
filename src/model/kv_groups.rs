//! Groups of layers that share KV blocks.

use super::{Attention, LayerGroup, ModelSpec, Span};

/// The KV cache groups of a model, as in vLLM's hybrid KV cache manager.
///
/// Each group has its own block for the same tokens of a request, so a block of the pool holds a block of any group. A
/// model whose layers all read the same tokens is one group. Each group of other models has as many layers as the kind
/// with the fewest layers: 10 layers with full attention and 52 with a window are 1 + 6 groups, the last of them
/// padded. Blocks behind the window are freed (`vllm/v1/core/kv_cache_utils.py`).
///
/// All blocks have the same bytes. If one kind has fewer bytes per token than the other, its blocks hold more tokens
/// (`unify_kv_cache_spec_page_size`). A request then takes blocks for as many tokens at once as the larger blocks hold,
/// and a group with smaller blocks counts once for each smaller block.
///
/// Layers that keep a state are groups, too. A request of any length holds one block of each such group, as without
/// prefix caching in vLLM (`mamba_cache_mode` `none`; the only mode in vLLM 0.11).
///
/// Does not model: the modes `align` and `all` that cache states at the ends of blocks.
///
/// ```
/// use rooflut::model::{KvGroups, ModelSpec, Span};
/// let gemma_3_27b = ModelSpec::builder()
///     .hidden(5376).layers(52).q_heads(32).kv_heads(16).head_dim(128).span(Span::Window(1024)).intermediate(21_504)
///     .and_layers(10).span(Span::Full)
///     .vocab(262_208).max_model_len(131_072)
///     .build()?;
/// let groups = KvGroups::of(&gemma_3_27b, 1);
/// assert_eq!((groups.layers, groups.full, groups.limited), (10, 1, 6));
/// // A request of 16,000 tokens: 1,000 blocks, and 6 x (128 + 64 + 1) in steps of up to 2,048 tokens.
/// assert_eq!(groups.blocks(16_000, 16, 2_048), 1_000 + 6 * 193);
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct KvGroups {
    /// Layers of a group, padding included.
    pub layers: u32,
    /// Groups of layers that read all tokens.
    pub full: u32,
    /// Groups of layers that only read the tokens in their [`span`](KvGroups::span).
    pub limited: u32,
    /// Groups of layers that keep a state.
    #[cfg_attr(feature = "serde", serde(default))]
    pub states: u32,
    /// Whether the limited groups come before the full ones.
    pub limited_first: bool,
    /// The window or chunk of the limited groups; [`Span::Full`] if there are none.
    pub span: Span,
    /// Number of tokens that a request takes blocks for at once, in multiples of the configured block size: 2 for Gemma
    /// 4, because its layers with a window have twice the bytes per token of its other layers. The block sizes of the
    /// methods, and of a simulator with these groups, include this factor.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub block_factor: u32,
}

impl KvGroups {
    /// One group whose layers read all tokens.
    pub const ONE: KvGroups =
        KvGroups { layers: 1, full: 1, limited: 0, states: 0, limited_first: false, span: Span::Full, block_factor: 1 };

    /// Returns the groups of the layers of `model` on one of `tp` ranks.
    ///
    /// All layers of attention over compressed keys form one group. Windows and the states of compressors count as limited
    /// groups, as many as their bytes per token of the window are multiples of the bytes of compressed keys per token.
    /// vLLM keeps blocks for each of these, too (`SlidingWindowMLASpec`), of 4 to 256 tokens.
    ///
    /// If one kind has at least 4/5 as many layers as the other, the smaller kind is padded, as since vLLM 0.15.
    ///
    /// Does not model: states of compressors of all tokens of a chunk, which vLLM holds until the chunk is computed.
    ///
    /// Assumes: windows free blocks for as many tokens as the larger blocks hold; vLLM frees each block by itself.
    pub fn of(model: &ModelSpec, tp: u32) -> KvGroups {
        if let Some((window, times)) = window_copies(model) {
            let (layers, span) = (model.layers.total(), Span::Window(window));
            return KvGroups { layers, limited: times, span, ..KvGroups::ONE };
        }
        let span = model.limited_span();
        let is_state = |group: &&LayerGroup| matches!(group.attention, Attention::DeltaNet(_));
        let states = model.layers.iter().filter(is_state).fold(0, |sum: u32, group| sum.saturating_add(group.layers));
        let kinds = || {
            let keys = model.layers.iter().filter(|group| !is_state(group));
            keys.map(|group| {
                let limited = group.attention.span().up_to(model.max_model_len) != Span::Full;
                (limited, group.layers, group.attention.kv_values(tp))
            })
        };
        // The layers of a kind, and the KV values per token of its widest.
        let count = |limited| {
            let of_kind = kinds().filter(|(of, ..)| *of == limited);
            of_kind
                .fold((0_u32, 0), |(sum, widest), (_, layers, values)| (sum.saturating_add(layers), values.max(widest)))
        };
        let ((mut full, full_values), (mut limited, limited_values)) = (count(false), count(true));
        if full == 0 && matches!(span, Span::Chunk(_)) {
            // Prefix hits of chunks alone would skip prompts that nothing has computed.
            (full, limited) = (limited, 0);
        }
        let kinds_of_layers = [full, limited, states];
        let fewest = kinds_of_layers.into_iter().filter(|layers| *layers > 0).min();
        let (fewest, most) = (fewest.unwrap_or(0), full.max(limited).max(states));
        let layers = if u64::from(most) * 4 < u64::from(fewest) * 5 { most } else { fewest };
        let layers = layers.max(1);
        // How many times the values of the other kind each has; blocks that are no multiple of others are padded.
        let times = |values: u32, other: u32| match values.checked_rem(other) {
            Some(0) if full.min(limited) > 0 => values / other,
            _ => 1,
        };
        let full_times = times(full_values, limited_values);
        let limited_times = times(limited_values, full_values);
        KvGroups {
            layers,
            full: full_times.saturating_mul(full.div_ceil(layers)),
            limited: limited_times.saturating_mul(limited.div_ceil(layers)),
            states: states.div_ceil(layers),
            limited_first: kinds().next().is_some_and(|(limited, ..)| limited),
            span,
            block_factor: full_times.max(limited_times),
        }
    }

    /// Returns the number of groups that hold blocks of tokens, each counted once for each of its blocks.
    pub fn count(&self) -> u32 {
        self.full.saturating_add(self.limited)
    }

    /// Returns the largest number of blocks of `block_size` tokens that a request of `tokens` holds, if at most
    /// `in_flight` tokens are in steps that have not ended.
    pub fn blocks(&self, tokens: u32, block_size: u32, in_flight: u32) -> u32 {
        let blocks = tokens.div_ceil(block_size.max(1));
        let full = self.full.saturating_mul(blocks).saturating_add(self.states);
        if self.limited == 0 {
            return full;
        }
        let limited = blocks.min(self.most_limited(block_size, in_flight));
        full.saturating_add(self.limited.saturating_mul(limited))
    }

    /// Returns the largest number of blocks that a request of any length holds in a limited group
    /// (`max_admission_blocks_per_request` of the specs in `vllm/v1/kv_cache_interface.py`).
    pub(crate) fn most_limited(&self, block_size: u32, in_flight: u32) -> u32 {
        let block_size = block_size.max(1);
        match self.span {
            Span::Full => u32::MAX,
            Span::Window(tokens) => {
                let tokens = in_flight.saturating_add(tokens.saturating_sub(1));
                tokens.div_ceil(block_size).saturating_add(1)
            }
            Span::Chunk(tokens) => tokens.saturating_add(in_flight).div_ceil(block_size),
        }
    }

    /// Returns the longest request that `kv_blocks` hold, in tokens; at most `u32::MAX`.
    #[cfg(feature = "sim")]
    pub(crate) fn longest(&self, kv_blocks: u32, block_size: u32, in_flight: u32) -> u32 {
        let most = self.most_limited(block_size, in_flight);
        let kv_blocks = kv_blocks.saturating_sub(self.states);
        let all = kv_blocks / self.count().max(1);
        let blocks = if all < most {
            all
        } else {
            let left = kv_blocks - self.limited.saturating_mul(most);
            left.checked_div(self.full).unwrap_or(u32::MAX)
        };
        blocks.saturating_mul(block_size)
    }
}

/// Returns the window of attention over compressed keys, and how many times the bytes of compressed keys layers hold for
/// each of its tokens; `None` in other models.
fn window_copies(model: &ModelSpec) -> Option<(u32, u32)> {
    let layers = model.layers.iter().filter_map(|group| match group.attention {
        Attention::Compressed(compressed) => Some((f64::from(group.layers), compressed)),
        _ => None,
    });
    let sums = layers.map(|(layers, of)| (of.window, layers * of.window_bytes(), layers * of.kv_bytes()));
    let (window, held, kept) = sums.reduce(|a, b| (a.0.max(b.0), a.1 + b.1, a.2 + b.2))?;
    let times = if kept > 0.0 { (held / kept + 0.5) as u32 } else { 1 };
    Some((window, times.max(1)))
}

impl Default for KvGroups {
    fn default() -> KvGroups {
        KvGroups::ONE
    }
}

/// The factor of a file from before there was one.
#[cfg(feature = "serde")]
const fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::find;

    fn groups(name: &str, tp: u32) -> KvGroups {
        KvGroups::of(&find(name).unwrap().spec, tp)
    }

    #[test]
    fn layers_are_grouped_as_in_vllm() {
        for (name, tp, expected) in [
            ("llama-3.1-8b", 1, (32, 1, 0, 1)),
            // vLLM's documentation of its hybrid KV cache manager: 7 groups of 10, 8 layers of padding.
            ("gemma-3-27b", 1, (10, 1, 6, 1)),
            ("llama-4-scout", 1, (12, 1, 3, 1)),
            ("mistral-7b-v0.1", 1, (32, 0, 1, 1)),
            // 6 groups. On one GPU a token has 2,048 keys in a layer with a window and 1,024 in the others, on four GPUs
            // 512 in both, on eight 256 and 512.
            ("gemma-4-26b-a4b", 1, (5, 1, 10, 2)),
            ("gemma-4-26b-a4b", 4, (5, 1, 5, 1)),
            ("gemma-4-26b-a4b", 8, (5, 2, 5, 2)),
        ] {
            let KvGroups { layers, full, limited, block_factor, .. } = groups(name, tp);
            let found = (layers, full, limited, block_factor);
            assert_eq!(found, expected, "{name} {tp}");
        }
        let of = |limited, full| {
            let model = ModelSpec::builder()
                .hidden(2880)
                .q_heads(64)
                .kv_heads(8)
                .head_dim(64)
                .intermediate(2880)
                .vocab(201_088)
                .max_model_len(131_072)
                .layers(limited)
                .span(Span::Window(128))
                .and_layers(full)
                .span(Span::Full);
            let KvGroups { layers, full, limited, limited_first, .. } = KvGroups::of(&model.build().unwrap(), 1);
            assert!(limited_first);
            (layers, full, limited)
        };
        // gpt-oss-120b; kinds with similar numbers of layers are padded to one size.
        assert_eq!(of(18, 18), (18, 1, 1));
        assert_eq!(of(12, 13), (13, 1, 1));
        assert_eq!(of(12, 15), (12, 2, 1));
    }

    #[cfg(feature = "sim")]
    #[test]
    fn the_longest_request_is_the_longest_that_the_blocks_hold() {
        for groups in ["llama-3.1-8b", "gemma-3-27b", "llama-4-scout", "mistral-7b-v0.1", "gemma-4-26b-a4b"]
            .map(|name| groups(name, 1))
        {
            for kv_blocks in (groups.count()..9_000).step_by(7) {
                let longest = groups.longest(kv_blocks, 16, 2_048);
                assert!(groups.blocks(longest, 16, 2_048) <= kv_blocks);
                let longer = longest.saturating_add(1);
                let fits = longest == u32::MAX || groups.blocks(longer, 16, 2_048) > kv_blocks;
                assert!(fits, "{groups:?}: {kv_blocks} blocks, {longest} tokens");
            }
        }
    }
}
