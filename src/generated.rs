//! The tables, data sheets and engine stacks that `build.rs` generates from `bench_data/`.
#![allow(clippy::unreadable_literal, clippy::excessive_precision)]
#![allow(clippy::approx_constant)] // Measured numbers may look like one.

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
include!(concat!(env!("OUT_DIR"), "/engines.rs"));
include!(concat!(env!("OUT_DIR"), "/errors.rs"));

/// The engine stack where none is named: the newest one whose servers were measured.
pub use stacks::VLLM_0_25_0 as DEFAULT;
