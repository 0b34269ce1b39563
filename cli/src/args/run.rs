//! Arguments of `rooflut run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rooflut::sim::{LatencyLimits, Scheduling};
use rooflut_traces::{Condition, Format};

use super::Target;
use crate::{goodput, value};

/// Arguments of `rooflut run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) synthetic: SyntheticArgs,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Count requests within these limits, as vLLM's benchmark: ttft:MS, tpot:MS, e2e:MS.
    #[arg(long, value_name = "NAME:MS", num_args = 1.., help_heading = "Output",
          value_parser = goodput::latency_limit)]
    pub(crate) goodput: Vec<LatencyLimits>,
    /// Write JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Also write one line per request to this CSV file; percentiles are exact then.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) requests_out: Option<PathBuf>,
    /// Also write one line per step to this CSV file (about 50 bytes each).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) steps_out: Option<PathBuf>,
    /// Also write a timeline for ui.perfetto.dev to this JSON file (about 200 bytes a step, 1 kB a request).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Whether `rooflut` was called alone, by somebody who may not know what it can do.
    #[arg(skip)]
    pub(crate) alone: bool,
}

/// A load of requests that are all alike.
#[derive(Args)]
#[command(next_help_heading = "Synthetic load")]
pub(crate) struct SyntheticArgs {
    /// Requests per second.
    #[arg(long, value_name = "REQUESTS_PER_S", default_value = "18", value_parser = value::rate)]
    pub(crate) rate: f64,
    /// Distribution of the arrivals: poisson or constant.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Arrival::Poisson)]
    pub(crate) arrival: Arrival,
    /// Prompt tokens of each request.
    #[arg(long, value_name = "TOKENS", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) prompt: u32,
    /// Output tokens of each request.
    #[arg(long, value_name = "TOKENS", default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) output: u32,
    /// Requests; above 100,000, percentiles are within 0.05 % and memory does not grow.
    #[arg(long, value_name = "COUNT", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) requests: u32,
    /// Leading prompt tokens that are in the prefix cache.
    #[arg(long, value_name = "TOKENS", default_value_t = 0)]
    pub(crate) cached_prompt: u32,
    /// Seed of the arrivals.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// A load that is read from a file.
#[derive(Args)]
#[command(next_help_heading = "Trace")]
pub(crate) struct TraceArgs {
    /// CSV with arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens], or a published trace.
    #[arg(long, value_name = "FILE", conflicts_with_all =
          ["rate", "arrival", "prompt", "output", "requests", "cached_prompt", "seed"])]
    pub(crate) trace: Option<PathBuf>,
    /// Format of the trace: rooflut, azure, burstgpt, mooncake, vllm or inference-perf [default: by its
    /// columns or keys].
    #[arg(long, value_name = "NAME", requires = "trace", value_parser = value::trace_format)]
    pub(crate) trace_format: Option<Format>,
    /// Only the rows of a CSV with this value in this column (repeatable).
    #[arg(long = "where", value_name = "COLUMN=VALUE", requires = "trace",
          value_parser = value::condition)]
    pub(crate) conditions: Vec<Condition>,
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
    #[arg(long, value_name = "KIND", value_enum, hide_possible_values = true)]
    pub(crate) scheduling: Option<SchedulingName>,
}

/// Distribution of the arrivals. (Documented variants would make the help twice as long.)
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Arrival {
    // Exponential gaps.
    Poisson,
    // Equal gaps.
    Constant,
}

/// When the batch of a step is fixed.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SchedulingName {
    // When the step before it starts (vLLM 0.15).
    Async,
    // When the step before it has ended (vLLM 0.11).
    Sync,
}

impl From<SchedulingName> for Scheduling {
    fn from(name: SchedulingName) -> Scheduling {
        match name {
            SchedulingName::Async => Scheduling::OneStepAhead,
            SchedulingName::Sync => Scheduling::Synchronous,
        }
    }
}
