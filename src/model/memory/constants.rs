//! Memory that an engine takes beside weights, activations and KV cache.

/// Memory of one GPU that an engine takes in addition to weights, activations and KV cache, by version. Sizes are in
/// bytes.
///
/// ```
/// use rooflut::engine::stacks;
/// let [old, new] = [stacks::VLLM_0_15_1.memory, stacks::VLLM_0_19_0.memory];
/// // Masks of top-k and top-p without a sort of the vocabulary, and buffers of fused all-reduces.
/// assert!(new.logit_memory < old.logit_memory);
/// assert!(new.communication_memory > old.communication_memory);
/// // vLLM sets memory for CUDA graphs aside since 0.20.1.
/// assert!(stacks::VLLM_0_33_0.memory.graph_memory > new.graph_memory);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct MemoryConstants {
    /// Code of kernels and other memory that is not PyTorch's, on a GPU that shares no layer with others.
    pub non_torch_memory: f64,
    /// Addition to [`non_torch_memory`](Self::non_torch_memory) of GPUs that share layers: buffers of NCCL, of custom
    /// and of fused all-reduces.
    pub communication_memory: f64,
    /// Bytes per logit while the profile run samples a token for each of `max_num_seqs` requests: the 16-bit logits,
    /// the 32-bit logits, and the additions for masks of top-k and top-p and for the draw.
    pub logit_memory: f64,
    /// Bytes per vocabulary entry and multiprocessor of a kernel's buffer for masking logits.
    pub logit_buffer: f64,
    /// Share of the workspace of experts that stays allocated while tokens are sampled.
    pub kept_expert_workspace: f64,
    /// Memory set aside for CUDA graphs, besides the memory of the layers; 0 for engines that set none aside.
    pub graph_memory: f64,
    /// Memory set aside for the CUDA graphs of one batch size, per layer.
    pub graph_layer_memory: f64,
}
