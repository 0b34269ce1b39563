//! Arguments of `rooflut compare`.

use std::path::PathBuf;

use clap::Args;

use crate::html::HtmlArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut compare examples/scenario.toml examples/two_servers.toml";
const AFTER: &str = "\
A scenario is simulated first, with one seed and without its output files. Equal settings are left out. Prefill \
is the time to first token without the queue; the parts of a step are means over all steps.";

/// Arguments of `rooflut compare`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct CompareArgs {
    /// Scenario file (TOML), or a report of `rooflut run --json`.
    pub(crate) a: PathBuf,
    /// Scenario file or report to compare with A.
    pub(crate) b: PathBuf,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
}
