//! The JSON of `rooflut run`.

use rooflut::sim::figures::{BatchStats, QueueGrowth};
use rooflut_report::Rejections;
use serde::Serialize;

use crate::args::RunArgs;
use crate::disaggregation::DisaggregationJson;
use crate::goodput::GoodputJson;
use crate::model_source::WeightsJson;
use crate::output::StatsMs;
use crate::shares::Shares;
use crate::sources::{ProvenanceJson, SourcesJson};
use crate::speculation::SpeculationJson;
use crate::workload::{ClosedJson, OpenJson};

/// A run, as JSON has it.
#[derive(Serialize)]
pub(crate) struct RunJson<'r> {
    pub(crate) model: &'r str,
    pub(crate) gpu: &'r str,
    pub(crate) tp: u32,
    pub(crate) scenario: Option<ScenarioJson<'r>>,
    pub(crate) load: LoadJson,
    pub(crate) seed: Option<u64>,
    pub(crate) ttft_ms: StatsMs,
    pub(crate) tpot_ms: StatsMs,
    pub(crate) itl_ms: StatsMs,
    pub(crate) e2e_ms: StatsMs,
    pub(crate) queue_ms: StatsMs,
    /// Largest relative error of the percentiles but those of `itl_ms`: 0 where they are exact.
    pub(crate) percentile_error: f64,
    /// The same of `itl_ms`.
    pub(crate) itl_percentile_error: f64,
    pub(crate) queue_growth: Option<QueueGrowthJson>,
    pub(crate) throughput: ThroughputJson,
    pub(crate) goodput: Option<GoodputJson>,
    pub(crate) requests: u64,
    pub(crate) completed: u64,
    pub(crate) rejected: u64,
    pub(crate) rejected_by_reason: Rejections,
    pub(crate) preemptions: u64,
    pub(crate) steps: u64,
    pub(crate) makespan_s: f64,
    pub(crate) busy_share: f64,
    pub(crate) running_mean: f64,
    /// Requests that a step computes, over the time in which steps ran.
    pub(crate) batch_size: Option<BatchJson>,
    pub(crate) kv_blocks: u32,
    pub(crate) kv_blocks_peak: u32,
    pub(crate) kv_blocks_mean: f64,
    pub(crate) block_size: u32,
    pub(crate) max_num_seqs: u32,
    pub(crate) max_num_batched_tokens: u32,
    pub(crate) max_model_len: u32,
    pub(crate) engine: &'static str,
    pub(crate) scheduling: &'static str,
    pub(crate) policy: &'static str,
    pub(crate) max_waiting: Option<u32>,
    pub(crate) prefix_caching: bool,
    pub(crate) replicas: u32,
    /// None where prefill and decode share servers; `replicas` counts both kinds.
    pub(crate) disaggregation: Option<DisaggregationJson>,
    /// None without speculative decoding.
    pub(crate) speculation: Option<SpeculationJson>,
    /// None where there is nothing to choose.
    pub(crate) router: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) weights: WeightsJson,
    pub(crate) kv_dtype: &'static str,
    /// The worst of what was looked up.
    #[serde(flatten)]
    pub(crate) provenance: ProvenanceJson,
    pub(crate) time_share_by_source: SourcesJson,
    /// Share of the time that was looked up outside of the measured ranges.
    pub(crate) time_share_outside: f64,
    pub(crate) time_share_by_part: Shares,
    pub(crate) time_share_by_binding: Shares,
    pub(crate) table_engine: &'r str,
    pub(crate) table_source: &'r str,
}

/// Where arguments came from.
#[derive(Serialize)]
pub(crate) struct ScenarioJson<'r> {
    path: String,
    /// Keys that the command line replaces.
    replaced: &'r [&'static str],
}

impl ScenarioJson<'_> {
    /// The scenario of a run, if it has one.
    pub(crate) fn of(args: &RunArgs) -> Option<ScenarioJson<'_>> {
        let path = args.scenario.as_ref()?;
        Some(ScenarioJson {
            path: path.display().to_string(),
            replaced: args.replaced(),
        })
    }
}

/// What was served.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LoadJson {
    Poisson(OpenJson),
    Constant(OpenJson),
    Gamma(OpenJson),
    ClosedLoop(ClosedJson),
    Trace {
        path: String,
        format: &'static str,
        arrivals: &'static str,
        #[serde(rename = "where")]
        conditions: Vec<String>,
        left_out: Vec<LeftOutJson>,
    },
}

/// Requests of a trace that are not replayed.
#[derive(Serialize)]
pub(crate) struct LeftOutJson {
    pub(crate) reason: &'static str,
    pub(crate) requests: u64,
}

/// Served work per second.
#[derive(Serialize)]
pub(crate) struct ThroughputJson {
    pub(crate) requests_per_s: f64,
    pub(crate) output_tokens_per_s: f64,
    pub(crate) total_tokens_per_s: f64,
}

/// How many requests a step computes.
#[derive(Serialize)]
pub(crate) struct BatchJson {
    mean: f64,
    p50: u32,
    p90: u32,
    p95: u32,
    p99: u32,
}

impl From<BatchStats> for BatchJson {
    fn from(batch: BatchStats) -> BatchJson {
        BatchJson {
            mean: batch.mean,
            p50: batch.p50,
            p90: batch.p90,
            p95: batch.p95,
            p99: batch.p99,
        }
    }
}

/// Queue times at the beginning and at the end of a run.
#[derive(Serialize)]
pub(crate) struct QueueGrowthJson {
    first_quarter_ms: f64,
    last_quarter_ms: f64,
}

impl From<QueueGrowth> for QueueGrowthJson {
    fn from(growth: QueueGrowth) -> QueueGrowthJson {
        QueueGrowthJson {
            first_quarter_ms: growth.first_quarter.ms(),
            last_quarter_ms: growth.last_quarter.ms(),
        }
    }
}
