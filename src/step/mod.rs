//! How long an engine step takes.

mod batch;
mod time;

pub use crate::op::Binding;
pub use batch::{Chunk, DecodeGroup, StepBatch};
pub use time::{LatencyModel, Part, PartTime, StepTime};
