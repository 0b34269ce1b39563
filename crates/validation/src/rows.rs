//! What a row of each kind of file says.

use rooflut::sim::PrefixCaching;
use rooflut::table::TableSet;

/// Which row it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The run that it belongs to.
    pub id: String,
    /// Its place in the run.
    pub stage: Stage,
    /// Its line in the file, from 1.
    pub line: u64,
}

/// The place of a row in its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The number in the column `stage`, or the place among the rows of the same id, from 0.
    Number(u64),
    /// Something else in the column `stage`.
    Name(String),
}

/// What was served where, as the row words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: String,
    /// The format of its weights; empty where it is the model's own.
    pub dtype: String,
    /// The format of its KV entries; empty where it is the engine's default.
    pub kv_dtype: String,
    /// Tensor parallelism.
    pub tp: u32,
    /// The engine and its version.
    pub engine: String,
    /// Tables to predict with in place of the built-in ones of the GPU.
    pub tables: Option<TableSet>,
}

/// What the server was told; `None` where the row does not say: vLLM's default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Longest request; by default the model's.
    pub max_model_len: Option<u32>,
    /// Requests that run at the same time; by default 128.
    pub max_num_seqs: Option<u32>,
    /// Tokens of a step; by default 2,048.
    pub max_num_batched_tokens: Option<u32>,
    /// Share of the memory that the server uses; by default 0.9.
    pub gpu_memory_utilization: Option<f64>,
    /// KV blocks; by default what the memory leaves.
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

/// Latencies in milliseconds; `None` where one was not measured or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latencies {
    /// Time to the first token.
    pub ttft_ms: Option<f64>,
    /// Time per output token after the first.
    pub tpot_ms: Option<f64>,
    /// Time to the last token.
    pub e2e_ms: Option<f64>,
}

/// A load stage of a server: requests that are all alike, timed at the client.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadStage {
    /// Which row it is.
    pub label: Label,
    /// What was served where.
    pub server: Server,
    /// What the server was told.
    pub limits: Limits,
    /// `constant` for equal gaps, `poisson` for exponential ones.
    pub arrival: String,
    /// Requests per second.
    pub rate_rps: f64,
    /// How long requests kept coming.
    pub duration_s: f64,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Those of them that were in the prefix cache.
    pub cached_prompt_tokens: u32,
    /// Tokens of each output.
    pub output_tokens: u32,
    /// Means over the requests.
    pub measured: Latencies,
}

/// One request of a run that is replayed, timed inside the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedRequest {
    /// Which row it is.
    pub label: Label,
    /// What was served where.
    pub server: Server,
    /// What the server was told.
    pub limits: Limits,
    /// Leading tokens that all prompts of the run have in common.
    pub shared_prefix_tokens: u32,
    /// When it arrived, from the start of the run.
    pub arrival_ms: f64,
    /// Tokens of its prompt.
    pub prompt_tokens: u32,
    /// Tokens of its output.
    pub output_tokens: u32,
    /// What was measured.
    pub measured: Latencies,
}

/// A request that ran alone, timed inside the server.
#[derive(Debug, Clone, PartialEq)]
pub struct SoloRequest {
    /// Which row it is.
    pub label: Label,
    /// What was served where.
    pub server: Server,
    /// What the server was told.
    pub limits: Limits,
    /// Tokens of its prompt.
    pub prompt_tokens: u32,
    /// Those of them that were in the prefix cache.
    pub cached_prompt_tokens: u32,
    /// Mean KV length of its decode steps.
    pub mean_context_tokens: Option<f64>,
    /// Measured time of its prompt.
    pub prefill_ms: Option<f64>,
    /// Measured time per output token after the first.
    pub tpot_ms: Option<f64>,
}

/// One engine step in which every request decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeStep {
    /// Which row it is.
    pub label: Label,
    /// What was served where.
    pub server: Server,
    /// What the server was told.
    pub limits: Limits,
    /// Requests.
    pub decode_requests: u32,
    /// Mean KV length of a request.
    pub mean_context_tokens: f64,
    /// Its measured duration.
    pub step_ms: Option<f64>,
}

/// The size of a KV cache as a server reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct KvBlockCount {
    /// Which row it is.
    pub label: Label,
    /// What was served where.
    pub server: Server,
    /// What the server was told.
    pub limits: Limits,
    /// Reported blocks of 16 tokens.
    pub kv_blocks: Option<f64>,
}
