//! Limits that determine the memory left for the KV cache.

use super::MemoryConstants;
use crate::error::Invalid;
use crate::generated::DEFAULT;
use crate::hardware::Dtype;

/// Limits that determine the memory left for the KV cache.
///
/// ```
/// use rooflut::model::MemoryLimits;
/// let limits = MemoryLimits::default().with_max_num_batched_tokens(8_192);
/// assert_eq!(limits.block_size, 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct MemoryLimits {
    /// Share of the GPU's memory that the engine may use, above 0, at most 1.
    pub gpu_memory_utilization: f64,
    /// Maximum number of tokens in a step; determines the size of the activations.
    pub max_num_batched_tokens: u32,
    /// Maximum number of running requests; determines the size of the logits in the profile run.
    pub max_num_seqs: u32,
    /// Tokens in a KV block.
    pub block_size: u32,
    /// Format of the KV entries.
    pub kv_dtype: Dtype,
    /// Memory that the engine takes, as [`EngineStack::memory_limits`](crate::engine::EngineStack::memory_limits) sets
    /// it.
    pub engine: MemoryConstants,
    /// Tokens of the largest CUDA graph.
    pub cuda_graph_max_tokens: u32,
}

impl MemoryLimits {
    crate::setters! {
        /// Sets the share of the GPU's memory that the engine may use.
        with_gpu_memory_utilization(gpu_memory_utilization: f64);
        /// Sets the maximum number of tokens in a step.
        with_max_num_batched_tokens(max_num_batched_tokens: u32);
        /// Sets the maximum number of running requests.
        with_max_num_seqs(max_num_seqs: u32);
        /// Sets the number of tokens in a KV block.
        with_block_size(block_size: u32);
        /// Sets the format of the KV entries.
        with_kv_dtype(kv_dtype: Dtype);
    }
}

impl Default for MemoryLimits {
    /// Returns 0.9 of the memory, 2,048 tokens in a step, 128 running requests, 16-bit KV blocks of 16 tokens, and the
    /// memory that [`engine::DEFAULT`](crate::engine::DEFAULT) takes. A deployment takes the limits of its engine and
    /// GPU.
    fn default() -> MemoryLimits {
        MemoryLimits {
            gpu_memory_utilization: 0.9,
            max_num_batched_tokens: 2048,
            max_num_seqs: 128,
            block_size: 16,
            kv_dtype: Dtype::Bf16,
            engine: DEFAULT.memory,
            cuda_graph_max_tokens: DEFAULT.constants.cuda_graph_max_tokens,
        }
    }
}

impl MemoryLimits {
    /// Checks each limit.
    ///
    /// # Errors
    /// The first limit that is out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        let found = self.gpu_memory_utilization;
        if !(found > 0.0 && found <= 1.0) {
            let text = "expected a number above 0 and at most 1, found {}";
            return Err(Invalid::new("gpu_memory_utilization", text, &[found.into()]));
        }
        let limits = [("max_num_batched_tokens", self.max_num_batched_tokens), ("block_size", self.block_size)];
        match limits.into_iter().find(|(_, tokens)| *tokens == 0) {
            Some((limit, _)) => Err(Invalid::zero(limit)),
            None => Ok(()),
        }
    }
}
