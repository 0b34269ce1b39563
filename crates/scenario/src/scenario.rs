//! The keys of a scenario.

use std::path::PathBuf;
use std::str::FromStr;

use rooflut::engine::Scheduling;
use rooflut::hardware::Dtype;
use rooflut::interval::Coverage;
use rooflut::model::Sampler;
use rooflut::sim::cluster::Router;
use rooflut::sim::{PrefixCaching, SchedulingPolicy};
use rooflut::table::Strictness;
use rooflut_traces::{Condition, Format};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::lengths::LengthDistribution;
use crate::number;
use crate::value::{LatencyLimit, Prefixes, PriorityShares, ThinkTime};
use crate::value_error::ValueError;

/// Everything that a run can be asked: which model on which GPUs, as which server, under which load.
///
/// Each field is a key of a scenario file; `None` stands for the default. With feature `clap` the structs are arguments
/// of a command line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[non_exhaustive]
pub struct Scenario {
    /// The model and its GPUs: in a file the keys above the first table.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub target: Target,
    /// The load, `[workload]`.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub workload: Workload,
    /// Limits and policies of the servers, `[server]`.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub server: Server,
    /// Output, `[output]`.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub output: Output,
}

/// The model and the GPUs that it runs on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[non_exhaustive]
pub struct Target {
    /// Built-in name, Hugging Face id, or path of a config.json [default: llama-3.1-8b].
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long))]
    pub model: Option<String>,
    /// Read a config.json of any model type as that of a Llama, or of a Mixtral if it has experts.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub assume_llama: Option<bool>,
    /// Table set (`rooflut tables` lists them) [default: h100].
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long))]
    pub gpu: Option<String>,
    /// Measurements of your own in place of --gpu: a folder like those of bench_data/, or one file made of it.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH"))]
    pub tables: Option<PathBuf>,
    /// Tensor parallelism: GPUs that share each layer [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>))]
    pub tp: Option<u32>,
    /// Give each of all GPUs whole experts instead of a slice of each, as vLLM's --enable-expert-parallel.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, visible_alias = "enable-expert-parallel", value_name = "BOOL", num_args = 0..=1, require_equals = true,
            default_missing_value = "true", hide_possible_values = true)
    )]
    pub expert_parallel: Option<bool>,
    /// Pipeline parallelism: stages of --tp GPUs each that hold successive layers [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>))]
    pub pp: Option<u32>,
    /// Data parallelism, of models with experts: ranks of --tp GPUs each that have requests of their own, step together
    /// and share the experts [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>))]
    pub dp: Option<u32>,
    /// GPUs of a node. Groups of more exchange messages over the network [default: 8].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub gpus_per_node: Option<u32>,
    /// Bandwidth of a GPU's share of the network in one direction [default: 50].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "GB_PER_S"))]
    pub network_bandwidth: Option<f64>,
    /// Time of the smallest message from node to node, or from one pipeline stage to the next [default: 10].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "MICROSECONDS"))]
    pub network_latency: Option<f64>,
    /// Format of the weights: bf16, fp8, fp8_block, nvfp4, mxfp4, int4 [default: the model's own].
    #[serde(deserialize_with = "number::dtype_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::dtype, value_name = "DTYPE"))]
    pub dtype: Option<Dtype>,
    /// Format of the KV cache: bf16 or fp8 [default: the model's own, bf16 unless its files name one].
    #[serde(deserialize_with = "number::kv_dtype_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::kv_dtype, value_name = "DTYPE"))]
    pub kv_dtype: Option<Dtype>,
    /// Sampling of the tokens: plain, top-p or repetition-penalty [default: that of the model's
    /// generation_config.json].
    #[cfg_attr(feature = "clap", arg(long, value_name = "SAMPLER"))]
    pub sampler: Option<Sampler>,
    /// Engine whose overheads and scheduling are added (`rooflut engines` lists them) [default: vllm-0.15.1].
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub engine: Option<String>,
}

