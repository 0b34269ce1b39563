//! The keys of a scenario.

use std::path::PathBuf;
use std::str::FromStr;

use rooflut::engine::Scheduling;
use rooflut::hardware::Dtype;
use rooflut::model::Sampler;
use rooflut::sim::cluster::Router;
use rooflut::sim::{PrefixCaching, SchedulingPolicy};
use rooflut_error::Error;
use rooflut_traces::{ColumnNames, Condition, Format};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::fleet::Fleet;
use crate::lengths::LengthDistribution;
use crate::number;
use crate::outage::Outage;
use crate::output::Output;
use crate::part::PartSetting;
use crate::value::{Prefixes, PriorityShares, ThinkTime};

/// The input of a run: the model, its GPUs, the servers and the load.
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
    /// Read a config.json of any model type as a Llama's, or as a Mixtral's if the model has experts.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub assume_llama: Option<bool>,
    /// Table set (`rooflut tables` lists them), or a TOML file with the data sheet of another GPU (see
    /// examples/gpus/l4.toml) [default: h100].
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME_OR_FILE"))]
    pub gpu: Option<String>,
    /// Table set whose efficiencies the GPU of a data sheet takes, or none for its roofline bounds [default: the nearest
    /// in architecture].
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub base: Option<String>,
    /// Your own measurements in place of --gpu: a folder like those in bench_data/, or a single file made from such a
    /// folder.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH"))]
    pub tables: Option<PathBuf>,
    /// Tensor parallelism: GPUs that share each layer [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>))]
    pub tp: Option<u32>,
    /// Distribute whole experts over all GPUs instead of slicing each expert.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub expert_parallel: Option<bool>,
    /// Pipeline parallelism: number of stages. Each stage has --tp GPUs and holds successive layers [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>))]
    pub pp: Option<u32>,
    /// Data parallelism, for models with experts: number of ranks of --tp GPUs each. Each rank has its own requests;
    /// all ranks step together and share the experts [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>))]
    pub dp: Option<u32>,
    /// GPUs per node. Larger groups of GPUs exchange messages over the network [default: 8].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub gpus_per_node: Option<u32>,
    /// Bandwidth of a GPU's share of the network in one direction [default: 50].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "GB_PER_S"))]
    pub network_bandwidth: Option<f64>,
    /// Time of the smallest message between two nodes, or between successive pipeline stages [default: 10].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "MICROSECONDS"))]
    pub network_latency: Option<f64>,
    /// Format of the weights: bf16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4 [default: the model's own].
    #[serde(deserialize_with = "number::dtype_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::dtype, value_name = "DTYPE"))]
    pub dtype: Option<Dtype>,
    /// Format of the KV cache: bf16 or fp8 [default: the model's own, bf16 unless its files name one].
    #[serde(deserialize_with = "number::kv_dtype_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::kv_dtype, value_name = "DTYPE"))]
    pub kv_dtype: Option<Dtype>,
    /// Sampling of the tokens: plain, top-p or repetition-penalty [default: from the model's generation_config.json].
    #[cfg_attr(feature = "clap", arg(long, value_name = "SAMPLER"))]
    pub sampler: Option<Sampler>,
    /// Engine stack, with its overheads and scheduling (`rooflut engines` lists the stacks), or a TOML file with one
    /// that `rooflut calibrate` fitted to a server [default: vllm-0.25.0].
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME_OR_FILE"))]
    pub engine: Option<String>,
}

