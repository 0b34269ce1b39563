//! Groups of equal layers.

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::{Attention, Gqa, Span};
use crate::error::{Invalid, MessagePart};
use crate::hardware::Dtype;

/// The layers of a model, in groups of equal ones: 1 to [`MAX_GROUPS`](Layers::MAX_GROUPS).
///
/// A dense model is one group. Leading dense layers are another, and so are the layers of a repeated pattern that have
/// a window: their order costs no time.
///
/// ```
/// use rooflut::model::{ModelSpec, Span};
/// // gpt-oss-20b: every other layer has a window of 128 tokens.
/// let model = ModelSpec::builder()
///     .hidden(2880).layers(12).q_heads(64).kv_heads(8).head_dim(64).span(Span::Window(128))
///     .experts(32).top_k(4).intermediate(2880)
///     .and_layers(12).span(Span::Full)
///     .vocab(201_088).max_model_len(131_072)
///     .build()?;
/// assert_eq!((model.layers.len(), model.layers.total()), (2, 24));
/// assert_eq!(model.layers[0].ffn, model.layers[1].ffn);
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layers {
    /// [`EMPTY`](Layers::EMPTY) ones after the last.
    groups: [LayerGroup; Layers::MAX_GROUPS],
    len: u8,
}

/// Equal layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct LayerGroup {
    /// Number of layers.
    pub layers: u32,
    /// The attention of each layer.
    pub attention: Attention,
    /// Format of the attention projections.
    pub attention_dtype: Dtype,
    /// The feed-forward part of each layer.
    pub ffn: Ffn,
    /// Format of the dense FFN or of the routed experts. Routers are 16-bit.
    pub ffn_dtype: Dtype,
    /// Format of the shared expert; without one it has no effect.
    pub shared_dtype: Dtype,
}

/// The feed-forward part of a layer: gate, up and down projection, or only up and down without a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub enum Ffn {
    /// One FFN for all tokens.
    #[non_exhaustive]
    Dense {
        /// Intermediate size.
        intermediate: u32,
        /// Whether a gate projection multiplies the up projection; experts always have one.
        #[cfg_attr(feature = "serde", serde(default = "gated"))]
        gated: bool,
    },
    /// A router and experts.
    #[non_exhaustive]
    Moe {
        /// Experts.
        experts: u32,
        /// Experts per token.
        top_k: u32,
        /// Intermediate size of one expert.
        intermediate: u32,
        /// Intermediate size of the shared expert, which every token visits; 0 if there is none.
        shared_intermediate: u32,
    },
}

impl Layers {
    /// Maximum number of groups.
    pub const MAX_GROUPS: usize = 4;

    const EMPTY: LayerGroup = LayerGroup {
        layers: 0,
        attention: Attention::Gqa(Gqa {
            q_heads: 0,
            kv_heads: 0,
            head_dim: 0,
            output_gate: false,
            joint_qk_norm: false,
            span: Span::Full,
        }),
        attention_dtype: Dtype::Bf16,
        ffn: Ffn::Dense { intermediate: 0, gated: true },
        ffn_dtype: Dtype::Bf16,
        shared_dtype: Dtype::Bf16,
    };

    /// Returns layers that are all alike.
    pub const fn alike(group: LayerGroup) -> Layers {
        const EMPTY: LayerGroup = Layers::EMPTY;
        Layers { groups: [group, EMPTY, EMPTY, EMPTY], len: 1 }
    }

    /// Returns the layers of all `groups`.
    ///
    /// # Errors
    /// No group, or more than [`MAX_GROUPS`](Layers::MAX_GROUPS).
    pub fn try_new(groups: &[LayerGroup]) -> Result<Layers, Invalid> {
        let Some((first, others)) = groups.split_first() else {
            return Err(Invalid::zero("layers"));
        };
        let mut layers = Layers::alike(*first);
        for group in others {
            layers = layers.try_and(*group)?;
        }
        Ok(layers)
    }

    /// Returns these layers and those of another group.
    ///
    /// # Errors
    /// More than [`MAX_GROUPS`](Layers::MAX_GROUPS) groups.
    pub(super) const fn try_and(mut self, group: LayerGroup) -> Result<Layers, Invalid> {
        match self.groups.split_at_mut_checked(self.len as usize) {
            Some((_, [next, ..])) => *next = group,
            _ => {
                let most = Layers::MAX_GROUPS;
                return Err(Invalid::new(
                    "groups of layers",
                    "expected at most {}, found more",
                    &[MessagePart::Count(most as u64)],
                ));
            }
        }
        self.len += 1;
        Ok(self)
    }

    /// Returns these layers and those of another group, of which there is room for one.
    pub(super) const fn and(self, group: LayerGroup) -> Layers {
        match self.try_and(group) {
            Ok(layers) => layers,
            Err(_) => self,
        }
    }

    /// Returns all groups.
    pub(super) const fn all(&self) -> &[LayerGroup] {
        let (groups, _) = self.groups.split_at(self.len as usize);
        groups
    }

    /// Returns the number of layers of all groups.
    pub fn total(&self) -> u32 {
        let layers = self.iter().map(|group| group.layers);
        layers.fold(0, u32::saturating_add)
    }

    /// Returns the first group.
    pub const fn first(&self) -> &LayerGroup {
        let [first, ..] = &self.groups;
        first
    }
}

impl Deref for Layers {
    type Target = [LayerGroup];

    fn deref(&self) -> &[LayerGroup] {
        self.groups.get(..self.len.into()).unwrap_or_default()
    }
}

impl DerefMut for Layers {
    fn deref_mut(&mut self) -> &mut [LayerGroup] {
        let len = self.len.into();
        self.groups.get_mut(..len).unwrap_or_default()
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The FFN of a file from before there was a choice.
#[cfg(feature = "serde")]
const fn gated() -> bool {
    true
}

impl Ffn {
    /// Returns the number of projections to the intermediate size: gate and up, or up alone.
    pub(crate) const fn up_projections(self) -> u32 {
        match self {
            Ffn::Dense { gated: false, .. } => 1,
            _ => 2,
        }
    }
}
