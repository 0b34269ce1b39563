//! The report of a run.

use rooflut::deployment::ServerOptions;
use rooflut::hardware::Dtype;
use rooflut::model::{ModelSpec, Sampler};
use rooflut::sim::cluster::Router;
use rooflut::sim::figures::{BatchStats, LimitShares, Throughput};
use serde::Serialize;

use crate::clients::Clients;
use crate::cost::{Cost, EnergyBound};
use crate::figures::{Goodput, LatencyMs, QueueGrowth};
use crate::flagged::FlaggedRow;
use crate::interval::ModelInterval;
use crate::load::Load;
use crate::priority::PriorityClass;
use crate::quantiles::Quantiles;
use crate::rejections::Rejections;
use crate::seeds::{LatencySpread, Seeds, Spread};
use crate::servers::{Outage, Servers};
use crate::sources::{Provenance, Shares};
use crate::steady::Steady;
use crate::versioned::Versioned;
use crate::weights::Weights;
use crate::windows::Window;

/// The report of a run: what `rooflut run --json` prints.
///
/// Its JSON ([`to_json`](Report::to_json)) has the fields in this order. Times are milliseconds or seconds as their
/// names say; what a run does not have is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name of the model.
    pub model: String,
    /// Its size.
    #[serde(flatten)]
    pub size: ModelSize,
    /// Name of the table set.
    pub gpu: String,
    /// The table set whose efficiencies a GPU that was not measured takes; null for a measured GPU, and for bounds.
    pub base: Option<String>,
    /// Tensor parallelism.
    pub tp: u32,
    /// Data parallelism: ranks of `tp` GPUs each that step together.
    pub dp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Whether the GPUs hold whole experts instead of a slice of each.
    pub expert_parallel: bool,
    /// GPUs of all servers.
    pub gpus: u64,
    /// The scenario file, if there is one.
    pub scenario: Option<ScenarioFile>,
    /// The `rooflut run` command with all keys as flags; null where flags cannot say it.
    pub command: Option<String>,
    /// The load.
    pub load: Load,
    /// Clients that give up; null where they wait as long as it takes.
    pub clients: Option<Clients>,
    /// Seed of the load; null for traces.
    pub seed: Option<u64>,
    /// Time to first token.
    pub ttft_ms: LatencyMs,
    /// Time per output token after the first, a mean per request.
    pub tpot_ms: LatencyMs,
    /// Inter-token latency: every gap between consecutive tokens.
    pub itl_ms: LatencyMs,
    /// Time from the arrival to the last token.
    pub e2e_ms: LatencyMs,
    /// Time from the arrival at the engine to the first scheduling.
    pub queue_ms: LatencyMs,
    /// Latencies by priority, the most urgent first; null where the load has no priorities, or more than 64.
    pub by_priority: Option<Vec<PriorityClass>>,
    /// Figures of the whole run over time; null unless asked for.
    pub windows: Option<Vec<Window>>,
    /// Quantiles of the latencies; null unless asked for.
    pub quantiles: Option<Quantiles>,
    /// Largest relative error of the percentiles except those of `itl_ms`; 0 where they are exact.
    pub percentile_error: f64,
    /// Largest relative error of the percentiles of `itl_ms`.
    pub itl_percentile_error: f64,
    /// The part of the run that the latencies, throughput, goodput, cost, energy, shares and means are of. Counts of
    /// requests and steps, the makespan and peaks are those of the whole run.
    pub steady: Steady,
    /// Queue times at the beginning and at the end; null where fewer than four requests were served.
    pub queue_growth: Option<QueueGrowth>,
    /// Whether requests arrive faster than they are served.
    pub overloaded: bool,
    /// Whether the limits of `goodput` are met, on servers that are not overloaded; null unless required or known.
    pub limits_met: Option<bool>,
    /// Ranges of measurements; null unless asked for.
    pub interval: Option<ModelInterval>,
    /// Figures over several seeds; null for one. All other figures are those of the first seed.
    pub seeds: Option<Seeds>,
    /// Served work per second.
    pub throughput: Throughput,
    /// Output tokens per second that a user sees after the first token: 1 over the mean of TPOT, the harmonic mean over
    /// requests (InferenceX calls 1 / TPOT the interactivity). Null where no served request has a second token.
    pub tokens_per_s_per_user: Option<f64>,
    /// Tokens generated per second, over all GPUs of the deployment, those of prefill servers included.
    pub output_tokens_per_s_per_gpu: f64,
    /// Tokens of prompts (cached ones included) and outputs per second, over all GPUs of the deployment.
    pub total_tokens_per_s_per_gpu: f64,
    /// Requests served within limits; null without limits.
    pub goodput: Option<Goodput>,
    /// Cost of the GPUs; null where their price is not known.
    pub cost: Option<Cost>,
    /// Upper bound of the energy that the GPUs use in steps; null where their thermal design power is not known.
    pub energy_bound: Option<EnergyBound>,
    /// Requests, completed and rejected, retries included.
    pub requests: u64,
    /// Requests that were served in full.
    pub completed: u64,
    /// Requests that were rejected, abandoned ones included.
    pub rejected: u64,
    /// These by reason.
    pub rejected_by_reason: Rejections,
    /// Accepted requests whose output is cut at `max_model_len`, as newer engines do.
    pub truncated: u64,
    /// How often a running request lost its KV blocks.
    pub preemptions: u64,
    /// Engine steps.
    pub steps: u64,
    /// Mean time of a step, those of a draft model included; null where none ran.
    pub mean_step_ms: Option<f64>,
    /// Seconds from the first arrival of a served request to the last token.
    pub makespan_s: f64,
    /// Share of the time in which a step ran, averaged over the replicas.
    pub busy_share: f64,
    /// Running requests, averaged over the time, of all replicas.
    pub running_mean: f64,
    /// Requests that a step computes, weighted by the time of the steps.
    pub batch_size: Option<BatchStats>,
    /// Shares of the time of the steps in which limits of the servers held requests back; null without a step.
    pub limited_by: Option<LimitShares>,
    /// KV blocks of all replicas.
    pub kv_blocks: u32,
    /// Largest number of KV blocks held at any time.
    pub kv_blocks_peak: u32,
    /// KV blocks held, averaged over the time.
    pub kv_blocks_mean: f64,
    /// Share of the prompt tokens of served requests that the prefix cache had, `cached_prompt_tokens` of the load
    /// included: vLLM's prefix_cache_hits over its prefix_cache_queries. A request counts once, as it was first
    /// admitted, not again after a preemption. Null where the servers cache no prefixes.
    pub prefix_cache_hit_rate: Option<f64>,
    /// Limits and policies of each server, with the defaults filled in: `block_size` and so on.
    #[serde(flatten)]
    pub server: ServerOptions,
    /// The longest request of the models, where the KV cache holds less; null where it holds it.
    pub max_model_len_lowered_from: Option<u32>,
    /// Name of the engine stack.
    pub engine: String,
    /// Servers, prefill and decode servers together.
    pub replicas: u32,
    /// The kinds of servers, in the order of their replicas; left out where all servers are equal. What is said above of
    /// a server and its GPUs is then said of the first kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<Servers>>,
    /// Servers that were lost for a while; left out where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Vec<Outage>>,
    /// Requests of lost servers that started again; left out where no server was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarted: Option<u64>,
    /// Prefill and decode on servers of their own; null where they share servers.
    pub disaggregation: Option<Disaggregation>,
    /// Speculative decoding; null without.
    pub speculation: Option<Speculation>,
    /// How requests are routed; null for a single server.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub router: Option<Router>,
    /// Share of the tokens that one replica serves, if that is most of them: more than half, and more than one and a
    /// half times its share.
    pub busiest_replica_share: Option<f64>,
    /// Formats of the weights.
    #[serde(flatten)]
    pub weights: Weights,
    /// Format of the KV cache.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kv_dtype: Dtype,
    /// Sampling of the tokens.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sampler: Sampler,
    /// The least certain answer that was looked up.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Share of the time of all steps by source.
    pub time_share_by_source: Shares,
    /// Share of the time that was looked up outside of the measured ranges.
    pub time_share_outside: f64,
    /// Share of the time by part of a step.
    pub time_share_by_part: Shares,
    /// Share of the time by what bounds it.
    pub time_share_by_binding: Shares,
    /// Rows of the tables that stand out from their neighbours and change the time of the steps.
    pub flagged_rows: Vec<FlaggedRow>,
    /// Remarks on how the model was read and on settings that do not fit each other.
    pub notes: Vec<String>,
    /// Engine and kernels that were measured for the table set.
    pub table_engine: String,
    /// Publisher of the measurements.
    pub table_source: String,
}

