//! Table sets that are accepted, refused and generated.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod accepted;
mod constants;
mod engines;
mod fingerprints;
mod messages;
mod names;
mod one_file;
mod refused;
mod refused_engines;
mod single_files;
mod support;
