//! The kinds of servers of a run.

use rooflut::deployment::ServerOptions;
use rooflut::hardware::Dtype;
use serde::Serialize;

use crate::figures::LatencyMs;
use crate::weights::Weights;

/// Equal servers of a run whose servers are of several kinds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Servers {
    /// Their role.
    pub role: Role,
    /// The first of their replicas, as `replica` counts them in CSV files.
    pub first_replica: u32,
    /// Number of these servers; a server of data-parallel ranks is one, and has a replica for each rank.
    pub servers: u32,
    /// Name of the table set.
    pub gpu: String,
    /// The table set whose efficiencies a GPU that was not measured takes; null for a measured GPU, and for bounds.
    pub base: Option<String>,
    /// Tensor parallelism.
    pub tp: u32,
    /// Data-parallel ranks of each server.
    pub dp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Whether the GPUs hold whole experts instead of a slice of each.
    pub expert_parallel: bool,
    /// GPUs of these servers.
    pub gpus: u64,
    /// The price of a GPU; null where it is not known.
    pub usd_per_gpu_hour: Option<f64>,
    /// Formats of the weights.
    #[serde(flatten)]
    pub weights: Weights,
    /// Format of the KV cache.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kv_dtype: Dtype,
    /// Limits and policies of each server, with the defaults filled in.
    #[serde(flatten)]
    pub server: ServerOptions,
    /// The longest request of the models, where the KV cache holds less; null where it holds it.
    pub max_model_len_lowered_from: Option<u32>,
    /// Requests that these servers served, or computed the prompts of.
    pub requests: u64,
    /// Their share of the requests that servers of this role served; null where none was served.
    pub share: Option<f64>,
    /// Time to first token of the requests that these servers served; null for prefill and decode servers, which have a
    /// part of it each.
    pub ttft_ms: Option<LatencyMs>,
    /// Time per output token after the first; null for prefill servers.
    pub tpot_ms: Option<LatencyMs>,
    /// Share of the time in which a step ran, averaged over the replicas.
    pub busy_share: f64,
    /// Running requests, averaged over the time, of all replicas.
    pub running_mean: f64,
    /// How often a running request lost its KV blocks.
    pub preemptions: u64,
    /// KV blocks of all replicas.
    pub kv_blocks: u32,
    /// Largest number of KV blocks held by each replica, summed.
    pub kv_blocks_peak: u32,
}

/// The role of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// Prefill and decode.
    Whole,
    /// Prefill alone.
    Prefill,
    /// Decode alone.
    Decode,
}

/// A server that was lost for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outage {
    /// The server, counted from 0; a server of data-parallel ranks is one.
    pub server: u32,
    /// When it was lost, seconds from the start.
    pub from_s: f64,
    /// When it was back.
    pub to_s: f64,
}
