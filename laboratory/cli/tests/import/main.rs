//! `rooflut-lab import`.

mod imports;
mod parquet;
mod reports;
#[path = "../../../../cli/tests/support/mod.rs"]
mod support;

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rooflut-lab");
