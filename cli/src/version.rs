//! The version of the program.

pub(crate) use rooflut_version::version;
