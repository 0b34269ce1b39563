//! Tests of steps: oracle, bounds, parts and errors.

mod bounds;
mod continuity;
mod decode;
mod drafts;
mod engine;
mod missing_kernels;
mod oracle;
mod refusals;
mod strictness;
mod sums;
#[path = "../support/mod.rs"]
mod support;
mod tally;
mod weight_dtype;
