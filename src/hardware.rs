//! GPUs and the kernels that run on them: what can be done, and what must be.

pub use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, MoeShape, Prompts, RankAttention, Rates,
    Reference, Work,
};

pub use crate::generated::gpus;
