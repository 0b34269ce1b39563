//! Inputs that mean nothing, for each reader and each flag: they are refused in one line, soon and in little memory.
//! The messages are shown in `tests/pages`.
#![cfg(target_os = "linux")] // others have no limit of address space

#[path = "../../../../cli/tests/bad_inputs/bounded.rs"]
mod bounded;
#[path = "../../../../cli/tests/bad_inputs/files.rs"]
mod files;
#[path = "../../../../cli/tests/bad_inputs/flags.rs"]
mod flags;

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rooflut-lab");

/// Arguments that read a file, which `PATH` stands for.
const READERS: &[&str] = &[
    "tables check PATH",
    "tables plot PATH",
    "tables score PATH",
    "validate PATH",
    "import infersim PATH new",
    "import aiconfigurator PATH new --gpu h100",
    "import vidur PATH new",
    "import blis . new --gpu-sheet PATH",
];

/// No argument reads JSON.
const DENSE: &[(&str, &str, usize)] = &[];

/// Flags that a command needs beside the one that is tested.
const NEEDED: &[(&str, &str)] = &[("step", "--decode 1x1 --latency-model blis")];