/// The requests: generated, or read from a trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Workload"))]
#[non_exhaustive]
pub struct Workload {
    /// Requests (with --turns: sessions) per second [default: 18].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "REQUESTS_PER_S"))]
    pub rate: Option<f64>,
    /// Distribution of the arrivals: poisson, constant or gamma [default: poisson].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long))]
    pub arrival: Option<Arrival>,
    /// Shape of gamma arrivals: 1 is Poisson, less comes in bursts (as vLLM's bench serve has it).
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHAPE"))]
    pub burstiness: Option<f64>,
    /// Instead of a rate: users, who wait for each answer before they ask again.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub users: Option<u32>,
    /// Number of requests [default: as many as the figures need].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub requests: Option<u32>,
    /// Begin of the run that its figures leave out: a number, which may have units as in 2m [default: judged by the
    /// figures].
    #[serde(deserialize_with = "number::seconds_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::seconds, value_name = "SECONDS"))]
    pub warm_up: Option<f64>,
    /// Prompt tokens, a number or a distribution [default: 512].
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LENGTHS"))]
    pub prompt: Option<LengthDistribution>,
    /// Output tokens [default: 256].
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LENGTHS"))]
    pub output: Option<LengthDistribution>,
    /// Leading prompt tokens that are in the prefix cache, with --prefix-caching off too [default: 0].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub cached_prompt: Option<u32>,
    /// Text before each prompt: one of GROUPS texts of TOKENS tokens, such as system prompts.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "GROUPSxTOKENS"))]
    pub prefixes: Option<Prefixes>,
    /// Turns of a session. Each prompt begins with all earlier turns; none exceeds the longest request.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LENGTHS"))]
    pub turns: Option<LengthDistribution>,
    /// Pause after a turn's arrival, with --users after each answer: a number or exponential:MEAN, which may have units
    /// as in 500ms.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS"))]
    pub think_time: Option<ThinkTime>,
    /// Shares of priority 0 (most urgent), 1 and so on, for --policy priority.
    #[serde(deserialize_with = "as_text::joined")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARES"))]
    pub priorities: Option<PriorityShares>,
    /// Seed of all random draws [default: 0].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u64>))]
    pub seed: Option<u64>,
    /// Runs with this number of consecutive seeds; the output adds the range of each figure over them, files
    /// are of the first [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub seeds: Option<u32>,
    /// CSV with arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens, priority], or a published trace; as
    /// .gz and .zst, too; - reads standard input.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace: Option<PathBuf>,
    /// Format of the trace: rooflut, azure, burstgpt, vidur, splitwise, mooncake, qwen-bailian, vllm or
    /// inference-perf [default: by its columns or keys].
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace_format: Option<Format>,
    /// Only the rows of a CSV with this value in this column (repeatable).
    #[serde(rename = "where", with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(id = "where", long = "where", value_name = "COLUMN=VALUE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub conditions: Option<Vec<Condition>>,
}

