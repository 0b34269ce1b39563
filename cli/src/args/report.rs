//! Arguments of `rooflut report`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  rooflut run --rate 4 --quantiles --windows auto --requests-out requests.csv --json > run.json
  rooflut report report.html run.json requests.csv
  rooflut sweep --rate 4..20:4 --out sweep.csv && rooflut report sweep.html sweep.csv";
const AFTER: &str = "\
The inputs are the JSON of run, step, plan, saturate, compare and of rooflut-lab validate, the rows of sweep, and those \
of the --requests-out, --steps-out and --windows-out of run. Two runs are compared. The report opens offline in any \
browser. The same inputs give the same bytes. Each of these commands writes its report itself with --html.";

/// Arguments of `rooflut report`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct ReportArgs {
    /// HTML file to write.
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Outputs of commands: JSON or CSV.
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Replace OUT even if it is no earlier report. Inputs are never replaced.
    #[arg(long)]
    pub(crate) force: bool,
}
