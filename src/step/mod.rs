//! How long an engine step takes.

mod batch;
pub mod compat;
mod error;
mod overheads;
mod roofline;
mod time;

pub use crate::op::Binding;
pub use batch::{Chunk, DecodeGroup, StepBatch};
pub use error::ModelError;
pub use overheads::Overheads;
pub use roofline::{Parallelism, RooflineModel, StepOptions};
pub use time::{LatencyModel, Part, PartTime, StepTime};
