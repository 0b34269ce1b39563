//! The division of a model over GPUs.

/// The division of a model over the GPUs of one node.
///
/// ```
/// use rooflut::model::Parallelism;
/// let sliced = Parallelism::tensor(8);
/// let whole = sliced.with_expert_parallel(true);
/// assert_eq!((sliced.expert_tp(), sliced.ep()), (8, 1));
/// assert_eq!((whole.expert_tp(), whole.ep()), (1, 8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Parallelism {
    /// Tensor parallelism: GPUs of one node that share each layer.
    pub tp: u32,
    /// Whether these GPUs hold whole experts instead of a slice of each, as with vLLM's `--enable-expert-parallel`.
    /// Attention, dense FFN and shared expert are sliced in both cases.
    #[cfg_attr(feature = "serde", serde(default))]
    pub expert_parallel: bool,
}

impl Parallelism {
    /// One GPU.
    pub const SINGLE: Parallelism = Parallelism::tensor(1);

    /// Returns tensor parallelism over `tp` GPUs.
    pub const fn tensor(tp: u32) -> Parallelism {
        Parallelism {
            tp,
            expert_parallel: false,
        }
    }

    crate::setters! {
        /// Sets whether the GPUs hold whole experts.
        with_expert_parallel(expert_parallel: bool);
    }

    /// Returns the number of GPUs that share each expert.
    pub const fn expert_tp(self) -> u32 {
        if self.expert_parallel { 1 } else { self.tp }
    }

    /// Returns the number of GPUs over which experts are divided.
    pub const fn ep(self) -> u32 {
        if self.expert_parallel { self.tp } else { 1 }
    }
}

impl From<u32> for Parallelism {
    /// Returns tensor parallelism over that many GPUs.
    fn from(tp: u32) -> Parallelism {
        Parallelism::tensor(tp)
    }
}
