//! Models: dimensions, catalogue, memory.

mod catalog;
mod memory;
mod sampler;
mod spec;
mod spec_builder;
mod spec_error;

pub use catalog::{CATALOG, CatalogEntry, find};
pub(crate) use memory::kv_bytes_per_token;
pub use memory::{MemoryError, MemoryLimits, MemoryPlan};
pub use sampler::Sampler;
pub use spec::{Attention, Ffn, ModelSpec};
pub use spec_builder::ModelSpecBuilder;
pub use spec_error::SpecError;
