//! Arguments of `rooflut watch`.

use std::path::PathBuf;

use clap::Args;

use super::MeasuredArgs;
use crate::untrusted::UntrustedArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut watch my-server.toml users-16-today.json server.log --gpu h100
  rooflut watch my-server.toml users-16-today.json --gpu h100 --junit watch.xml || echo slower";
const AFTER: &str = "\
New runs with a load of the calibration are compared with its measurements, others with its predictions. Exits with 3 \
if decode steps or prompts are slower than chance explains. Of servers that have not changed, at most 5 % are \
reported as slower.";

/// Arguments of `rooflut watch`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct WatchArgs {
    /// The engine that `rooflut calibrate` wrote.
    #[arg(value_name = "CALIBRATED")]
    pub(crate) calibrated: PathBuf,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) untrusted: UntrustedArgs,
    /// Write the decisions to this JUnit XML file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// Write JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Replace existing files even if they are not earlier outputs of the same kind. Inputs are never replaced.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}
