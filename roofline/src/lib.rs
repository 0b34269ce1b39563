//! The roofline: GPU limits and the work of kernels.
//!
//! A [`Gpu`] has peaks by [`Dtype`], a memory bandwidth and a link; a kernel shape ([`GemmShape`],
//! [`AttentionShape`], [`MoeShape`], [`AllReduceShape`]) gives its FLOPs and compulsory bytes ([`Work`]). Dividing
//! the work by the limits gives a lower bound on the kernel's time ([`Work::bound_s`]).
//!
//! Both sides of rooflut use this crate: the code generator checks measured rows against the bound and stores them
//! relative to it, and the library turns them back into seconds. Each formula is therefore written once.
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;

mod axis;
mod dtype;
mod gpu;
mod holes;
mod invalid;
mod limits;
pub mod math;
mod names;
pub mod operation;
mod reference;
mod setters;
mod text;
mod tuned;
mod work;

pub use axis::{AxisPoint, axis_points};
pub use dtype::Dtype;
pub use gpu::{Gpu, GpuBuilder, Rates};
pub use holes::{answering_cells, filled};
pub use invalid::{Invalid, MessagePart, Subject};
pub use limits::{Excess, Limit};
pub use names::UnknownName;
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use names::deserialize_name;
pub use operation::shapes::*;
pub use operation::{GemmPace, MeasuredKernel, MlaLoad, OperationKind, PrefillPace, Prompts, RankAttention};
pub use reference::{Reference, Timing};
pub use text::Text;
pub use work::Work;
