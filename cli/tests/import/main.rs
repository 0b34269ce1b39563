//! `rooflut import`.

mod parquet;
mod refusals;
mod reports;
mod rows;
#[path = "../support/mod.rs"]
mod support;
