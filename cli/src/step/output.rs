//! The output of `rooflut step`.

use rooflut::interval::Interval;
use rooflut::model::{MemoryLimits, MemoryPlan};
use rooflut::step::{Binding, StepBatch};
use rooflut::table::TableSet;
use rooflut::units::Seconds;
use rooflut_report::{FlaggedRow, ModelSize, Provenance, Shares, StepKernels, Weights};
use rooflut_scenario::Placement;
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{Answer, PartJson};
use super::{TimedBy, kv_len};
use crate::error::Error;
use crate::flagged;
use crate::grid::Grid;
use crate::output::{INDENT, count, model_size, number, percent, plural, title, to_json, warnings, wrapped};

/// KV entries of a step, and those for which each server has memory.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Memory {
    kv_tokens: u64,
    /// The KV blocks that they need at least. None, like the maximum, where not even the weights fit.
    kv_blocks: Option<u64>,
    max_kv_blocks: Option<u64>,
    fits: bool,
    /// The share of the memory that the engine takes.
    #[serde(skip)]
    utilization: f64,
}

impl Memory {
    pub(super) fn of(placement: &Placement, batch: &StepBatch<'_>) -> Memory {
        let contexts = batch.prefill.iter().map(|chunk| u64::from(chunk.context()));
        let kv_tokens = contexts.sum::<u64>() + batch.prefill_tokens() + batch.decode_kv_tokens();
        let utilization = placement.engine.defaults.gpu_memory_utilization;
        let limits = MemoryLimits::default().with_gpu_memory_utilization(utilization);
        let limits = placement.engine.memory_limits(limits).with_kv_dtype(placement.kv_dtype);
        let tokens = u32::try_from(batch.tokens()).unwrap_or(u32::MAX);
        let budget = limits.max_num_batched_tokens.max(tokens);
        let limits = limits.with_max_num_batched_tokens(budget);
        let (spec, gpu) = (&placement.model.spec, placement.tables.gpu());
        let plan = MemoryPlan::try_new(spec, gpu, placement.parallelism, limits).ok();
        let kv_blocks = plan.map(|plan| blocks(&plan, batch));
        let max_kv_blocks = plan.map(|plan| u64::from(plan.kv_blocks));
        Memory {
            kv_tokens,
            kv_blocks,
            max_kv_blocks,
            fits: kv_blocks.zip(max_kv_blocks).is_some_and(|(needed, max)| needed <= max),
            utilization,
        }
    }

    fn note(&self) -> Option<String> {
        let why = match self.kv_blocks.zip(self.max_kv_blocks) {
            Some((needed, max)) => {
                format!("it needs {} KV blocks, and {} fit beside the weights", count(needed), count(max))
            }
            None => "the weights alone do not fit".to_owned(),
        };
        let kv_tokens = count(self.kv_tokens);
        let share = self.utilization;
        (!self.fits).then(|| {
            format!("no server could hold this batch of {kv_tokens} KV tokens: {why} into {share} of the memory")
        })
    }
}

/// Returns the KV blocks that a batch needs at least: in layers with a window, those that its last tokens read.
fn blocks(plan: &MemoryPlan, batch: &StepBatch<'_>) -> u64 {
    let groups = plan.groups;
    let tokens = plan.limits.block_size.saturating_mul(groups.block_factor);
    let of_request = |kv_len: u32| {
        let blocks = |keys: u32, groups: u32| u64::from(keys.div_ceil(tokens)) * u64::from(groups);
        blocks(kv_len, groups.full) + blocks(groups.span.keys(kv_len), groups.limited)
    };
    let prompts = batch.prefill.iter().map(|chunk| of_request(chunk.kv_len()));
    let decoding = batch.decode.iter().map(|group| {
        let requests = u64::from(group.requests());
        requests.saturating_mul(of_request(kv_len(group)))
    });
    prompts.chain(decoding).fold(0, u64::saturating_add)
}

