//! Lookups and models of the predecessors, and errors on rows that are left out.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; numbers are compared to the last bit where that is meant"
)]

mod leave_one_out;
mod lookups;
mod models;
