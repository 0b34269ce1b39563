//! GPUs and the kernels that run on them: limits and compulsory work.

#[doc(hidden)] // Used by generated code.
pub use rooflut_roofline::Reference;
#[cfg(feature = "window")]
pub use rooflut_roofline::WindowShape;
pub use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, GpuBuilder, GpuError, MeasuredKernel,
    MoeShape, OperationKind, Text,
};
pub(crate) use rooflut_roofline::{Prompts, RankAttention, Rates, Work, operation};

pub use crate::generated::gpus;