/// A step and how long it takes.
pub(super) struct Step<'s> {
    pub(super) model: TimedBy,
    pub(super) placement: &'s Placement,
    /// Remarks on keys of the model's file that were ignored, and on memory for windows.
    pub(super) notes: Vec<String>,
    pub(super) batch: StepBatch<'s>,
    pub(super) memory: Memory,
    /// Tokens of the longest request.
    pub(super) longest: u32,
    pub(super) answer: Answer,
}

impl Step<'_> {
    pub(super) fn text(&self) -> String {
        let name = self.model.name;
        let rule = self.model.rule.as_deref().map(|rule| wrapped("total", rule));
        let interval = self.interval().map(|text| wrapped("interval", &text));
        let remarks: String =
            rule.into_iter().chain(interval).chain(self.stages().map(|text| wrapped("stages", &text))).collect();
        let gap = if remarks.is_empty() { "" } else { "\n" };
        format!(
            "{}{}{}{}{}{}\n{}{gap}{remarks}",
            title(&format!("One step of {}, {name} model", self.placement)),
            self.warnings(),
            wrapped("model", &model_size(&self.placement.model.spec, self.placement.kv_dtype)),
            wrapped("batch", &self.describe_batch()),
            self.model.engine.map_or(String::new(), |engine| wrapped("engine", engine)),
            wrapped("tables", &self.model.tables),
            self.grid().render(2),
        )
    }

    /// The range of measurements, where the model's errors are known.
    fn interval(&self) -> Option<String> {
        let (coverage, Interval { low, high }) = self.answer.interval?;
        let text = format!(
            "{} to {} ms for {} of measurements",
            number(low.ms(), 3),
            number(high.ms(), 3),
            percent(100.0 * coverage.share())
        );
        let own = self.placement.tables.name();
        let mut sets = self.answer.parts.iter().filter_map(|part| part.errors_set);
        Some(match sets.find(|set| *set != own) {
            None => text,
            Some(other) => format!("{text}, with errors as on {other}"),
        })
    }

    /// The times of the pipeline stages, if there are several.
    fn stages(&self) -> Option<String> {
        let ms = |stage: &Seconds| number(stage.ms(), 3);
        let stages = &self.answer.stages;
        let times: Vec<String> = stages.iter().map(ms).collect();
        let longest = stages.iter().copied().fold(Seconds::ZERO, Seconds::max);
        (stages.len() > 1).then(|| {
            format!(
                "{} ms, one after the other; batches of other requests follow every {} ms",
                times.join(" + "),
                ms(&longest)
            )
        })
    }

    fn warnings(&self) -> String {
        let max_model_len = self.placement.model.spec.max_model_len;
        let longest = self.longest > max_model_len;
        let longest = longest.then(|| {
            format!(
                "no server takes a request of {} tokens: the model's maximum length is {}",
                count(self.longest.into()),
                count(max_model_len.into())
            )
        });
        let notes = (self.notes.iter().cloned())
            .chain(self.memory.note())
            .chain(longest)
            .chain(self.answer.flagged.iter().map(flagged::note));
        warnings(INDENT, notes)
    }

    fn describe_batch(&self) -> String {
        let batch = &self.batch;
        let mut parts = Vec::new();
        if !batch.prefill.is_empty() {
            let context: u64 = batch.prefill.iter().map(|c| u64::from(c.context())).sum();
            let context = match context {
                0 => String::new(),
                context => format!(" after {} cached", count(context)),
            };
            let chunks = plural(batch.prefill.len() as u64, "prefill chunk");
            let new = count(batch.prefill_tokens());
            parts.push(format!("{chunks} of {new} tokens{context}"));
        }
        if !batch.decode.is_empty() {
            let requests = plural(batch.decode_requests(), "decode request");
            let kv_tokens = count(batch.decode_kv_tokens());
            parts.push(format!("{requests} over {kv_tokens} KV tokens"));
        }
        parts.join(", ")
    }

    fn grid(&self) -> Grid {
        let Answer { total, parts, binding, provenance, .. } = &self.answer;
        let mut grid = Grid::new("part | >ms | >share | bound by | origin");
        let named = |binding: &Option<Binding>| binding.map_or("-", Binding::name).to_owned();
        for part in parts {
            grid.row(vec![
                part.name.to_owned(),
                number(part.time.ms(), 3),
                if self.model.rule.is_none() {
                    match 100.0 * part.time.0 / total.0 {
                        small if small < 0.05 => percent(small),
                        share => format!("{share:.1} %"),
                    }
                } else {
                    "-".to_owned()
                },
                named(&part.binding),
                part.source.map_or("-".to_owned(), |source| source.to_string()),
            ]);
        }
        grid.row(vec![
            "total".to_owned(),
            number(total.ms(), 3),
            String::new(),
            named(binding),
            provenance.map_or("-".to_owned(), |provenance| provenance.to_string()),
        ]);
        grid
    }

    pub(super) fn json(&self) -> Result<String, Error> {
        let (placement, answer) = (self.placement, &self.answer);
        let spec = &placement.model.spec;
        let parts = answer.parts.iter();
        let times = parts.clone().map(|part| (part.name, part.time.ms()));
        let details = parts.map(|part| (part.name, json!(PartJson::new(part, &answer.kernels))));
        to_json(&StepJson {
            model: &placement.model.name,
            size: ModelSize::from(spec),
            gpu: placement.tables.name(),
            base: placement.tables.base().map(TableSet::name),
            tp: placement.parallelism.tp,
            pp: placement.parallelism.pp,
            dp: placement.parallelism.dp,
            expert_parallel: placement.parallelism.expert_parallel,
            gpus: placement.parallelism.gpus(),
            engine: self.model.engine,
            weights: Weights::from(spec),
            latency_model: self.model.name,
            prefill_tokens: self.batch.prefill_tokens(),
            decode_requests: self.batch.decode_requests(),
            decode_kv_tokens: self.batch.decode_kv_tokens(),
            longest_request: self.longest,
            max_model_len: spec.max_model_len,
            total_ms: answer.total.ms(),
            interval: answer.interval.map(|(coverage, interval)| IntervalJson {
                coverage: coverage.share(),
                low_ms: interval.low.ms(),
                high_ms: interval.high.ms(),
            }),
            parts: Shares(times.collect()),
            stages_ms: answer.stages.iter().map(|stage| stage.ms()).collect(),
            part_details: details.collect(),
            kernels: StepKernels::new(&answer.kernels, placement.tables.gpu()),
            binding: answer.binding.map(Binding::name),
            provenance: Provenance::from(answer.provenance),
            fitted_share: answer.fitted_share,
            memory: &self.memory,
            flagged_rows: &answer.flagged,
            notes: &self.notes,
        })
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// The time of a step.
pub(crate) struct StepJson<'s> {
    model: &'s str,
    #[serde(flatten)]
    size: ModelSize,
    gpu: &'s str,
    /// The table set whose efficiencies a GPU that was not measured takes; null for a measured GPU, and for bounds.
    base: Option<&'s str>,
    tp: u32,
    pp: u32,
    dp: u32,
    expert_parallel: bool,
    gpus: u32,
    /// Name of the engine stack; null for a model that knows none.
    engine: Option<&'static str>,
    #[serde(flatten)]
    weights: Weights,
    latency_model: &'static str,
    prefill_tokens: u64,
    decode_requests: u64,
    decode_kv_tokens: u64,
    longest_request: u32,
    max_model_len: u32,
    total_ms: f64,
    interval: Option<IntervalJson>,
    /// Milliseconds by part.
    parts: Shares,
    /// Milliseconds of each pipeline stage.
    stages_ms: Vec<f64>,
    /// Details by part.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, PartJson>"))]
    part_details: Value,
    #[serde(flatten)]
    kernels: StepKernels,
    /// The resource that binds the step; null for a model that knows none.
    binding: Option<&'static str>,
    #[serde(flatten)]
    provenance: Provenance,
    /// Share of the time that is fitted; null for a model that does not say it.
    fitted_share: Option<f64>,
    memory: &'s Memory,
    flagged_rows: &'s [FlaggedRow],
    notes: &'s [String],
}

/// Range of measurements.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct IntervalJson {
    coverage: f64,
    low_ms: f64,
    high_ms: f64,
}