/// The requests: generated, or read from a trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Workload"))]
#[non_exhaustive]
pub struct Workload {
    /// Requests per second, or sessions per second with --turns [default: 18].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "REQUESTS_PER_S"))]
    pub rate: Option<f64>,
    /// Distribution of the arrivals: poisson, constant or gamma [default: poisson].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long))]
    pub arrival: Option<Arrival>,
    /// Shape of gamma arrivals: 1 is Poisson; below 1, arrivals are burstier (the parameter of `vllm bench serve`).
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHAPE"))]
    pub burstiness: Option<f64>,
    /// Closed loop with this many users instead of a rate: each user waits for an answer before asking again.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub users: Option<u32>,
    /// Number of requests [default: as many as the figures need].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub requests: Option<u32>,
    /// Warm-up: the beginning of the run, left out of the figures. A number, optionally with a unit as in 2m [default:
    /// judged by the figures].
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
    /// Leading prompt tokens that are already in the prefix cache, even with --prefix-caching off [default: 0].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub cached_prompt: Option<u32>,
    /// Hit rate of the prefix cache: the share of each prompt that the cache has, in whole KV blocks, in place of texts
    /// that prompts share.
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    pub prefix_hit_rate: Option<f64>,
    /// Shared text before each prompt, such as a system prompt: one of GROUPS texts of TOKENS tokens each.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "GROUPSxTOKENS"))]
    pub prefixes: Option<Prefixes>,
    /// Turns per session. Each prompt begins with all earlier turns; no turn exceeds the longest request.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LENGTHS"))]
    pub turns: Option<LengthDistribution>,
    /// Pause after the arrival of a turn, or after each answer with --users: a number or exponential:MEAN, optionally
    /// with a unit as in 500ms.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS"))]
    pub think_time: Option<ThinkTime>,
    /// How long a client waits for the first token before it gives up: a number, optionally with a unit as in 30s. A
    /// request whose first token is being computed by then keeps its client, so that its TTFT may be longer by a step
    /// [default: as long as it takes].
    #[serde(deserialize_with = "number::seconds_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::seconds, value_name = "SECONDS"))]
    pub patience: Option<f64>,
    /// How often a client that gave up sends its request again, at once each time [default: 0].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub retries: Option<u32>,
    /// Shares of requests with priority 0 (most urgent), 1 and so on, for --policy priority.
    #[serde(deserialize_with = "as_text::joined")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARES"))]
    pub priorities: Option<PriorityShares>,
    /// Seed of all random draws [default: 0].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u64>))]
    pub seed: Option<u64>,
    /// Number of runs, with consecutive seeds. The output adds the range of each figure over the seeds; files show the
    /// first seed [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub seeds: Option<u32>,
    /// CSV with arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens, priority], a published trace, or any CSV
    /// or JSON lines with --columns, optionally compressed as .gz or .zst; - reads standard input.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace: Option<PathBuf>,
    /// Format of the trace: rooflut, azure, burstgpt, vidur, splitwise, mooncake, qwen-bailian, vllm or inference-perf
    /// [default: recognised by the columns or keys].
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace_format: Option<Format>,
    /// Columns or keys of a trace in another format, as in arrival=timestamp:ms,prompt=input_tokens,output=out; also
    /// cached, priority, session, prefix with prefix_tokens. Arrivals are dates, or numbers in the unit behind the colon
    /// (s, ms, us, ns) [default: the unit in which the name ends, as in sent_ms, or seconds].
    #[serde(serialize_with = "as_text::serialize", deserialize_with = "as_text::joined")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAMES"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub columns: Option<ColumnNames>,
    /// Speed of the replay: with 2, requests arrive in half the time, and pauses in sessions are half as long [default:
    /// 1].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "FACTOR"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace_speed: Option<f64>,
    /// Replay only this many requests of the trace, the first ones of the file [default: all of them].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace_requests: Option<u32>,
    /// Replay only the beginning of the trace, on its own clock: a number, optionally with a unit as in 30m [default:
    /// all of it].
    #[serde(deserialize_with = "number::seconds_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::seconds, value_name = "SECONDS"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Trace"))]
    pub trace_duration: Option<f64>,
    /// Read only the rows of a CSV with this value in this column (repeatable).
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
    /// Maximum number of tokens of one prompt that a step computes; the step can admit other prompts as well [default:
    /// no maximum, which is 0 in vLLM]. The limits on partial prompts (max_num_partial_prefills,
    /// max_long_partial_prefills) have no keys: the V1 engine refuses them. long_prefill_token_threshold_adaptive of
    /// vLLM 0.33 has no key either: it is not modelled.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub long_prefill_token_threshold: Option<u32>,
    /// Longest request, prompt and output together [default: the model's].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub max_model_len: Option<u32>,
    /// Share of each GPU's memory that the server uses [default: the engine's: 0.9, or 0.92 from vLLM 0.20 on].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    pub gpu_memory_utilization: Option<f64>,
    /// Tokens per KV block: 16, 32, 64, 128 or 256 [default: 16].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "TOKENS"))]
    pub block_size: Option<u32>,
    /// Number of KV blocks [default: as many as the free memory holds].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    pub kv_blocks: Option<u32>,
    /// When the batch of a step is fixed: async as in vLLM 0.15, or sync as in vLLM 0.11 [default: the engine's].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KIND"))]
    pub scheduling: Option<Scheduling>,
    /// Order of admission: fcfs, shortest-prompt or priority (from --priorities or the trace) [default: fcfs].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "POLICY"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub policy: Option<SchedulingPolicy>,
    /// Maximum queue length of a server, or of a prefill server if there are any. Requests that arrive when the queue
    /// is full are rejected [default: no limit].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub max_waiting: Option<u32>,
    /// Keep the contents of freed KV blocks for later requests: on or off [default: on; off if layers keep a state, as
    /// in Qwen3.5].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PREFIX_CACHING"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub prefix_caching: Option<PrefixCaching>,
    /// Admit a request only if the KV blocks of its whole prompt are free, not just the blocks of its first chunk;
    /// false is vLLM's --no-scheduler-reserve-full-isl [default: the engine's].
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub scheduler_reserve_full_isl: Option<bool>,
    /// Share of the KV blocks that admission leaves free while requests run, an option of newer engines [default: 0].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub watermark: Option<f64>,
    /// Number of equal servers behind a router [default: 1].
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub replicas: Option<u32>,
    /// Routing to replicas: round-robin, least-tokens or prefix-affinity [default: round-robin].
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "ROUTER"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub router: Option<Router>,
    /// Number of tokens that the draft model proposes at a time. The next step verifies these tokens.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Speculative decoding"))]
    pub draft_tokens: Option<u32>,
    /// Acceptance rate: probability that a drafted token is accepted if all drafted tokens before it are accepted
    /// [default: as measured on coding prompts, for qwen3.5-397b-a17b and glm-5.2-fp8 with --draft-model mtp, and for
    /// kimi-k2.5 and minimax-m3 with an EAGLE-3 head].
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Speculative decoding"))]
    pub acceptance: Option<f64>,
    /// Draft model: a model with its own weights, as for --model; the config.json of an EAGLE-3 head; mtp, the model's
    /// own layer for multi-token prediction; or ngram, lookup in the prompt, which takes no time.
    #[serde(deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODEL"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Speculative decoding"))]
    pub draft_model: Option<String>,
    /// Unlike servers behind the router: a TOML file with a `[[fleet]]` table of settings for each kind, as in gpu = "h100",
    /// with replicas = COUNT where there are several of it. In a scenario file, these tables themselves.
    #[cfg_attr(feature = "clap", arg(long, value_parser = Fleet::open, value_name = "FILE"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub fleet: Option<Fleet>,
    /// Servers that are lost for a while, as in 2@300s..900s: server 2, counted from 0, is lost after 300 s and back after
    /// 900 s; its requests start again on others. Prefill servers count first, and those of a fleet in its order.
    #[serde(with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SERVER@FROM..TO", num_args = 1..))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Policies"))]
    pub lose: Option<Vec<Outage>>,
    /// Number of servers that only compute prompts.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub prefill_replicas: Option<u32>,
    /// Number of servers that only decode. --router applies to prefill and decode servers.
    #[serde(deserialize_with = "number::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::whole::<u32>, value_name = "COUNT"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub decode_replicas: Option<u32>,
    /// Settings of the prefill servers in place of those of the scenario, as in gpu=h200 tp=2 (keys: gpu, tables, base,
    /// tp, pp, dp, expert_parallel, dtype, kv_dtype, max_num_seqs, max_num_batched_tokens,
    /// long_prefill_token_threshold, max_model_len, gpu_memory_utilization, kv_blocks, max_waiting).
    #[serde(with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=VALUE", num_args = 1..))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub prefill: Option<Vec<PartSetting>>,
    /// Settings of the decode servers in place of those of the scenario, with the keys of --prefill.
    #[serde(with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=VALUE", num_args = 1..))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub decode: Option<Vec<PartSetting>>,
    /// Bandwidth of each prefill server's link for KV entries, in GB/s.
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "GB/S"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub link_bandwidth: Option<f64>,
    /// Latency of each prefill server's link, in microseconds or with a unit as in 0.1ms.
    #[serde(deserialize_with = "number::microseconds_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::microseconds, value_name = "US"))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Disaggregation"))]
    pub link_latency: Option<f64>,
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
    type Err = Error;

    fn from_str(name: &str) -> Result<Arrival, Error> {
        match name {
            "poisson" => Ok(Arrival::Poisson),
            "constant" => Ok(Arrival::Constant),
            "gamma" => Ok(Arrival::Gamma),
            _ => Err(number::invalid("expected one of poisson, constant, gamma")),
        }
    }
}
