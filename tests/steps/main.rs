//! Tests of steps: oracle, bounds, parts and errors.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; numbers are compared to the last bit where that is meant"
)]

mod bounds;
mod compressed;
mod continuity;
mod data_parallel;
mod decode;
mod delta_nets;
mod drafts;
mod eagle3;
mod engine;
mod expert_parallel;
mod groups;
mod intervals;
mod kernels;
mod latent;
mod missing_kernels;
mod msa;
mod mtp;
mod oracle;
mod pipeline;
mod refusals;
mod strictness;
mod sums;
#[path = "../support/mod.rs"]
mod support;
mod tally;
mod ungated;
mod versions;
mod weight_dtype;
mod windows;
