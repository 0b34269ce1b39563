//! Tests of lookups: oracle, bounds, interpolation between rows.
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
mod context;
mod continuity;
mod exact;
mod grouped_split;
mod kernels;
mod mla;
mod msa;
mod oracle;
mod provenance;
#[path = "../support/mod.rs"]
mod support;
