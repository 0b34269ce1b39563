//! Parts of a step.

/// A part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Part {
    /// Fused query, key and value projection.
    Qkv,
    /// Attention over new prompt tokens.
    PrefillAttention,
    /// Attention of decoding requests over their KV cache.
    DecodeAttention,
    /// Output projection of the attention.
    OProj,
    /// Fused gate and up projection of the FFN (dense layers and shared experts).
    GateUp,
    /// Down projection of the FFN (dense layers and shared experts).
    Down,
    /// Router of mixture-of-experts layers.
    Router,
    /// Experts of mixture-of-experts layers.
    Moe,
    /// All-gathers and reduce-scatters between data-parallel ranks, before and after the experts.
    Exchange,
    /// All-reduces of tensor parallelism.
    AllReduce,
    /// Hidden states sent to the next pipeline stage.
    Transfer,
    /// Norms, rotary embedding, activation, residual, KV write, and the gaps between kernels.
    SmallKernels,
    /// Projection of the sampled rows to the vocabulary.
    LmHead,
    /// Sampling over the vocabulary.
    Sampling,
    /// Waiting of the GPU for the host.
    Host,
}

crate::names!(Part {
    Qkv => "qkv",
    PrefillAttention => "prefill_attention",
    DecodeAttention => "decode_attention",
    OProj => "o_proj",
    GateUp => "gate_up",
    Down => "down",
    Router => "router",
    Moe => "moe",
    Exchange => "exchange",
    AllReduce => "all_reduce",
    Transfer => "transfer",
    SmallKernels => "small_kernels",
    LmHead => "lm_head",
    Sampling => "sampling",
    Host => "host",
});
