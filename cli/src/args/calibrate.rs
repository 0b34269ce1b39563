//! Arguments of `rooflut calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::MeasuredArgs;
use crate::untrusted::UntrustedArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut calibrate users-4.json users-16.json users-64.json server.log --gpu h100 --out my-server.toml
  rooflut run --engine ./my-server.toml --gpu h100 --model llama-3.1-8b --users 32
  rooflut calibrate users-4.json server.log --gpu h100 --next 3 --next-for question.toml --next-out loads.txt";
const AFTER: &str = "\
The files are those of rooflut observe, or its JSON. Ten constants are fitted, a Bayesian estimate around the values of the \
server's version: with few runs little changes. Runs with failed requests are left out. The file of --out inherits \
everything else from the version; every command takes it as --engine FILE.";

/// Arguments of `rooflut calibrate`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    /// Write the calibrated engine to this TOML file, for `--engine FILE`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Name of the calibrated engine [default: the name of the file of --out].
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// Write the scenario of the first load, with the calibrated engine, to this TOML file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) scenario_out: Option<PathBuf>,
    /// Name so many loads to measure next, as `vllm bench serve` commands.
    #[arg(long, value_name = "NUMBER", help_heading = "Output", value_parser = clap::value_parser!(u8).range(1..=10))]
    pub(crate) next: Option<u8>,
    /// The scenario whose latencies these loads should narrow [default: the measured loads].
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) next_for: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) untrusted: UntrustedArgs,
    /// Write these loads to this file, for `rooflut-collect serve --loads FILE`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) next_out: Option<PathBuf>,
    /// Write JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Replace existing files even if they are not earlier outputs of the same kind. Inputs are never replaced.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}
