//! Options of a step model, and how the model is divided.

use crate::engine::{EngineStack, StepConstants, stacks};
use crate::hardware::Dtype;
use crate::table::Strictness;

/// How a model is divided over GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Parallelism {
    /// Tensor parallelism: GPUs of one node that share each layer.
    pub tp: u32,
}

impl Parallelism {
    /// One GPU.
    pub const SINGLE: Parallelism = Parallelism { tp: 1 };

    /// `tp` GPUs that share each layer.
    pub const fn tensor(tp: u32) -> Parallelism {
        Parallelism { tp }
    }
}

/// Options of a step model, beside model, tables and parallelism.
///
/// ```
/// use rooflut::hardware::Dtype;
/// use rooflut::step::StepOptions;
/// use rooflut::table::{Class, Strictness};
/// let options = StepOptions::default()
///     .with_kv_dtype(Dtype::Fp8)
///     .with_strictness(Strictness::at_worst(Class::Smoothed));
/// assert_eq!(options.kv_dtype, Dtype::Fp8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct StepOptions {
    /// Format of the KV entries.
    pub kv_dtype: Dtype,
    /// The worst class that a kernel may resolve to: the best class of its answers.
    ///
    /// A step can still be worse, and outside of the measured axes: see
    /// [`StepTime::check`](super::StepTime::check).
    pub strictness: Strictness,
    /// What the engine adds to the measured kernels.
    pub constants: StepConstants,
}

impl StepOptions {
    /// 16-bit KV entries, any provenance, the constants of `engine`.
    pub const fn for_engine(engine: &EngineStack) -> StepOptions {
        StepOptions {
            kv_dtype: Dtype::Bf16,
            strictness: Strictness::ANY,
            constants: engine.constants,
        }
    }

    crate::setters! {
        /// The same options with another format of the KV entries.
        with_kv_dtype(kv_dtype: Dtype);
        /// The same options with another limit on what kernels may resolve to.
        with_strictness(strictness: Strictness);
        /// The same options with other constants of the engine.
        with_constants(constants: StepConstants);
    }
}

impl Default for StepOptions {
    /// 16-bit KV entries, any provenance, the constants of vLLM 0.15.1.
    fn default() -> StepOptions {
        StepOptions::for_engine(&stacks::VLLM_0_15_1)
    }
}
