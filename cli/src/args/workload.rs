//! Arguments of `rooflut run` that say which requests come, and when.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rooflut_traces::{Condition, Format};

use crate::value;
use crate::workload::{self, LengthsArg, PrefixesArg, SharesArg, ThinkTimeArg};

/// A load that is generated.
#[derive(Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Requests (with --turns: sessions) per second.
    #[arg(long, value_name = "REQUESTS_PER_S", default_value = "18", value_parser = value::rate)]
    pub(crate) rate: f64,
    /// Distribution of the arrivals: poisson, constant or gamma.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Arrival::Poisson)]
    pub(crate) arrival: Arrival,
    /// Shape of gamma arrivals: 1 is Poisson, less comes in bursts (as vLLM's bench serve has it).
    #[arg(long, value_name = "SHAPE", value_parser = workload::burstiness)]
    pub(crate) burstiness: Option<f64>,
    /// Instead of a rate: users, who wait for each answer before they ask again.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["rate", "arrival", "burstiness"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) users: Option<u32>,
    /// Requests.
    #[arg(long, value_name = "COUNT", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) requests: u32,
    /// Prompt tokens, a number or a distribution.
    #[arg(long, value_name = "LENGTHS", default_value = "512", value_parser = workload::lengths)]
    pub(crate) prompt: LengthsArg,
    /// Output tokens.
    #[arg(long, value_name = "LENGTHS", default_value = "256", value_parser = workload::lengths)]
    pub(crate) output: LengthsArg,
    /// Leading prompt tokens that are in the prefix cache.
    #[arg(long, value_name = "TOKENS", default_value_t = 0,
          conflicts_with_all = ["prefixes", "turns"])]
    pub(crate) cached_prompt: u32,
    /// What comes before each prompt: one of GROUPS texts of TOKENS tokens, such as system prompts.
    #[arg(long, value_name = "GROUPSxTOKENS", value_parser = workload::prefixes)]
    pub(crate) prefixes: Option<PrefixesArg>,
    /// Turns of a session. Each prompt has all that was said before; none exceeds the longest request.
    #[arg(long, value_name = "LENGTHS", value_parser = workload::lengths)]
    pub(crate) turns: Option<LengthsArg>,
    /// Pause after a turn's arrival, with --users after each answer: a number or exponential:MEAN.
    #[arg(long, value_name = "SECONDS", value_parser = workload::think_time)]
    pub(crate) think_time: Option<ThinkTimeArg>,
    /// Shares of priority 0 (most urgent), 1 and on; first come, first served does not look at them.
    #[arg(long, value_name = "SHARES", value_parser = workload::shares)]
    pub(crate) priorities: Option<SharesArg>,
    /// Seed of all that is drawn.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// A load that is read from a file.
#[derive(Args)]
#[command(next_help_heading = "Trace")]
pub(crate) struct TraceArgs {
    /// CSV with arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens], or a published trace.
    #[arg(long, value_name = "FILE", conflicts_with_all = GENERATED)]
    pub(crate) trace: Option<PathBuf>,
    /// Format of the trace: rooflut, azure, burstgpt, mooncake, vllm or inference-perf [default: by its
    /// columns or keys].
    #[arg(long, value_name = "NAME", value_parser = value::trace_format)]
    pub(crate) trace_format: Option<Format>,
    /// Only the rows of a CSV with this value in this column (repeatable).
    #[arg(id = "where", long = "where", value_name = "COLUMN=VALUE", value_parser = value::condition)]
    pub(crate) conditions: Vec<Condition>,
}

/// The arguments of a load that is generated.
const GENERATED: [&str; 13] = [
    "rate",
    "arrival",
    "burstiness",
    "users",
    "requests",
    "prompt",
    "output",
    "cached_prompt",
    "prefixes",
    "turns",
    "think_time",
    "priorities",
    "seed",
];

/// Distribution of the arrivals. (Documented variants would make the help twice as long.)
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Arrival {
    // Exponential gaps.
    Poisson,
    // Equal gaps.
    Constant,
    // Gamma-distributed gaps.
    Gamma,
}
