//! Arguments of `rooflut run`.

use std::path::PathBuf;

use clap::Args;
use rooflut::deployment::DeploymentBuilder;
use rooflut::engine::Scheduling;
use rooflut::sim::figures::LatencyLimits;
use rooflut::table::Strictness;

use super::policy::PolicyArgs;
use super::scenario::Scenario;
use super::{DisaggregationArgs, SpeculationArgs, Target, TraceArgs, WorkloadArgs};
use crate::error::Error;
use crate::{goodput, value};

const LENGTHS: &str = "\
LENGTHS are 512, uniform:100..900, normal:512,100 (mean, standard deviation), lognormal:512,0.6
(median, sigma) or file:lengths.txt (LENGTH or LENGTH,WEIGHT on each line); the last three may end
with a range into which they are set, as in lognormal:512,0.6@16..4096.";

/// Arguments of `rooflut run`.
#[derive(Args)]
#[command(after_help = LENGTHS)]
pub(crate) struct RunArgs {
    /// TOML file with a key for every flag (see examples/scenario.toml); flags given here replace keys.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) speculation: SpeculationArgs,
    #[command(flatten)]
    pub(crate) disaggregation: DisaggregationArgs,
    /// Count requests within these limits, as vLLM's benchmark: ttft:MS, tpot:MS, e2e:MS.
    #[arg(long, value_name = "NAME:MS", num_args = 1.., help_heading = "Output",
          value_parser = goodput::latency_limit)]
    pub(crate) goodput: Vec<LatencyLimits>,
    /// Refuse worse answers of the tables: a class (`rooflut step --help` lists them), inside, or both.
    #[arg(long, value_name = "CLASS", help_heading = "Output", default_value_t = Strictness::ANY,
          hide_default_value = true)]
    pub(crate) strict: Strictness,
    /// Write JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Also write one line per request, in the order of the load, to this CSV file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) requests_out: Option<PathBuf>,
    /// Also write one line per step to this CSV file (about 50 bytes each).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) steps_out: Option<PathBuf>,
    /// Also write a timeline for ui.perfetto.dev to this JSON file (about 200 bytes a step, 1 kB a request).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Tell on standard error how far the simulation is, in simulated time; a terminal shows a bar anyway.
    #[arg(long, help_heading = "Output")]
    pub(crate) progress: bool,
    /// The scenario, once it is read.
    #[arg(skip)]
    pub(super) merged: Option<Scenario>,
    /// Whether `rooflut` was called alone, by somebody who may not know what it can do.
    #[arg(skip)]
    pub(crate) alone: bool,
}

impl RunArgs {
    /// Keys of the scenario that the command line replaces.
    pub(crate) fn replaced(&self) -> &[&'static str] {
        let merged = self.merged.as_ref();
        merged.map_or(&[], |scenario| &scenario.replaced)
    }

    /// What is wrong with the run, with the line of the scenario if it is about one.
    pub(crate) fn place(&self, error: Error) -> Error {
        match &self.merged {
            Some(scenario) => scenario.place(error),
            None => error,
        }
    }
}

/// Limits of the server, with the names and defaults of vLLM.
#[derive(Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Requests that run at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 128,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_num_seqs: u32,
    /// Tokens that one step computes.
    #[arg(long, value_name = "TOKENS", default_value_t = 2048,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_num_batched_tokens: u32,
    /// Longest request, prompt and output together [default: the model's].
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_model_len: Option<u32>,
    /// Share of each GPU's memory that the server uses.
    #[arg(long, value_name = "SHARE", default_value = "0.9", value_parser = value::utilization)]
    pub(crate) gpu_memory_utilization: f64,
    /// KV blocks of 16 tokens [default: what the memory leaves].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) kv_blocks: Option<u32>,
    /// When the batch of a step is fixed: async as vLLM 0.15, sync as vLLM 0.11 [default: the engine's].
    #[arg(long, value_name = "KIND")]
    pub(crate) scheduling: Option<Scheduling>,
}

impl ServerArgs {
    /// Sets these limits of a deployment.
    pub(crate) fn apply(&self, deployment: DeploymentBuilder) -> DeploymentBuilder {
        deployment
            .max_num_seqs(self.max_num_seqs)
            .max_num_batched_tokens(self.max_num_batched_tokens)
            .max_model_len(self.max_model_len)
            .gpu_memory_utilization(self.gpu_memory_utilization)
            .kv_blocks(self.kv_blocks)
            .scheduling(self.scheduling)
    }
}
