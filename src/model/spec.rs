//! Checked dimensions of a transformer.

use super::{ModelSpecBuilder, Sampler, SpecError};
use crate::hardware::Dtype;

/// Dimensions of a decoder-only transformer whose layers are all alike.
///
/// [`ModelSpec::builder`] makes one and checks it. Fields are public and may be changed afterwards;
/// every constructor that takes a `ModelSpec` calls [`ModelSpec::check`] again.
///
/// ```
/// use rooflut::model::ModelSpec;
/// let llama_3_1_8b = ModelSpec::builder()
///     .hidden(4096).layers(32).q_heads(32).kv_heads(8).head_dim(128).intermediate(14_336)
///     .vocab(128_256).max_model_len(131_072)
///     .build()?;
/// assert_eq!(llama_3_1_8b.weight_params() / 1_000_000, 8_030);
/// # Ok::<(), rooflut::model::SpecError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", deny_unknown_fields))]
pub struct ModelSpec {
    /// Hidden size.
    pub hidden: u32,
    /// Layers.
    pub layers: u32,
    /// Query heads.
    pub q_heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Dimension of a head, which is not always hidden / q_heads.
    pub head_dim: u32,
    /// The tokens that a token attends to.
    #[cfg_attr(feature = "serde", serde(default))]
    pub attention: Attention,
    /// Vocabulary size, as padded in the weights.
    pub vocab: u32,
    /// The feed-forward part of each layer.
    pub ffn: Ffn,
    /// Format of attention projections and dense FFNs. Embedding, router and lm_head are 16-bit.
    pub weight_dtype: Dtype,
    /// Whether embedding and lm_head are the same weights.
    pub tied_embeddings: bool,
    /// Learned position embeddings; 0 where positions have no weights, as with rotary embeddings.
    #[cfg_attr(feature = "serde", serde(default))]
    pub positions: u32,
    /// Longest sequence, prompt and output together.
    pub max_model_len: u32,
    /// Sampling of the tokens, unless requests set another.
    #[cfg_attr(feature = "serde", serde(default))]
    pub sampler: Sampler,
}

/// The tokens that a token attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Attention {
    /// All tokens before it.
    #[default]
    Full,
    /// In some layers, those before it in a chunk of fixed length, as in Llama-4. vLLM does not capture such attention in
    /// CUDA graphs.
    ///
    /// Does not model: the shorter reads of requests longer than a chunk.
    Chunked,
}

crate::names!(Attention {
    Full => "full",
    Chunked => "chunked",
});

/// The feed-forward part of a layer: gate, up and down projection, or up and down alone where it has no gate.
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
        /// Format of the experts' weights (shared one included).
        expert_dtype: Dtype,
    },
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

/// The FFN of a file from before there was a choice.
#[cfg(feature = "serde")]
const fn gated() -> bool {
    true
}

/// Maximum hidden and intermediate size. With [`MAX_COUNT`], it keeps the number of weights below 2^64.
const MAX_WIDTH: u32 = 1 << 18;
/// Maximum number of layers, heads, experts, and dimension of a head.
const MAX_COUNT: u32 = 1 << 12;
/// Maximum vocabulary size.
const MAX_VOCAB: u32 = 1 << 24;

impl ModelSpec {
    /// Returns a builder with no dimensions yet, 16-bit weights and untied embeddings.
    pub const fn builder() -> ModelSpecBuilder {
        ModelSpecBuilder::NEW
    }

