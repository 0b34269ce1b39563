//! Models: dimensions, catalogue, memory.

mod attention;
mod catalog;
mod checks;
mod compressed;
mod eagle3;
mod kv_groups;
mod layers;
mod memory;
mod msa;
mod parallelism;
mod sampler;
mod span;
mod spec;
mod spec_builder;
#[cfg(feature = "serde")]
mod spec_serde;
mod stages;

pub use attention::{Attention, DeltaNet, Gqa, Mla};
pub use catalog::{CATALOG, CatalogEntry, find};
pub use compressed::Compressed;
pub use eagle3::Eagle3;
pub use kv_groups::KvGroups;
pub use layers::{Ffn, LayerGroup, Layers};
#[cfg(feature = "sim")]
pub(crate) use memory::grown_block_size;
pub(crate) use memory::kv_bytes_per_token;
pub use memory::{MemoryConstants, MemoryLimits, MemoryPlan};
pub use msa::Msa;
pub use parallelism::Parallelism;
pub use sampler::Sampler;
pub use span::Span;
pub use spec::ModelSpec;
pub use spec_builder::ModelSpecBuilder;
