#![doc = include_str!("../README.md")]

pub mod leave_one_out;
pub mod lookup;
pub mod step;

use rooflut::table::TableSet;

/// InferSim's figures of H100: FlashAttention-3 prefill, FlashInfer decode, DeepGEMM. The predecessors' reference values
/// are computed from them.
pub static H100_INFERSIM: &TableSet = rooflut::tables!("h100-infersim");
