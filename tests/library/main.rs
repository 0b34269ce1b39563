//! Tests of the library as a whole: layers, data, errors, serialization, examples.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; numbers are compared to the last bit where that is meant"
)]

mod accuracy;
mod bad_input;
mod deployment;
mod english;
mod examples;
mod fingerprints;
mod layering;
mod serde;
mod tables_macro;
