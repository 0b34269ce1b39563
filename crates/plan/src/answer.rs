//! A deployment of a plan.

use rooflut::hardware::Dtype;
use rooflut_report::{Cost, Usage, Weights};
use rooflut_scenario::{Error, Run, Scenario, VllmCommand};
use serde::Serialize;

use crate::limit::Limits;
use crate::question::Question;
use crate::space::gpu_name;
use crate::trial::{Trial, bounds, headrooms};
use crate::tried::Tried;
use crate::variant::Links;

/// A deployment and how it does under the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Answer {
    /// Name of the table set.
    pub gpu: String,
    /// The table set whose efficiencies a GPU that was not measured takes; null for a measured GPU, and for bounds.
    pub base: Option<String>,
    /// GPUs of all servers.
    pub gpus: u32,
    /// Cost of these GPUs for an hour, and of the work that they serve with the first seed; null without a known price.
    pub hourly_cost: Option<Cost>,
    /// Tensor parallelism.
    pub tp: u32,
    /// Data parallelism.
    pub dp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Whether GPUs hold whole experts.
    pub expert_parallel: bool,
    /// Servers that prefill and decode; null where these are separate.
    pub replicas: Option<u32>,
    /// Prefill servers; null where servers do both.
    pub prefill_replicas: Option<u32>,
    /// Decode servers; null where servers do both.
    pub decode_replicas: Option<u32>,
    /// Formats of the weights.
    #[serde(flatten)]
    pub weights: Weights,
    /// Format of the KV cache.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kv_dtype: Dtype,
    /// Maximum number of running requests of a server.
    pub max_num_seqs: u32,
    /// Maximum number of tokens of a step.
    pub max_num_batched_tokens: u32,
    /// KV blocks of a server.
    pub kv_blocks: u32,
    /// The prefill servers if they are of another kind than the decode servers, which the other fields describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<PrefillServer>,
    /// Share of the binding limit that is left, with the seed that leaves the least; negative where it is missed.
    pub headroom: Option<f64>,
    /// The limit that leaves the least headroom; null where no request was served.
    pub binding: Option<String>,
    /// The figures that are limited.
    pub figures: Vec<LimitedFigure>,
    /// Seeds that were simulated: all seeds, or the seeds up to the first that misses a limit.
    pub seeds: u64,
    /// Requests that were simulated, over the seeds.
    pub requests: u64,
    /// Seeds with which the servers do not keep up with the load.
    pub overloaded: u64,
    /// Rejected requests of the seed that has the most.
    pub rejected: u64,
    /// Requests served per second with the first seed.
    pub requests_per_s: f64,
    /// Tokens generated per second with the first seed.
    pub output_tokens_per_s: f64,
    /// The `rooflut run` command that gives these figures; null for a trace from standard input. Of a deployment that
    /// misses the limits, whose runs end when that is clear, it simulates longer ones.
    pub command: Option<String>,
    /// The `vllm serve` command of one server; null where vLLM has no flag for a setting.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub vllm_command: VllmCommand,
    /// Name of the GPU for people: `gpu` is a path where a data sheet describes it.
    #[serde(skip)]
    pub gpu_name: String,
    /// The scenario that gives these figures in `rooflut run`.
    #[serde(skip)]
    pub scenario: Scenario,
}

/// A prefill server of another kind than the decode servers. Its formats are theirs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PrefillServer {
    /// Name of the table set.
    pub gpu: String,
    /// The table set whose efficiencies a GPU that was not measured takes; null for a measured GPU, and for bounds.
    pub base: Option<String>,
    /// GPUs of the server.
    pub gpus: u32,
    /// Tensor parallelism.
    pub tp: u32,
    /// Data parallelism.
    pub dp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Whether GPUs hold whole experts.
    pub expert_parallel: bool,
    /// Maximum number of running requests.
    pub max_num_seqs: u32,
    /// Maximum number of tokens of a step.
    pub max_num_batched_tokens: u32,
    /// KV blocks.
    pub kv_blocks: u32,
    /// Name of the GPU for people: `gpu` is a path where a data sheet describes it.
    #[serde(skip)]
    pub gpu_name: String,
}

impl PrefillServer {
    fn of(run: &Run) -> PrefillServer {
        let (placement, config) = (run.placement(), run.config());
        let parallelism = placement.parallelism;
        PrefillServer {
            gpu: placement.tables.name().to_owned(),
            base: placement.tables.base().map(|base| base.name().to_owned()),
            gpus: parallelism.gpus(),
            tp: parallelism.tp,
            dp: parallelism.dp,
            pp: parallelism.pp,
            expert_parallel: parallelism.expert_parallel,
            max_num_seqs: config.max_num_seqs,
            max_num_batched_tokens: config.max_num_batched_tokens,
            kv_blocks: config.kv_blocks,
            gpu_name: gpu_name(&placement.tables),
        }
    }
}