    /// Checks that the dimensions are consistent.
    ///
    /// # Errors
    /// A zero, a number larger than in any model, query heads that are not a multiple of KV heads, more experts per
    /// token than experts.
    pub fn check(&self) -> Result<(), SpecError> {
        within("hidden", self.hidden, MAX_WIDTH)?;
        within("layers", self.layers, MAX_COUNT)?;
        within("q_heads", self.q_heads, MAX_COUNT)?;
        within("kv_heads", self.kv_heads, MAX_COUNT)?;
        within("head_dim", self.head_dim, MAX_COUNT)?;
        within("vocab", self.vocab, MAX_VOCAB)?;
        within("positions", self.positions.max(1), MAX_VOCAB)?;
        within("max_model_len", self.max_model_len, u32::MAX)?;
        divides("q_heads", self.q_heads, "kv_heads", self.kv_heads)?;
        match self.ffn {
            Ffn::Dense { intermediate, .. } => within("intermediate", intermediate, MAX_WIDTH),
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                shared_intermediate,
                ..
            } => {
                within("experts", experts, MAX_COUNT)?;
                within("top_k", top_k, MAX_COUNT)?;
                within("intermediate", intermediate, MAX_WIDTH)?;
                within("shared_intermediate", shared_intermediate.max(1), MAX_WIDTH)?;
                if top_k > experts {
                    return Err(SpecError::TopK { top_k, experts });
                }
                Ok(())
            }
        }
    }

    /// Checks that `tp` ranks can share the model: query heads and FFN are divisible by `tp`, and KV heads are
    /// divisible or replicated on `tp / kv_heads` ranks each. (The vocabulary is padded.)
    ///
    /// # Errors
    /// The first dimension that is not divisible.
    pub fn check_tp(&self, tp: u32) -> Result<(), SpecError> {
        within("tp", tp, MAX_COUNT)?;
        divides("q_heads", self.q_heads, "tp", tp)?;
        if tp > self.kv_heads {
            divides("tp", tp, "kv_heads", self.kv_heads)?;
        } else {
            divides("kv_heads", self.kv_heads, "tp", tp)?;
        }
        match self.ffn {
            Ffn::Dense { intermediate, .. } => divides("intermediate", intermediate, "tp", tp),
            Ffn::Moe {
                intermediate,
                shared_intermediate,
                ..
            } => {
                divides("intermediate", intermediate, "tp", tp)?;
                divides("shared_intermediate", shared_intermediate, "tp", tp)
            }
        }
    }

    /// Returns the model with weights of another format: attention projections, dense FFN and experts, the shared one
    /// included. Embedding, router and lm_head stay 16-bit.
    ///
    /// Does not model: whether such weights exist, and the quality of their answers.
    ///
    /// ```
    /// use rooflut::hardware::{Dtype, gpus};
    /// use rooflut::model::{self, MemoryLimits, MemoryPlan};
    /// let llama = model::find("llama-3.1-8b").unwrap().spec;
    /// let plan = |spec| MemoryPlan::try_new(&spec, &gpus::H100, 1, MemoryLimits::default());
    /// let (bf16, fp8) = (plan(llama)?, plan(llama.with_weight_dtype(Dtype::Fp8))?);
    /// assert!(fp8.weight_bytes < 0.6 * bf16.weight_bytes);
    /// assert!(fp8.kv_blocks > bf16.kv_blocks);
    /// # Ok::<(), rooflut::model::MemoryError>(())
    /// ```
    #[must_use]
    pub const fn with_weight_dtype(mut self, dtype: Dtype) -> ModelSpec {
        self.weight_dtype = dtype;
        if let Ffn::Moe { expert_dtype, .. } = &mut self.ffn {
            *expert_dtype = dtype;
        }
        self
    }

    /// Returns the model with another sampling of its tokens.
    #[must_use]
    pub const fn with_sampler(mut self, sampler: Sampler) -> ModelSpec {
        self.sampler = sampler;
        self
    }

    /// Returns the number of weights of one layer's attention: Q, K, V and output projections.
    pub fn attention_params(&self) -> u64 {
        let heads = 2 * u64::from(self.q_heads) + 2 * u64::from(self.kv_heads);
        product([u64::from(self.hidden), heads, u64::from(self.head_dim)])
    }

    /// Returns the number of weights of one layer's FFN, all experts and router included.
    pub fn ffn_params(&self) -> u64 {
        let hidden = u64::from(self.hidden);
        match self.ffn {
            Ffn::Dense { intermediate, .. } => {
                let projections = u64::from(self.ffn.up_projections()) + 1;
                product([projections, hidden, u64::from(intermediate)])
            }
            Ffn::Moe { experts, .. } => {
                let router = product([hidden, u64::from(experts)]);
                self.expert_params().saturating_add(router)
            }
        }
    }

    /// Returns the number of weights of one layer's experts, the shared one included; 0 for a dense model.
    pub fn expert_params(&self) -> u64 {
        match self.ffn {
            Ffn::Dense { .. } => 0,
            Ffn::Moe {
                experts,
                intermediate,
                shared_intermediate,
                ..
            } => {
                let routed = product([u64::from(experts), u64::from(intermediate)]);
                let width = routed.saturating_add(u64::from(shared_intermediate));
                product([3, u64::from(self.hidden), width])
            }
        }
    }

    /// Returns the number of vocabulary x hidden matrices: embedding and lm_head, or one if they are tied.
    pub(super) fn vocabularies(&self) -> u32 {
        if self.tied_embeddings { 1 } else { 2 }
    }

    /// Returns the number of weights: layers, norms, embeddings and lm_head. It saturates at `u64::MAX`, which no
    /// checked model reaches.
    pub fn weight_params(&self) -> u64 {
        let hidden = u64::from(self.hidden);
        let layer = self
            .attention_params()
            .saturating_add(self.ffn_params())
            .saturating_add(2 * hidden);
        let vocabulary = product([self.vocabularies().into(), self.vocab.into(), hidden]);
        let positions = product([self.positions.into(), hidden]);
        product([u64::from(self.layers), layer])
            .saturating_add(vocabulary)
            .saturating_add(positions)
            .saturating_add(hidden)
    }
}

#[cfg(feature = "serde")]
crate::checked!(ModelSpec, ModelSpec::check);

fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

fn within(field: &'static str, found: u32, limit: u32) -> Result<(), SpecError> {
    match found {
        0 => Err(SpecError::Zero { field }),
        _ if found > limit => Err(SpecError::TooLarge {
            field,
            found,
            limit,
        }),
        _ => Ok(()),
    }
}

fn divides(
    field: &'static str,
    found: u32,
    by: &'static str,
    divisor: u32,
) -> Result<(), SpecError> {
    if found.is_multiple_of(divisor) {
        Ok(())
    } else {
        Err(SpecError::NotDivisible {
            field,
            found,
            by,
            divisor,
        })
    }
}
