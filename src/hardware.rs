//! GPUs and the kernels that run on them: limits and compulsory work.

#[cfg(feature = "alloc")]
pub(crate) use rooflut_roofline::MlaLoad;
pub use rooflut_roofline::operation::shapes::*;
pub use rooflut_roofline::{Dtype, Gpu, GpuBuilder, MeasuredKernel, OperationKind, Text, Work};
pub(crate) use rooflut_roofline::{Prompts, RankAttention, Rates, operation};
#[doc(hidden)] // Used by generated code.
pub use rooflut_roofline::{Reference, Timing};

pub use crate::generated::gpus;
