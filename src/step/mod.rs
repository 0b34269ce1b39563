//! How long an engine step takes.

mod batch;
mod time;

pub use batch::{Chunk, DecodeGroup, StepBatch};
pub use time::{Binding, LatencyModel, Part, PartTime, StepTime};
