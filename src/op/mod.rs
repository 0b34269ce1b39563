//! Single kernels: FLOPs, bytes, time.
//!
//! Each operation is looked up in two parts: `resolve` finds the measured points of a shape once, and `at` searches
//! and interpolates them for each query.

mod attention;
mod blend;
mod collective;
#[cfg(feature = "alloc")]
mod compressed;
mod decode;
#[cfg(feature = "alloc")]
mod delta;
mod estimate;
mod found;
mod gemm;
mod kernel;
#[cfg(feature = "alloc")]
mod layer;
#[cfg(feature = "alloc")]
mod mla;
mod moe;
#[cfg(feature = "alloc")]
mod msa;
mod prefill;
#[cfg(feature = "alloc")]
mod streams;
#[cfg(feature = "alloc")]
mod window;

pub use blend::Neighbour;
pub use collective::{AllReduce, Collective, Gather};
#[cfg(feature = "alloc")]
pub use compressed::{CompressedDecode, CompressedPrefill};
pub use decode::DecodeAttention;
pub(crate) use decode::DecodeRows;
#[cfg(feature = "alloc")]
pub use delta::{DeltaDecode, DeltaPrefill};
pub use estimate::Estimate;
pub use gemm::Gemm;
pub use kernel::{Argument, Kernel};
#[cfg(feature = "alloc")]
pub use mla::{MlaDecode, MlaPrefill};
pub use moe::Moe;
#[cfg(feature = "alloc")]
pub use msa::{MsaDecode, MsaPrefill};
pub use prefill::{ChunkSums, PrefillAttention};
#[cfg(feature = "alloc")]
pub use streams::HyperConnection;
#[cfg(feature = "alloc")]
pub(crate) use window::WindowChunks;
#[cfg(feature = "alloc")]
pub use window::{WindowDecode, WindowPrefill};
