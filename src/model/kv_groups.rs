//! Groups of layers that share KV blocks.

use super::{ModelSpec, Span};

/// The KV cache groups of a model, as in vLLM's hybrid KV cache manager.
///
/// The layers of a group have a block of their own for the same tokens of a request, so that a block of the pool holds
/// a block of any group. A model whose layers all read the same tokens is one group. Other models have groups of as
/// many layers as the kind with the fewest: 10 layers with full attention and 52 with a window are 1 + 6 groups, the
/// last of them padded. Blocks behind the window are freed (`vllm/v1/core/kv_cache_utils.py`).
///
/// ```
/// use rooflut::model::{KvGroups, ModelSpec, Span};
/// let gemma_3_27b = ModelSpec::builder()
///     .hidden(5376).layers(52).q_heads(32).kv_heads(16).head_dim(128).span(Span::Window(1024)).intermediate(21_504)
///     .and_layers(10).span(Span::Full)
///     .vocab(262_208).max_model_len(131_072)
///     .build()?;
/// let groups = KvGroups::of(&gemma_3_27b);
/// assert_eq!((groups.layers, groups.full, groups.limited), (10, 1, 6));
/// // A request of 16,000 tokens: 1,000 blocks, and 6 x (128 + 64 + 1) in steps of up to 2,048 tokens.
/// assert_eq!(groups.blocks(16_000, 16, 2_048), 1_000 + 6 * 193);
/// # Ok::<(), rooflut::model::SpecError>(())
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
    /// Groups of layers that read those in their [`span`](KvGroups::span) only.
    pub limited: u32,
    /// Whether the limited groups come before the full ones.
    pub limited_first: bool,
    /// The window or chunk of the limited groups; [`Span::Full`] if there are none.
    pub span: Span,
}

impl KvGroups {
    /// One group whose layers read all tokens.
    pub const ONE: KvGroups = KvGroups {
        layers: 1,
        full: 1,
        limited: 0,
        limited_first: false,
        span: Span::Full,
    };

    /// Returns the groups of the layers of `model`.
    ///
    /// Where one kind has at least 4/5 as many layers as the other, the smaller one is padded, as since vLLM 0.15.
    pub fn of(model: &ModelSpec) -> KvGroups {
        let span = model.limited_span();
        let kinds = || {
            model.layers.iter().map(|group| {
                let limited = group.attention.span().up_to(model.max_model_len) != Span::Full;
                (limited, group.layers)
            })
        };
        let count = |limited| {
            kinds()
                .filter(|(of, _)| *of == limited)
                .fold(0, |sum: u32, (_, layers)| sum.saturating_add(layers))
        };
        let (mut full, mut limited): (u32, u32) = (count(false), count(true));
        if full == 0 && matches!(span, Span::Chunk(_)) {
            // Prefix hits of chunks alone would skip prompts that nothing has computed.
            (full, limited) = (limited, 0);
        }
        let (fewest, most) = (full.min(limited), full.max(limited));
        let layers = if fewest == 0 || u64::from(most) * 4 < u64::from(fewest) * 5 {
            most
        } else {
            fewest
        };
        let layers = layers.max(1);
        KvGroups {
            layers,
            full: full.div_ceil(layers),
            limited: limited.div_ceil(layers),
            limited_first: kinds().next().is_some_and(|(limited, _)| limited),
            span,
        }
    }

    /// Returns the number of groups.
    pub fn count(&self) -> u32 {
        self.full.saturating_add(self.limited)
    }

    /// Returns the largest number of blocks of `block_size` tokens that a request of `tokens` holds, if at most
    /// `in_flight` tokens are in steps that have not ended.
    pub fn blocks(&self, tokens: u32, block_size: u32, in_flight: u32) -> u32 {
        let blocks = tokens.div_ceil(block_size.max(1));
        let full = self.full.saturating_mul(blocks);
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

impl Default for KvGroups {
    fn default() -> KvGroups {
        KvGroups::ONE
    }
}
