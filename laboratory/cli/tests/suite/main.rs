//! The commands of the laboratory, as users run them.

mod check;
mod documents;
mod own_tables;
mod pages;
mod score;
mod step;
#[path = "../../../../cli/tests/support/mod.rs"]
mod support;
mod terminal;
mod validate;

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rooflut-lab");
