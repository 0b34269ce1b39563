//! Arguments of `rooflut saturate`.

use clap::Args;
use rooflut_plan::RateQuestion;
use rooflut_scenario::{Server, Target, Workload, real};

use crate::args::LimitArgs;
use crate::deferred::described;
use crate::html::HtmlArgs;
use crate::vllm::VllmArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut saturate --replicas 2 --goodput ttft:200 tpot:15
  rooflut saturate --model llama-3.1-70b --tp 4
  rooflut saturate --users 1000 --goodput tpot:20";
const AFTER: &str = "\
With --users COUNT, the command finds how many users, up to COUNT, the servers can serve within the limits. \
Without --goodput, the command finds the highest rate that the servers keep up with. A rate meets the limits if its \
steady state meets them with each of three seeds (--seeds), with no request rejected and no run overloaded. A run \
lasts until the result is clear, or for --requests. The knee is the rate with the highest power: throughput over mean \
end-to-end latency (Kleinrock, 1979). With --prefill-replicas and --decode-replicas, the command compares all \
divisions of the same number of servers.";

/// Arguments of `rooflut saturate`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct SaturateArgs {
    #[command(flatten)]
    pub(crate) vllm: VllmArgs,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Relative distance from the highest rate to the next rate tried.
    #[arg(long, value_name = "SHARE", value_parser = real, default_value_t = RateQuestion::TOLERANCE,
          help_heading = "Search")]
    pub(crate) tolerance: f64,
    /// Write JSON.
    #[arg(long, help_heading = "Search")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
}

impl SaturateArgs {
    /// Describes these arguments: `--users` ends the search.
    pub(super) fn described(command: clap::Command) -> clap::Command {
        let help = "Find the most users, up to this number, in place of the highest rate: each waits for an answer before \
                    asking again";
        described::<SaturateArgs>(command).mut_arg("users", |arg| arg.help(help))
    }
}
