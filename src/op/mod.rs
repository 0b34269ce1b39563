//! Single kernels: FLOPs, bytes, time.
//!
//! Each operation is looked up in two parts: `resolve` finds the measured points of a shape once, and `at` searches
//! and interpolates them for each query.

mod attention;
mod blend;
mod collective;
mod decode;
#[cfg(feature = "delta-net")]
mod delta;
mod estimate;
mod found;
mod gemm;
#[cfg(feature = "mla")]
mod mla;
mod moe;
mod prefill;
#[cfg(feature = "window")]
mod window;

pub use blend::Neighbour;
#[cfg(feature = "data-parallel")]
pub use collective::Gather;
pub use collective::{AllReduce, Collective};
pub use decode::DecodeAttention;
pub(crate) use decode::DecodeRows;
#[cfg(feature = "delta-net")]
pub use delta::{DeltaDecode, DeltaPrefill};
pub use estimate::Estimate;
pub use gemm::Gemm;
#[cfg(feature = "mla")]
pub use mla::{MlaDecode, MlaPrefill};
pub use moe::Moe;
pub use prefill::{ChunkSums, PrefillAttention};
#[cfg(feature = "window")]
pub use window::{WindowDecode, WindowPrefill};