/// A figure and its limit, over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LimitedFigure {
    /// The limit: `ttft:500@p99`, or `attainment`.
    pub limit: String,
    /// The largest value that is within it: milliseconds, or a share of requests that miss the limits.
    pub bound: f64,
    /// The lowest value; null where it is not known.
    pub lowest: Option<f64>,
    /// The highest value; null where it is not known.
    pub highest: Option<f64>,
}

impl Answer {
    pub(crate) fn of(
        tried: &Tried<'_>,
        links: Option<Links>,
        seeds: u32,
        question: &Question<'_>,
    ) -> Result<Answer, Error> {
        let limits = &question.limits;
        let servers = tried.servers;
        let run = servers.run(links)?;
        let own = &servers.variant.run;
        let (placement, config) = (own.placement(), own.config());
        let mut scenario = run.scenario().clone();
        scenario.workload.seeds = Some(seeds).filter(|seeds| *seeds > 1);
        scenario.workload.requests = tried.requests.or(scenario.workload.requests);
        scenario.output.goodput = limits.tightest();
        if tried.verdict.meets && limits.attainment().is_some() {
            // A share is that of required limits.
            scenario.output.require = Some(true);
            scenario.output.attainment = limits.attainment();
        }
        if servers.all() == 1 {
            scenario.server.replicas = None;
        }
        scenario.output.prices.clone_from(&question.scenario.output.prices);
        scenario.output.price.clone_from(&question.scenario.output.price);
        let parallelism = placement.parallelism;
        let [replicas, prefill, decode] = match servers.prefill {
            None => [Some(servers.count), None, None],
            Some((_, prefill)) => [None, Some(prefill), Some(servers.count)],
        };
        let trials = &tried.verdict.trials;
        let names: Vec<String> = match limits.attainment() {
            Some(_) => vec!["attainment".to_owned()],
            None => limits.limits().iter().map(ToString::to_string).collect(),
        };
        let headroom = tried.verdict.headroom;
        let least = trials.iter().flat_map(|trial| headrooms(trial, limits).zip(&names));
        let binding = least.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let count = |of: fn(&Trial) -> bool| trials.iter().filter(|trial| of(trial)).count() as u64;
        let first = trials.first();
        let gpus = servers.gpus();
        let price = question.prices.as_ref().and_then(|prices| servers.price(prices));
        Ok(Answer {
            gpu: placement.tables.name().to_owned(),
            base: placement.tables.base().map(|base| base.name().to_owned()),
            gpus,
            hourly_cost: first.zip(price).map(|(trial, price)| hour(trial, gpus).cost(&price)),
            tp: parallelism.tp,
            dp: parallelism.dp,
            pp: parallelism.pp,
            expert_parallel: parallelism.expert_parallel,
            replicas,
            prefill_replicas: prefill,
            decode_replicas: decode,
            weights: Weights::from(&placement.model.spec),
            kv_dtype: placement.kv_dtype,
            max_num_seqs: config.max_num_seqs,
            max_num_batched_tokens: config.max_num_batched_tokens,
            kv_blocks: config.kv_blocks,
            prefill: servers.unlike().map(|prefill| PrefillServer::of(&prefill.run)),
            headroom: headroom.is_finite().then_some(headroom),
            binding: binding.filter(|(left, _)| left.is_finite()).map(|(_, name)| name.clone()),
            figures: figures(trials, names, limits),
            seeds: trials.len() as u64,
            requests: trials.iter().map(|trial| trial.requests).sum(),
            overloaded: count(|trial| trial.is_overloaded),
            rejected: trials.iter().map(|trial| trial.rejected).max().unwrap_or_default(),
            requests_per_s: first.map_or(0.0, |trial| trial.requests_per_s),
            output_tokens_per_s: first.map_or(0.0, |trial| trial.output_tokens_per_s),
            command: scenario.command().map(|words| words.join(" ")),
            vllm_command: scenario.vllm_command(placement.engine),
            gpu_name: gpu_name(&placement.tables),
            scenario,
        })
    }
}

/// Returns what servers do in an hour in which they are as busy as in a run.
fn hour(trial: &Trial, gpus: u32) -> Usage {
    let gpu_hours = f64::from(gpus);
    Usage {
        gpu_hours,
        busy_gpu_hours: gpu_hours * trial.busy_share,
        requests: 3600.0 * trial.requests_per_s,
        output_tokens: 3600.0 * trial.output_tokens_per_s,
        total_tokens: 3600.0 * trial.total_tokens_per_s,
    }
}

fn figures(trials: &[Trial], names: Vec<String>, limits: &Limits) -> Vec<LimitedFigure> {
    let bounds = bounds(limits).into_iter();
    let named = names.into_iter().zip(bounds).enumerate();
    let figures = named.map(|(index, (limit, bound))| {
        let values = trials.iter().map(|trial| *trial.values.get(index)?);
        let known: Option<Vec<f64>> = values.map(|value: Option<f64>| value).collect();
        let known = known.unwrap_or_default();
        LimitedFigure {
            limit,
            bound,
            lowest: known.iter().copied().min_by(f64::total_cmp),
            highest: known.iter().copied().max_by(f64::total_cmp),
        }
    });
    figures.collect()
}
