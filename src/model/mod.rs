//! Models: dimensions, the list of known ones, memory.

mod catalog;
mod memory;
mod spec;
mod spec_builder;
mod spec_error;

pub use catalog::{CATALOG, CatalogEntry, find};
pub use memory::{MemoryError, MemoryLimits, MemoryPlan, kv_bytes_per_token};
pub use spec::{Ffn, ModelSpec};
pub use spec_builder::ModelSpecBuilder;
pub use spec_error::SpecError;
