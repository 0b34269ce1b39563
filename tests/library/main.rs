//! The library as a whole: its layers, its data, what it refuses, what its users write.

mod bad_input;
mod deployment;
mod examples;
mod fingerprints;
mod layering;
mod serde;
mod tables_macro;
