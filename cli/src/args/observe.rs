//! Arguments of `rooflut observe`.

use std::path::PathBuf;

use clap::Args;
use rooflut_scenario::{Scenario, Server, Target, Workload};

use crate::error::Error;
use crate::model_source;
use crate::vllm::VllmArgs;

const EXAMPLES: &str = "\
Examples:
  vllm bench serve --model meta-llama/Llama-3.1-8B-Instruct --max-concurrency 16 --save-result
  rooflut observe result.json server.log --gpu h100
  rooflut observe result.json --gpu h100 --out measured.json --scenario-out measured.toml
  rooflut observe before.prom after.prom result.json --gpu h100 -- vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2";
pub(super) const AFTER: &str = "\
The files are of one server: results of vllm bench serve, SGLang's bench_serving, GuideLLM, AIPerf, GenAI-Perf and \
inference-perf, Prometheus metrics of vLLM or SGLang (two scrapes: what lies between them), vLLM's log from its start on, \
and CSV of steps (duration_ms, prefill_tokens, decode_requests[, kv_tokens]). They are recognised by their content, and may \
be compressed as .gz or .zst. Flags tell what no file does, and replace what the files tell.";

/// Arguments of `rooflut observe`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct ObserveArgs {
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    /// Write all that was measured to this JSON file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Write the scenario of a load to this TOML file, for `rooflut run --scenario`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) scenario_out: Option<PathBuf>,
    /// The load of --scenario-out, counted from 1, where there are several.
    #[arg(long, value_name = "NUMBER", help_heading = "Output")]
    pub(crate) run: Option<usize>,
    /// Write JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Replace existing files even if they are not earlier outputs of the same kind. Inputs are never replaced.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}

/// Files of a server, and what they do not tell.
#[derive(Args)]
pub(crate) struct MeasuredArgs {
    /// Files of one server; - reads standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The server as vLLM was started.
    #[arg(last = true, value_name = "vllm serve ...", conflicts_with = "vllm")]
    command: Vec<String>,
    #[command(flatten)]
    vllm: VllmArgs,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    workload: Workload,
    #[command(flatten)]
    server: Server,
}

impl MeasuredArgs {
    /// Returns what was given beside the files, and remarks on it.
    pub(crate) fn given(&self) -> Result<(Scenario, Vec<String>), Error> {
        let mut scenario = Scenario::default();
        scenario.target = self.target.clone();
        scenario.workload = self.workload.clone();
        scenario.server = self.server.clone();
        let notes = self.vllm.or(&self.command).put_under(&mut scenario)?;
        scenario.check()?;
        if scenario.target.model.is_some() {
            model_source::find(scenario.target.model(), model_source::options(&scenario.target))?;
        }
        Ok((scenario, notes))
    }
}
