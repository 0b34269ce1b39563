//! Table sets that are accepted, refused and generated.

mod accepted;
mod constants;
mod engines;
mod fingerprints;
mod layering;
mod names;
mod one_file;
mod refused_engines;
mod refused_files;
mod refused_physics;
mod refused_values;
mod single_files;
mod support;
