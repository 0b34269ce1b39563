//! Rows of each kind of file.

use rooflut::sim::PrefixCaching;
use rooflut::table::TableSet;

/// A row of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Run, stage and line.
    pub label: Label,
    /// Model, GPUs and engine.
    pub server: Server,
    pub(crate) limits: Limits,
    pub(crate) measurement: Measurement,
}

/// Identifies a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The run that the row belongs to.
    pub id: String,
    /// Place of the row in the run.
    pub stage: Stage,
    /// Line of the row in the file, from 1.
    pub line: u64,
}

/// The place of a row in its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Number in the column `stage`, or the place among the rows of the same id, from 0.
    Number(u64),
    /// Any other text in the column `stage`.
    Name(String),
}

/// Model, GPUs and engine as the row names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// Format of the weights; empty for the model's own.
    pub dtype: String,
    /// Format of the KV entries; empty for the engine's default.
    pub kv_dtype: String,
    /// Sampling of the tokens; empty for the model's own.
    pub sampler: String,
    /// Tensor parallelism, in GPUs.
    pub tp: u32,
    /// Number of pipeline stages of `tp` GPUs each.
    pub pp: u32,
    /// Number of data-parallel ranks of `tp` GPUs each.
    pub dp: u32,
    /// Whether the GPUs hold whole experts.
    pub expert_parallel: bool,
    /// Name and version of the engine.
    pub engine: String,
    /// Tables that replace the built-in ones of the GPU.
    pub tables: Option<TableSet>,
}

/// Limits of the server; `None` is vLLM's default, for a row that does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) max_model_len: Option<u32>,
    pub(crate) max_num_seqs: Option<u32>,
    pub(crate) max_num_batched_tokens: Option<u32>,
    pub(crate) gpu_memory_utilization: Option<f64>,
    pub(crate) kv_blocks: Option<u32>,
    pub(crate) prefix_caching: PrefixCaching,
}

/// The measurement of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Measurement {
    LoadStage(LoadStage),
    Request(ReplayedRequest),
    SoloRequest(SoloRequest),
    DecodeStep(DecodeStep),
    /// Reported KV blocks of 16 tokens.
    KvBlocks(Option<f64>),
    Memory(MemoryParts),
    ClosedLoop(ClosedLoopRun),
    EngineStep(EngineStep),
}

/// Parts of the memory of one GPU in GiB, and KV blocks of 16 tokens; `None` if not reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MemoryParts {
    pub(crate) weights_gib: Option<f64>,
    pub(crate) activations_gib: Option<f64>,
    pub(crate) non_torch_gib: Option<f64>,
    pub(crate) kv_blocks: Option<f64>,
}

/// Latencies in milliseconds; `None` if not measured or not defined.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Latencies {
    pub(crate) ttft_ms: Option<f64>,
    pub(crate) tpot_ms: Option<f64>,
    pub(crate) e2e_ms: Option<f64>,
}

/// A load stage of a server: identical requests, timed at the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadStage {
    /// `constant` for equal gaps, `poisson` for exponential ones.
    pub(crate) arrival: String,
    pub(crate) rate_rps: f64,
    pub(crate) duration_s: f64,
    pub(crate) prompt_tokens: u32,
    /// Tokens of each prompt in the prefix cache.
    pub(crate) cached_prompt_tokens: u32,
    /// Number of different prompts, which are sent in turn; `None` if each request finds its prefix in the cache.
    pub(crate) distinct_prompts: Option<u32>,
    pub(crate) output_tokens: u32,
    /// Means over the requests.
    pub(crate) measured: Latencies,
    pub(crate) ttft_p50_ms: Option<f64>,
    pub(crate) ttft_p90_ms: Option<f64>,
}

impl LoadStage {
    /// Returns whether few requests waited so long for their first token that the mean is above the 90th percentile, as
    /// when kernels are compiled or tuned at their first use.
    pub(crate) fn is_cold_start(&self) -> bool {
        let [mean, p90] = [self.measured.ttft_ms, self.ttft_p90_ms];
        mean.zip(p90).is_some_and(|(mean, p90)| mean > p90)
    }
}

/// A request of a replayed run, timed inside the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReplayedRequest {
    /// Leading tokens that all prompts of the run share.
    pub(crate) shared_prefix_tokens: u32,
    /// Arrival time from the start of the run.
    pub(crate) arrival_ms: f64,
    pub(crate) prompt_tokens: u32,
    pub(crate) output_tokens: u32,
    pub(crate) measured: Latencies,
}

/// A request that ran alone, timed inside the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SoloRequest {
    pub(crate) prompt_tokens: u32,
    /// Tokens of its prompt in the prefix cache.
    pub(crate) cached_prompt_tokens: u32,
    /// Mean KV length of its decode steps.
    pub(crate) mean_context_tokens: Option<f64>,
    /// Total time of the steps of its prompt.
    pub(crate) prefill_ms: Option<f64>,
    pub(crate) tpot_ms: Option<f64>,
}

/// An engine step in which every request decoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecodeStep {
    pub(crate) decode_requests: u32,
    /// Mean KV length of a request.
    pub(crate) mean_context_tokens: f64,
    pub(crate) step_ms: Option<f64>,
}

/// An engine step of one data-parallel rank, as sums over its requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EngineStep {
    pub(crate) decode_requests: u32,
    /// KV entries of the decoding requests.
    pub(crate) decode_kv_tokens: u32,
    pub(crate) prefill_requests: u32,
    /// New tokens of the prompts.
    pub(crate) prefill_tokens: u32,
    /// Tokens of the prompts before them.
    pub(crate) prefill_cached_tokens: u32,
    /// Group of the servers in reports.
    pub(crate) servers: &'static str,
    /// Whether constants of engines are fitted to the row.
    pub(crate) is_fitted: bool,
    /// Whether the time cannot be that of the step.
    pub(crate) is_suspect: bool,
    pub(crate) latency_ms: Option<f64>,
}

/// A closed loop of users who wait for each answer, timed at the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClosedLoopRun {
    pub(crate) users: u32,
    /// Equal servers that share the users.
    pub(crate) replicas: u32,
    /// Time that each step takes longer on the hosts of the row, in microseconds.
    pub(crate) step_wait_us: f64,
    pub(crate) prompt: Uniform,
    pub(crate) output: Uniform,
    /// Group of the servers in reports.
    pub(crate) servers: &'static str,
    /// Whether constants of engines are fitted to the row.
    pub(crate) is_fitted: bool,
    /// The reason that the row is not predicted, if any.
    pub(crate) left_out: Option<&'static str>,
    /// Means over the requests.
    pub(crate) measured: Latencies,
}

/// Token counts that are all equally likely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Uniform {
    pub(crate) min: u32,
    pub(crate) max: u32,
}
