//! GPUs and the kernels that run on them: limits and compulsory work.

#[cfg(feature = "alloc")]
pub(crate) use rooflut_roofline::MlaLoad;
pub use rooflut_roofline::{
    AllReduceShape, AttentionShape, DeltaKernel, DeltaShape, Dtype, GatherShape, GemmShape, Gpu,
    GpuBuilder, GpuError, Indexer, MeasuredKernel, MlaShape, MoeShape, OperationKind, Text,
    WindowShape,
};
pub(crate) use rooflut_roofline::{Prompts, RankAttention, Rates, Work, operation};
#[doc(hidden)] // Used by generated code.
pub use rooflut_roofline::{Reference, Timing};

pub use crate::generated::gpus;
