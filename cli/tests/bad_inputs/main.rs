//! Wrong inputs, table by table: each is read right, or refused in one line, soon and in little memory. Wrong outputs
//! and signals are in `tests/suite/outputs.rs`.
#![cfg(target_os = "linux")] // others have no limit of address space

mod bounded;
mod files;
mod flags;
mod traces;
