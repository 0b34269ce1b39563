//! How long an engine step takes.

mod batch;
pub mod compat;
mod drafting;
mod error;
mod kernels;
mod options;
mod origins;
mod roofline;
#[cfg(feature = "alloc")]
mod tabulated;
#[cfg(feature = "alloc")]
mod tally;
mod time;

pub use crate::op::Binding;
pub use batch::{BatchError, Chunk, DecodeGroup, StepBatch};
pub use drafting::Drafting;
pub use error::ModelError;
pub use options::{Parallelism, StepOptions};
pub use origins::Origins;
pub use roofline::RooflineModel;
#[cfg(feature = "alloc")]
pub use tabulated::TabulatedModel;
#[cfg(feature = "alloc")]
pub use tally::Tally;
pub use time::{LatencyModel, Part, PartTime, StepTime};
