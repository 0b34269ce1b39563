//! `rooflut`: predicts the latency and throughput of a model on GPUs from measured kernel tables.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rooflut_cli::main_with(std::env::args_os()))
}
