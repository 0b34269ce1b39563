//! Options of a step model.

use super::Network;
use crate::engine::{self, EngineStack, StepConstants};
use crate::hardware::Dtype;
use crate::table::Strictness;

/// Options of a step model, in addition to model, tables and parallelism.
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
    /// The worst class that a kernel may resolve to, where each kernel counts by its best answers.
    ///
    /// A step can still be worse, or outside the measured axes: see [`StepTime::check`](super::StepTime::check).
    pub strictness: Strictness,
    /// Time that the engine adds to the measured kernels.
    pub constants: StepConstants,
    /// Maximum number of tokens of a step that runs as a CUDA graph; `None` for the maximum in the constants. The time
    /// of all-reduces uses the maximum in the constants in either case.
    pub cuda_graph_max_tokens: Option<u32>,
    /// Network of ranks on several nodes.
    pub network: Network,
}

impl StepOptions {
    /// Returns 16-bit KV entries, any provenance and the constants of `engine`.
    pub const fn for_engine(engine: &EngineStack) -> StepOptions {
        StepOptions {
            kv_dtype: Dtype::Bf16,
            strictness: Strictness::ANY,
            constants: engine.constants,
            cuda_graph_max_tokens: None,
            network: Network::CX7,
        }
    }

    crate::setters! {
        /// Sets the format of the KV entries.
        with_kv_dtype(kv_dtype: Dtype);
        /// Sets the worst class that a kernel may resolve to.
        with_strictness(strictness: Strictness);
        /// Sets the constants of the engine.
        with_constants(constants: StepConstants);
        /// Sets the maximum number of tokens of a step that runs as a CUDA graph.
        with_cuda_graph_max_tokens(cuda_graph_max_tokens: Option<u32>);
        /// Sets the network of ranks on several nodes.
        with_network(network: Network);
    }
}

impl Default for StepOptions {
    /// Returns 16-bit KV entries, any provenance and the constants of [`engine::DEFAULT`].
    fn default() -> StepOptions {
        // A read of the stack at run time would link the texts that describe it.
        const DEFAULT: StepOptions = StepOptions::for_engine(&engine::DEFAULT);
        DEFAULT
    }
}
