//! The version of the program.

pub use rooflut_version::version;
