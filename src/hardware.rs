//! GPUs and the kernels that run on them: limits and compulsory work.

#[cfg(feature = "data-parallel")]
pub use rooflut_roofline::GatherShape;
#[cfg(feature = "mla")]
pub(crate) use rooflut_roofline::MlaLoad;
#[cfg(feature = "mla")]
pub use rooflut_roofline::MlaShape;
#[cfg(feature = "window")]
pub use rooflut_roofline::WindowShape;
pub use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, GpuBuilder, GpuError, Indexer,
    MeasuredKernel, MoeShape, OperationKind, Text,
};
#[cfg(feature = "delta-net")]
pub use rooflut_roofline::{DeltaKernel, DeltaShape};
pub(crate) use rooflut_roofline::{Prompts, RankAttention, Rates, Work, operation};
#[doc(hidden)] // Used by generated code.
pub use rooflut_roofline::{Reference, Timing};

pub use crate::generated::gpus;
