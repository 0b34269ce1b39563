//! `rooflut-lab`: makes, judges and draws tables of measured kernels, and compares predictions with measured servers.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rooflut_lab::main_with(std::env::args_os()))
}