impl Report {
    /// Returns the figures over the `reports` of runs with consecutive seeds, of which `first` is the first; `None`
    /// for fewer than two.
    pub fn over_seeds(first: u64, reports: &[Report]) -> Option<Seeds> {
        let count = reports.len() as u64;
        let spread = |of: fn(&Report) -> Option<f64>| Spread::of(reports.iter().map(of));
        let latency = |of: fn(&Report) -> LatencyMs| LatencySpread::of_runs(reports.iter().map(of));
        (count > 1).then(|| Seeds {
            first,
            count,
            coverage: (count - 1) as f64 / (count + 1) as f64,
            ttft_ms: latency(|report| report.ttft_ms),
            tpot_ms: latency(|report| report.tpot_ms),
            itl_ms: latency(|report| report.itl_ms),
            e2e_ms: latency(|report| report.e2e_ms),
            queue_ms: latency(|report| report.queue_ms),
            requests_per_s: spread(|report| Some(report.throughput.requests_per_s)),
            output_tokens_per_s: spread(|report| Some(report.throughput.output_tokens_per_s)),
            goodput_per_s: spread(|report| report.goodput.map(|goodput| goodput.requests_per_s)),
            overloaded: reports.iter().filter(|report| report.overloaded).count() as u64,
            limits_met: reports.iter().map(|report| report.limits_met.map(u64::from)).sum(),
        })
    }

