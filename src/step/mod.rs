//! How long an engine step takes.

mod batch;
pub mod compat;
mod drafting;
mod error;
mod kernels;
mod options;
mod roofline;
mod sources;
#[cfg(feature = "alloc")]
mod tabulated;
#[cfg(feature = "alloc")]
mod tally;
mod time;

pub use crate::op::estimate::{Binding, TimeSource};
pub use batch::{BatchError, Chunk, DecodeGroup, StepBatch};
pub use drafting::Drafting;
pub use error::ModelError;
pub use options::{Parallelism, StepOptions};
pub use roofline::RooflineModel;
pub use sources::TimeSources;
#[cfg(feature = "alloc")]
pub use tabulated::TabulatedModel;
#[cfg(feature = "alloc")]
pub use tally::Tally;
pub use time::{LatencyModel, Part, PartTime, StepModel, StepTime};
