//! GPUs and the kernels that run on them: what can be done, and what must be.

pub use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, GpuBuilder, GpuError, MeasuredKernel,
    MoeShape, OperationKind, Prompts, RankAttention, Rates, Reference, Text, WindowShape, Work,
    operation,
};

pub use crate::generated::gpus;
