//! `rooflut import`.

mod newest;
mod parquet;
mod refusals;
mod reports;
mod rows;
#[path = "../support/mod.rs"]
mod support;
