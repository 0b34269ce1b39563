//! Models: dimensions, the list of known ones.

mod catalog;
mod spec;

pub use catalog::{CATALOG, CatalogEntry, find};
pub use spec::{Ffn, ModelSpec, SpecError};
