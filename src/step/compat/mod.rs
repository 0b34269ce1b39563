//! The step models of the predecessors, for cross-checks; never the default.
//!
//! [`InferSim`] and [`Blis`] are rooflines over MFU tables, [`Calibrated`] is a roofline with fitted
//! constants and no tables. They reproduce the numbers of their originals, flaws included: answers
//! may lie below the bounds of physics. Each has its published constants in a struct of its own, and
//! its figures for the GPU from the data sheet in [`Gpu`](crate::hardware::Gpu).
//!
//! All three treat a [`DecodeGroup`](super::DecodeGroup) as requests of equal KV length
//! (`kv_tokens / requests`).
//! None knows speculative decoding: the time of drafted tokens is not in their answers.

mod blis;
mod calibrated;
mod constants;
mod dense;
mod error;
mod infersim;
mod infersim_tables;
mod spec;
mod time;

pub use blis::Blis;
pub use calibrated::Calibrated;
pub use constants::{BlisConstants, CalibratedConstants, InferSimConstants};
pub use error::CompatError;
pub use infersim::InferSim;
pub use spec::CompatSpec;
pub use time::{CompatPart, CompatTime};
