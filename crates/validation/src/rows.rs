//! Rows of each kind of file.

use rooflut::sim::PrefixCaching;
use rooflut::table::TableSet;

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
    /// Tensor parallelism, in GPUs.
    pub tp: u32,
    /// Name and version of the engine.
    pub engine: String,
    /// Tables that replace the built-in ones of the GPU.
    pub tables: Option<TableSet>,
}

/// Limits of the server; `None` is vLLM's default, for a row that does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Maximum request length in tokens; by default the model's.
    pub max_model_len: Option<u32>,
    /// Maximum number of running requests; by default 128.
    pub max_num_seqs: Option<u32>,
    /// Maximum number of tokens in a step; by default 2,048.
    pub max_num_batched_tokens: Option<u32>,
    /// Share of the memory that the server uses; by default 0.9.
    pub gpu_memory_utilization: Option<f64>,
    /// Number of KV blocks; by default as many as fit the memory.
    pub kv_blocks: Option<u32>,
    /// Whether freed blocks keep their contents.
    pub prefix_caching: PrefixCaching,
}

impl Default for Limits {
    /// vLLM's defaults.
    fn default() -> Limits {
        Limits {
            max_model_len: None,
            max_num_seqs: None,
            max_num_batched_tokens: None,
            gpu_memory_utilization: None,
            kv_blocks: None,
            prefix_caching: PrefixCaching::Enabled,
        }
    }
}

/// Latencies in milliseconds; `None` if not measured or not defined.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latencies {
    /// Time to the first token.
    pub ttft_ms: Option<f64>,
    /// Time per output token after the first.
    pub tpot_ms: Option<f64>,
    /// Time to the last token.
    pub e2e_ms: Option<f64>,
}

/// A load stage of a server: identical requests, timed at the client.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadStage {
    /// Run, stage and line of the row.
    pub label: Label,
    /// Model, GPUs and engine.
    pub server: Server,
    /// Limits of the server.
    pub limits: Limits,
    /// `constant` for equal gaps, `poisson` for exponential ones.
    pub arrival: String,
    /// Requests per second.
    pub rate_rps: f64,
    /// Time during which requests arrive, in seconds.
    pub duration_s: f64,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Tokens of each prompt in the prefix cache.
    pub cached_prompt_tokens: u32,
    /// Tokens of each output.
    pub output_tokens: u32,
    /// Measured means over the requests.
    pub measured: Latencies,
}

/// A request of a replayed run, timed inside the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedRequest {
    /// Run, stage and line of the row.
    pub label: Label,
    /// Model, GPUs and engine.
    pub server: Server,
    /// Limits of the server.
    pub limits: Limits,
    /// Leading tokens that all prompts of the run share.
    pub shared_prefix_tokens: u32,
    /// Arrival time from the start of the run.
    pub arrival_ms: f64,
    /// Tokens of its prompt.
    pub prompt_tokens: u32,
    /// Tokens of its output.
    pub output_tokens: u32,
    /// Measured latencies.
    pub measured: Latencies,
}

/// A request that ran alone, timed inside the server.
#[derive(Debug, Clone, PartialEq)]
pub struct SoloRequest {
    /// Run, stage and line of the row.
    pub label: Label,
    /// Model, GPUs and engine.
    pub server: Server,
    /// Limits of the server.
    pub limits: Limits,
    /// Tokens of its prompt.
    pub prompt_tokens: u32,
    /// Tokens of its prompt in the prefix cache.
    pub cached_prompt_tokens: u32,
    /// Mean KV length of its decode steps.
    pub mean_context_tokens: Option<f64>,
    /// Measured total time of the steps of its prompt.
    pub prefill_ms: Option<f64>,
    /// Measured time per output token after the first.
    pub tpot_ms: Option<f64>,
}

/// An engine step in which every request decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeStep {
    /// Run, stage and line of the row.
    pub label: Label,
    /// Model, GPUs and engine.
    pub server: Server,
    /// Limits of the server.
    pub limits: Limits,
    /// Number of requests in the step.
    pub decode_requests: u32,
    /// Mean KV length of a request.
    pub mean_context_tokens: f64,
    /// Measured duration.
    pub step_ms: Option<f64>,
}

/// A KV cache size that a server reported.
#[derive(Debug, Clone, PartialEq)]
pub struct KvBlockCount {
    /// Run, stage and line of the row.
    pub label: Label,
    /// Model, GPUs and engine.
    pub server: Server,
    /// Limits of the server.
    pub limits: Limits,
    /// Reported number of blocks of 16 tokens.
    pub kv_blocks: Option<f64>,
}
