//! Inputs that mean nothing, for each reader and each flag: they are refused in one line, soon and in little memory.
//! The messages are shown in `tests/pages`.
#![cfg(target_os = "linux")] // others have no limit of address space

mod bounded;
mod files;
mod flags;

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rooflut");

/// Arguments that read a file, which `PATH` stands for.
const READERS: &[&str] = &[
    "run --trace PATH",
    "run --scenario PATH",
    "run --prompt file:PATH",
    "run --model PATH",
    "run --draft-tokens 2 --acceptance 0.5 --draft-model PATH",
    "run --tables PATH",
    "run --prices PATH",
    "fits --prices PATH",
    "compare PATH PATH",
    "lookup gemm --k 4096 --n 4096 --m 8 --tables PATH",
];
