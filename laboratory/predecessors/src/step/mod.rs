//! Step models of the predecessors, for cross-checks; never the default.
//!
//! [`InferSim`] and [`Blis`] are rooflines over MFU tables, [`Calibrated`] is a roofline with fitted constants and no
//! tables. They reproduce the numbers of their originals, flaws included, so answers may violate physical bounds.
//! Each has its published constants for H100, and reads the GPU's figures from the data sheet in
//! [`Gpu`](rooflut::hardware::Gpu).
//!
//! All three treat a [`DecodeGroup`](rooflut::step::DecodeGroup) as requests of equal KV length
//! (`kv_tokens / requests`).
//! None supports speculative decoding: their answers do not include the time of drafted tokens.

mod blis;
mod calibrated;
mod dense;
mod infersim;
mod infersim_tables;
mod spec;
mod time;

pub use blis::Blis;
pub use calibrated::Calibrated;
pub use infersim::InferSim;
pub use spec::CompatSpec;
pub use time::{CompatPart, CompatTime};
