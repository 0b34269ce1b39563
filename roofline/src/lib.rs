//! The roofline itself: what a GPU can do and what a kernel must do.
//!
//! A [`Gpu`] has peaks by [`Dtype`], a memory bandwidth and a link; a kernel shape
//! ([`GemmShape`], [`AttentionShape`], [`MoeShape`], [`AllReduceShape`]) knows its FLOPs and its
//! compulsory bytes ([`Work`]). One over the other is the time below which no run of that kernel
//! can be ([`Work::bound_s`]).
//!
//! Both sides of rooflut use this crate: the code generator, to check measured rows against the
//! bound and to store them relative to it, and the library, to turn them back into seconds. So each
//! formula is written once.
#![no_std]

mod allreduce;
mod attention;
mod dtype;
mod gemm;
mod gpu;
mod limits;
pub mod math;
mod moe;
mod names;
mod reference;
mod work;

pub use allreduce::AllReduceShape;
pub use attention::{AttentionShape, Prompts, RankAttention};
pub use dtype::Dtype;
pub use gemm::GemmShape;
pub use gpu::{Gpu, Rates};
pub use limits::{Excess, Limit};
pub use moe::MoeShape;
pub use names::UnknownName;
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use names::deserialize_name;
pub use reference::Reference;
pub use work::Work;
