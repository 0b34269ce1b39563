//! The division of a model over GPUs.

/// The division of a model over GPUs.
///
/// Each of the `dp` ranks has requests of its own: its `tp` GPUs hold all of the attention and the dense FFN. All
/// GPUs share the experts. With `pp` stages, each has `tp` GPUs and a share of the layers
/// ([`ModelSpec::stages`](super::ModelSpec::stages)).
///
/// ```
/// use rooflut::model::Parallelism;
/// let sliced = Parallelism::tensor(8);
/// let whole = sliced.with_expert_parallel(true);
/// assert_eq!((sliced.expert_tp(), sliced.ep()), (8, 1));
/// assert_eq!((whole.expert_tp(), whole.ep()), (1, 8));
/// let ranks = Parallelism::tensor(2).with_dp(4).with_expert_parallel(true);
/// assert_eq!((ranks.gpus(), ranks.ep()), (8, 8));
/// let pipeline = Parallelism::tensor(8).with_pp(2);
/// assert_eq!((pipeline.gpus(), pipeline.stage_gpus()), (16, 8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Parallelism {
    /// Tensor parallelism: GPUs that share each layer.
    pub tp: u32,
    /// Pipeline parallelism: stages of `tp` GPUs that hold successive layers.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub pp: u32,
    /// Data parallelism: ranks of `tp` GPUs that step together and share the experts alone.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub dp: u32,
    /// Whether the GPUs hold whole experts instead of a slice of each, as with vLLM's `--enable-expert-parallel`.
    /// Attention, dense FFN and shared expert are sliced in both cases.
    #[cfg_attr(feature = "serde", serde(default))]
    pub expert_parallel: bool,
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

impl Parallelism {
    /// One GPU.
    pub const SINGLE: Parallelism = Parallelism::tensor(1);

    /// Returns tensor parallelism over `tp` GPUs.
    pub const fn tensor(tp: u32) -> Parallelism {
        Parallelism { tp, pp: 1, dp: 1, expert_parallel: false }
    }

    /// Maximum number of pipeline stages.
    pub const MAX_PP: u32 = 64;

    crate::setters! {
        /// Sets the number of pipeline stages.
        with_pp(pp: u32);
        /// Sets the number of data-parallel ranks.
        with_dp(dp: u32);
        /// Sets whether the GPUs hold whole experts.
        with_expert_parallel(expert_parallel: bool);
    }

    /// Returns the number of GPUs.
    pub const fn gpus(self) -> u32 {
        self.stage_gpus().saturating_mul(self.pp)
    }

    /// Returns the number of GPUs of a pipeline stage. These GPUs share the experts of the stage.
    pub const fn stage_gpus(self) -> u32 {
        self.tp.saturating_mul(self.dp)
    }

    /// Returns the number of GPUs that share each expert.
    pub const fn expert_tp(self) -> u32 {
        if self.expert_parallel { 1 } else { self.stage_gpus() }
    }

    /// Returns the number of GPUs that share the experts.
    pub const fn ep(self) -> u32 {
        if self.expert_parallel { self.stage_gpus() } else { 1 }
    }

    /// Returns whether each GPU of a rank routes a share of the rank's tokens, as vLLM does where ranks have several
    /// GPUs with whole experts (`use_sequence_parallel_moe`).
    pub(crate) const fn divides_tokens(self) -> bool {
        self.expert_parallel && self.tp > 1 && self.dp > 1
    }
}

impl From<u32> for Parallelism {
    /// Returns tensor parallelism over that many GPUs.
    fn from(tp: u32) -> Parallelism {
        Parallelism::tensor(tp)
    }
}
