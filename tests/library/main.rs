//! Tests of the library as a whole: layers, data, errors, serialization, examples.

mod bad_input;
mod deployment;
mod english;
mod examples;
mod fingerprints;
mod layering;
mod serde;
mod tables_macro;
