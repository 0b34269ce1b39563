//! Tests of allocations: none in lookups, steps and running servers, and the memory of a waiting request.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod overload;
mod sim;
#[path = "../sim/support/mod.rs"]
mod sim_support;
mod steps;
#[path = "../support/mod.rs"]
mod support;
