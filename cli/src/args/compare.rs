//! Arguments of `rooflut compare`.

use std::path::PathBuf;

use clap::Args;

use crate::html::HtmlArgs;
use crate::untrusted::UntrustedArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut compare examples/scenario.toml examples/two_servers.toml";
const AFTER: &str = "\
A scenario is simulated first, with one seed and without its output files. Equal settings are left out. Prefill \
is the time to first token without the queue; the parts of a step are means over all steps. A measured load stands \
beside its prediction and the interval that is meant to contain 80 % of measurements.";

/// Arguments of `rooflut compare`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct CompareArgs {
    /// Scenario file (TOML), a report of `rooflut run --json`, or what was measured: the JSON of `rooflut observe`, or a
    /// file that it reads.
    pub(crate) a: PathBuf,
    /// Scenario file or report to compare with A [default: the scenario of what was measured].
    pub(crate) b: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) untrusted: UntrustedArgs,
    /// The measured load, counted from 1, where there are several.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) run: Option<usize>,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
}
