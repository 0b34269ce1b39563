//! `rooflut import`.

mod parquet;
mod reports;
#[path = "../support/mod.rs"]
mod support;