    /// Returns the report as indented JSON with a final line break, the bytes of `rooflut run --json`.
    ///
    /// # Errors
    /// None is known; serde_json's signature has one.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Versioned::new(self).to_json()
    }
}

/// A scenario file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioFile {
    /// Path as given.
    pub path: String,
    /// Keys that the command line replaced, in the order of the file.
    pub replaced: Vec<String>,
}

/// Size of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelSize {
    /// Number of its parameters.
    pub parameters: u64,
    /// Bytes of its weights, of one copy over all its GPUs.
    pub weight_bytes: u64,
}

impl From<&ModelSpec> for ModelSize {
    fn from(spec: &ModelSpec) -> ModelSize {
        ModelSize { parameters: spec.weight_params(), weight_bytes: spec.weight_bytes() as u64 }
    }
}

/// Prefill and decode on servers of their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disaggregation {
    /// Servers that compute prompts.
    pub prefill_replicas: u32,
    /// Servers that decode.
    pub decode_replicas: u32,
    /// Bandwidth of the link of each prefill server, GB/s.
    pub link_bandwidth_gb_per_s: f64,
    /// Latency of a link, microseconds.
    pub link_latency_us: f64,
    /// Bytes of the KV entries of one token.
    pub kv_bytes_per_token: f64,
    /// Requests whose KV entries were sent.
    pub transfers: u64,
    /// Mean time from the end of a prefill to the arrival of its KV entries.
    pub transfer_mean_ms: f64,
    /// Mean time from there to the first scheduling by the decode server.
    pub decode_queue_mean_ms: f64,
    /// Share of the time in which a link is busy, averaged over the links.
    pub link_busy_share: f64,
    /// Share of the time in which a prefill server is busy.
    pub prefill_busy_share: f64,
    /// Share of the time in which a decode server is busy.
    pub decode_busy_share: f64,
    /// Largest number of KV blocks held at any time, summed over the prefill servers.
    pub prefill_kv_blocks_peak: u32,
    /// Largest number of KV blocks held at any time, summed over the decode servers.
    pub decode_kv_blocks_peak: u32,
}

/// Speculative decoding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speculation {
    /// Tokens drafted for each step.
    pub draft_tokens: u32,
    /// Share of the drafted tokens that are accepted, of those whose predecessors are.
    pub acceptance: f64,
    /// The measurement that `acceptance` comes from; null where the scenario gives it.
    pub measured_acceptance: Option<MeasuredAcceptance>,
    /// Name of the draft model, `mtp` for an MTP layer of the model, `ngram` for a lookup in the prompt.
    pub draft_model: String,
    /// Seed of the acceptances.
    pub seed: u64,
    /// Expected tokens of a request and step.
    pub tokens_per_step_expected: f64,
    /// Tokens of a request and step; null where no request decoded.
    pub tokens_per_step: Option<f64>,
    /// Share of the drafted tokens that were accepted; null where no request decoded.
    pub accepted_share: Option<f64>,
    /// Share of the draft model, EAGLE-3 head or MTP layer in the time of all steps; null for a lookup in the prompt.
    pub draft_time_share: Option<f64>,
}

/// A measured acceptance of drafts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredAcceptance {
    /// The measured model.
    pub model: String,
    /// The prompts, and whether the model thinks.
    pub prompts: String,
    /// Mean tokens of a request and step, the one that the model samples itself included.
    pub tokens_per_step: f64,
    /// Publisher and name of the measurement.
    pub source: String,
}