/// Limits and policies of the servers, with the names and defaults of vLLM.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Server"))]
#[non_exhaustive]
pub struct Server {
    /// Maximum number of requests that run at the same time [default: the engine's on this GPU, mostly 1024, or 256 on
    /// A100 and below 70 GiB, but no more than max_num_batched_tokens].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub max_num_seqs: Option<u32>,
    /// Maximum number of tokens that a step computes [default: the engine's on this GPU, mostly 8192, or 2048 on A100 and
    /// below 70 GiB].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub max_num_batched_tokens: Option<u32>,
    /// Maximum number of tokens that a step computes of one prompt; others are admitted beside it [default: no maximum,
    /// which is 0 in vLLM]. The limits on partial prompts (max_num_partial_prefills, max_long_partial_prefills) have no
    /// keys: the V1 engine refuses them. Nor has long_prefill_token_threshold_adaptive of vLLM 0.33, which is not
    /// modelled.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub long_prefill_token_threshold: Option<u32>,
    /// Longest request, prompt and output together [default: the model's].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub max_model_len: Option<u32>,
    /// Share of each GPU's memory that the server uses [default: the engine's: 0.9, from vLLM 0.20 on 0.92].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    pub gpu_memory_utilization: Option<f64>,
    /// Tokens in a KV block: 16, 32, 64, 128 or 256 [default: 16].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub block_size: Option<u32>,
    /// Number of KV blocks [default: what the memory leaves].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub kv_blocks: Option<u32>,
    /// When the batch of a step is fixed: async as vLLM 0.15, sync as vLLM 0.11 [default: the engine's].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KIND"))]
    pub scheduling: Option<Scheduling>,
    /// Order of admission: fcfs, shortest-prompt or priority (of --priorities or the trace) [default: fcfs].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "POLICY"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub policy: Option<SchedulingPolicy>,
    /// Maximum queue length of a server (with prefill servers: of these). Requests that arrive when the queue is full
    /// are rejected [default: no limit].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub max_waiting: Option<u32>,
    /// Whether freed KV blocks keep their contents: on or off [default: on; off if layers keep states, as Qwen3.5's].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PREFIX_CACHING"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub prefix_caching: Option<PrefixCaching>,
    /// Whether a request is admitted only if the KV blocks of its whole prompt are free, not only those of its first
    /// chunk; false as vLLM's --no-scheduler-reserve-full-isl [default: the engine's].
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub scheduler_reserve_full_isl: Option<bool>,
    /// Share of the KV blocks that admission leaves free while requests run, as newer engines can [default: 0].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub watermark: Option<f64>,
    /// Equal servers behind a router [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub replicas: Option<u32>,
    /// Routing to replicas: round-robin, least-tokens or prefix-affinity [default: round-robin].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "ROUTER"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub router: Option<Router>,
    /// Tokens that the draft model proposes at a time, and the next step verifies.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Speculative decoding"))]
    pub draft_tokens: Option<u32>,
    /// Acceptance rate: share of the drafted tokens that are accepted, of those whose predecessors are.
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Speculative decoding"))]
    pub acceptance: Option<f64>,
    /// Draft model, as for --model, with its own weights; mtp for the model's own layer for multi-token prediction; ngram
    /// for lookup in the prompt, which takes no time.
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODEL"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Speculative decoding"))]
    pub draft_model: Option<String>,
    /// Servers that compute prompts only.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub prefill_replicas: Option<u32>,
    /// Servers that decode only; --router applies to both kinds.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub decode_replicas: Option<u32>,
    /// Bandwidth of the link over which each prefill server sends KV entries, GB/s.
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "GB/S"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub link_bandwidth: Option<f64>,
    /// Latency of that link, microseconds, or with a unit as in 0.1ms.
    #[serde(deserialize_with = "number::microseconds_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::microseconds, value_name = "US"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub link_latency: Option<f64>,
}

/// The figures and files that are asked for.
///
/// [`Run`](crate::Run) applies `goodput`, `prices`, `strict` and `interval`; the others are data for the program that writes the
/// report.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Output"))]
#[non_exhaustive]
pub struct Output {
    /// Count requests within these limits, as vLLM's benchmark: ttft:MS, tpot:MS, e2e:MS, or with a unit as in e2e:30s.
    #[serde(with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME:MS", num_args = 1..))]
    pub goodput: Option<Vec<LatencyLimit>>,
    /// Prices of GPUs: TOML with a table for each (see examples/prices.toml), in place of the defaults for these GPUs,
    /// which are on-demand list prices of a public cloud.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub prices: Option<PathBuf>,
    /// Reject worse answers of the tables: a class (`rooflut step --help` lists them), inside, or both.
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CLASS"))]
    pub strict: Option<Strictness>,
    /// Add the range of each figure that is meant to contain this share of measured servers, such as 0.8; takes two
    /// further simulations.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    pub interval: Option<Coverage>,
    /// Write JSON.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub json: Option<bool>,
    /// Also write one line per request, in the order of the load, to this CSV file.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub requests_out: Option<PathBuf>,
    /// Also write one line per step to this CSV file (about 50 bytes each).
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub steps_out: Option<PathBuf>,
    /// Also write a timeline for ui.perfetto.dev to this JSON file (about 200 bytes a step, 1 kB a request).
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub perfetto: Option<PathBuf>,
    /// Report the progress in simulated time.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true,
            help = "Write the progress in simulated time to standard error; a terminal shows a bar anyway")
    )]
    pub progress: Option<bool>,
}

/// Distribution of the gaps between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Exponential.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
    /// Gamma, with a shape.
    Gamma,
}

impl FromStr for Arrival {
    type Err = ValueError;

    fn from_str(name: &str) -> Result<Arrival, ValueError> {
        match name {
            "poisson" => Ok(Arrival::Poisson),
            "constant" => Ok(Arrival::Constant),
            "gamma" => Ok(Arrival::Gamma),
            _ => Err(ValueError::new("expected one of poisson, constant, gamma")),
        }
    }
}
