//! Inputs that mean nothing, for each reader and each flag: they are refused in one line, soon and in little memory.
//! The messages are shown in `tests/pages`.
#![cfg(target_os = "linux")] // others have no limit of address space

mod bounded;
mod files;
mod flags;
