//! `rooflut step`: one engine step, part by part.

use rooflut::interval::{Coverage, Interval};
use rooflut::model::{Ffn, MemoryLimits, MemoryPlan};
use rooflut::step::compat::{Blis, Calibrated, CompatPart, CompatSpec, CompatTime, InferSim};
use rooflut::step::{Binding, PartTime, StepBatch, StepModel, StepTime, TimeSource};
use rooflut::table::Provenance;
use rooflut::units::Seconds;
use rooflut_hf_config::Window;
use rooflut_inspect::Corrected;
use rooflut_report::FlaggedRow;
use rooflut_scenario::{Placement, RunError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{LatencyModelName, StepArgs};
use crate::error::Error;
use crate::flagged;
use crate::grid::Grid;
use crate::output::{count, joined, model_size, number, percent, plural, title, to_json, wrapped};
use crate::{model_source, table_set};

/// Times the step and answers with the text to print.
pub(crate) fn run(args: &StepArgs) -> Result<String, Error> {
    args.target.check().map_err(RunError::from)?;
    if args.prefill.is_empty() && args.decode.is_empty() {
        let message =
            "an empty step; give at least one --prefill NEW[@CONTEXT] or --decode REQUESTSxKV";
        return Err(Error::new(message));
    }
    let options = model_source::options(&args.target);
    let named = model_source::find(args.target.model(), options)?;
    model_source::check_assumption(&args.target, &[&named])?;
    let tables = table_set::find(table_set::of(&args.target))?;
    let placement = Placement::try_new(&args.target, named.model.clone(), tables)
        .map_err(|error| model_source::with_keys(error, &[&named]))?;
    let batch = StepBatch {
        prefill: &args.prefill,
        decode: &args.decode,
    };
    let longest = longest_request(&batch);
    if let Some(window) = named.window {
        check_window(longest, window)?;
    }
    let answer = ask(args, &placement, named.compat, &batch)?;
    let step = Step {
        model: args.latency_model,
        placement: &placement,
        note: named.note(),
        memory: Memory::of(&placement, &batch),
        longest,
        batch,
        answer,
    };
    if args.json {
        step.json()
    } else {
        Ok(step.text())
    }
}

/// Returns the tokens of the longest request; of decoding ones the mean counts.
fn longest_request(batch: &StepBatch<'_>) -> u64 {
    let prompts = batch.prefill.iter();
    let prompts = prompts.map(|chunk| u64::from(chunk.kv_len()));
    let decoding = batch.decode.iter();
    let decoding = decoding.map(|group| {
        group
            .kv_tokens()
            .div_ceil(u64::from(group.requests()).max(1))
    });
    prompts.chain(decoding).max().unwrap_or(0)
}

/// Refuses requests beyond the window of the model, which is not modelled.
fn check_window(longest: u64, window: Window) -> Result<(), Error> {
    let Window { key, tokens } = window;
    match longest > u64::from(tokens) {
        true => Err(Error::new(format!(
            "a request of {longest} tokens exceeds {key} {tokens} (windows are not modelled); use \
             shorter requests"
        ))),
        false => Ok(()),
    }
}

fn ask(
    args: &StepArgs,
    placement: &Placement,
    spec: CompatSpec,
    batch: &StepBatch<'_>,
) -> Result<Answer, Error> {
    let (tp, kv_dtype, set) = (placement.tp, placement.kv_dtype, &placement.tables);
    let (strictness, name) = (args.strict, args.latency_model.name());
    let compat = match args.latency_model {
        LatencyModelName::Roofline => {
            let deployment = placement.deploy(strictness)?;
            let time = deployment.step_model().step_time(batch);
            time.check(strictness).map_err(Error::uncertain_part)?;
            let rows = Corrected::all(&deployment)
                .into_iter()
                .filter_map(|corrected| {
                    let parts = corrected.changed_parts(&deployment, batch);
                    (!parts.is_empty()).then(|| flagged::row(&corrected.flagged, &parts))
                });
            let coverage = args.interval.unwrap_or_default();
            return Ok(Answer {
                flagged: rows.collect(),
                interval: Some((coverage, time.interval(coverage))),
                ..time.into()
            });
        }
        _ if args.interval.is_some() => {
            return Err(Error::new(format!(
                "--interval: the errors of the {name} model are not known; use --latency-model roofline"
            )));
        }
        _ if kv_dtype.name() != "bf16" => {
            return Err(Error::new(format!(
                "--kv-dtype: the {name} model knows only bf16, found {kv_dtype}; use --latency-model roofline"
            )));
        }
        _ if matches!(placement.model.spec.ffn, Ffn::Dense { gated: false, .. }) => {
            return Err(Error::new(format!(
                "--model: the {name} model knows only FFNs with a gate; use --latency-model roofline"
            )));
        }
        _ if args.target.dtype.is_some() => {
            return Err(Error::new(format!(
                "--dtype: the {name} model does not know formats of weights; use --latency-model \
                 roofline"
            )));
        }
        _ if args.target.sampler.is_some() => {
            return Err(Error::new(format!(
                "--sampler: the {name} model does not know samplers; use --latency-model roofline"
            )));
        }
        LatencyModelName::Infersim => {
            InferSim::try_new(spec, set, tp, tp).and_then(|model| model.try_step_time(batch))
        }
        LatencyModelName::Blis => {
            Blis::try_new(spec, set, tp).and_then(|model| model.try_step_time(batch))
        }
        LatencyModelName::Calibrated => {
            Calibrated::try_new(spec, set.gpu(), tp).and_then(|model| model.try_step_time(batch))
        }
    };
    let model = &placement.model;
    let time = compat.map_err(|error| Error::new(format!("{model}, {name} model: {error}")))?;
    strictness
        .check(time.provenance())
        .map_err(Error::uncertain)?;
    Ok(time.into())
}

/// A step's time, whichever model gave it.
struct Answer {
    total: Seconds,
    parts: Vec<Part>,
    /// Returns the resource that binds the step, if the model reports it.
    binding: Option<Binding>,
    /// The worst of what was looked up, if anything was.
    provenance: Option<Provenance>,
    /// Share of the time that is fitted, where the model says so.
    fitted_share: Option<f64>,
    /// The range of measurements, where the model's errors are known.
    interval: Option<(Coverage, Interval)>,
    /// Rows of the tables that stand out and on which the time depends.
    flagged: Vec<FlaggedRow>,
}

struct Part {
    name: &'static str,
    time: Seconds,
    binding: Option<Binding>,
    /// Where it comes from, where the model says so.
    source: Option<TimeSource>,
    /// The set whose rows show the errors of its lookups, if it was looked up.
    errors_set: Option<&'static str>,
}

impl From<StepTime> for Answer {
    fn from(time: StepTime) -> Answer {
        let part = |part: PartTime| Part {
            name: part.part.name(),
            time: part.time,
            binding: Some(part.binding),
            source: Some(part.source),
            errors_set: part
                .source
                .provenance()
                .map(|it| part.errors.set(it.extent)),
        };
        Answer {
            total: time.total(),
            parts: time.parts().map(part).collect(),
            binding: Some(time.binding()),
            provenance: time.provenance(),
            fitted_share: Some(time.fitted_share()),
            interval: None,
            flagged: Vec::new(),
        }
    }
}

impl From<CompatTime> for Answer {
    fn from(time: CompatTime) -> Answer {
        let part = |(part, time): (CompatPart, _)| Part {
            name: part.name(),
            time,
            binding: None,
            source: None,
            errors_set: None,
        };
        Answer {
            total: time.total(),
            parts: time.parts().map(part).collect(),
            binding: None,
            provenance: Some(time.provenance()),
            fitted_share: None,
            interval: None,
            flagged: Vec::new(),
        }
    }
}

/// KV entries of a step, and those for which each server has memory.
#[derive(Serialize)]
struct Memory {
    kv_tokens: u64,
    /// None where not even the weights fit.
    max_kv_tokens: Option<u64>,
    fits: bool,
}

impl Memory {
    fn of(placement: &Placement, batch: &StepBatch<'_>) -> Memory {
        let contexts = batch.prefill.iter().map(|chunk| u64::from(chunk.context()));
        let kv_tokens = contexts.sum::<u64>() + batch.prefill_tokens() + batch.decode_kv_tokens();
        let limits = MemoryLimits::default().with_kv_dtype(placement.kv_dtype);
        let tokens = u32::try_from(batch.tokens()).unwrap_or(u32::MAX);
        let budget = limits.max_num_batched_tokens.max(tokens);
        let limits = limits.with_max_num_batched_tokens(budget);
        let (spec, gpu) = (&placement.model.spec, placement.tables.gpu());
        let plan = MemoryPlan::try_new(spec, gpu, placement.tp, limits);
        let max_kv_tokens = plan.ok().map(|plan| plan.kv_tokens());
        Memory {
            kv_tokens,
            max_kv_tokens,
            fits: max_kv_tokens.is_some_and(|max| kv_tokens <= max),
        }
    }

    fn note(&self) -> Option<String> {
        let held = match self.max_kv_tokens {
            Some(max) => format!("{} KV tokens fit beside the weights", count(max)),
            None => "the weights alone do not fit".to_owned(),
        };
        let kv_tokens = count(self.kv_tokens);
        (!self.fits).then(|| {
            format!("no server could hold this batch of {kv_tokens} KV tokens: {held} into 0.9 of the memory")
        })
    }
}

/// A step and how long it takes.
struct Step<'s> {
    model: LatencyModelName,
    placement: &'s Placement,
    /// Remark on keys of the model's file that were ignored.
    note: Option<String>,
    batch: StepBatch<'s>,
    memory: Memory,
    /// Tokens of the longest request.
    longest: u64,
    answer: Answer,
}

impl Step<'_> {
    fn text(&self) -> String {
        let name = self.model.name();
        let rule = self.rule().map(|rule| wrapped("total", &rule));
        let interval = self.interval().map(|text| wrapped("interval", &text));
        let remarks: String = rule
            .into_iter()
            .chain(interval)
            .chain([self.notes()])
            .collect();
        let gap = if remarks.is_empty() { "" } else { "\n" };
        format!(
            "{}{}{}{}{}\n{}{gap}{remarks}",
            title(&format!("One step of {}, {name} model", self.placement)),
            wrapped(
                "model",
                &model_size(&self.placement.model.spec, self.placement.kv_dtype)
            ),
            wrapped("batch", &self.describe_batch()),
            self.engine()
                .map_or(String::new(), |engine| wrapped("engine", engine)),
            wrapped("tables", &self.tables()),
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

    fn notes(&self) -> String {
        let longest = self.longest > self.max_model_len();
        let longest = longest.then(|| {
            format!(
                "no server takes a request of {} tokens: the model's maximum length is {}",
                count(self.longest),
                count(self.max_model_len())
            )
        });
        let notes = (self.note.iter().cloned())
            .chain(self.memory.note())
            .chain(longest)
            .chain(self.answer.flagged.iter().map(flagged::note));
        notes.map(|note| wrapped("note", &note)).collect()
    }

    /// Maximum number of tokens of a request of the model.
    fn max_model_len(&self) -> u64 {
        self.placement.model.spec.max_model_len.into()
    }

    /// The engine; the predecessors' models know none.
    fn engine(&self) -> Option<&'static str> {
        matches!(self.model, LatencyModelName::Roofline).then_some(self.placement.engine.name)
    }

    /// How the total follows from the parts, where it is not their sum.
    ///
    /// Source: `rooflut::step::compat`, whose models these are.
    fn rule(&self) -> Option<String> {
        let (has_prefill, has_decode) = (
            !self.batch.prefill.is_empty(),
            !self.batch.decode.is_empty(),
        );
        let phase = |name: &str| format!("the longer of {name}_compute and {name}_memory");
        let phases = match (self.model, has_prefill, has_decode) {
            (LatencyModelName::Roofline | LatencyModelName::Infersim, ..) => return None,
            (_, true, false) => phase("prefill"),
            (_, false, _) => phase("decode"),
            (LatencyModelName::Blis, true, true) => {
                "the longest of prefill_compute, prefill_memory, decode_compute and decode_memory"
                    .to_owned()
            }
            (LatencyModelName::Calibrated, true, true) => format!(
                "the mean of prefill ({}) and decode ({}), weighted by their tokens, or by fixed \
                 shares where one has far more",
                phase("prefill"),
                phase("decode")
            ),
        };
        let has = |name| self.answer.parts.iter().any(|part| part.name == name);
        let all_reduce = match has(CompatPart::AllReduce.name()) {
            true => ", plus all_reduce",
            false => "",
        };
        Some(format!(
            "{phases}{all_reduce}, plus overhead; in whole microseconds"
        ))
    }

    fn tables(&self) -> String {
        let set = &self.placement.tables;
        match self.model {
            LatencyModelName::Calibrated => {
                format!("none: fitted constants of {}", set.gpu().name.as_str())
            }
            _ => format!("{}: {}", set.name(), set.origin().engine.as_str()),
        }
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
        let Answer {
            total,
            parts,
            binding,
            provenance,
            ..
        } = &self.answer;
        let mut grid = Grid::new("part | >ms | >share | bound by | origin");
        let named = |binding: &Option<Binding>| binding.map_or("-", Binding::name).to_owned();
        for part in parts {
            grid.row(vec![
                part.name.to_owned(),
                number(part.time.ms(), 3),
                match self.rule().is_none() {
                    true => match 100.0 * part.time.0 / total.0 {
                        small if small < 0.05 => percent(small),
                        share => format!("{share:.1} %"),
                    },
                    false => "-".to_owned(),
                },
                named(&part.binding),
                part.source
                    .map_or("-".to_owned(), |source| source.to_string()),
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

    fn json(&self) -> Result<String, Error> {
        let (placement, answer) = (self.placement, &self.answer);
        let parts = answer.parts.iter();
        let times = parts.clone().map(|part| (part.name, json!(part.time.ms())));
        let details = parts.map(|part| (part.name, part.json()));
        to_json(&joined([
            json!({"model": placement.model.name}),
            json!(rooflut_report::ModelSize::from(&placement.model.spec)),
            json!({
                "gpu": placement.tables.name(),
                "tp": placement.tp,
                "gpus": placement.tp,
                "engine": self.engine(),
            }),
            json!(rooflut_report::Weights::from(&placement.model.spec)),
            json!({
                "latency_model": self.model.name(),
                "prefill_tokens": self.batch.prefill_tokens(),
                "decode_requests": self.batch.decode_requests(),
                "decode_kv_tokens": self.batch.decode_kv_tokens(),
                "longest_request": self.longest,
                "max_model_len": self.max_model_len(),
                "total_ms": answer.total.ms(),
                "interval": answer.interval.map(|(coverage, interval)| json!({
                    "coverage": coverage.share(),
                    "low_ms": interval.low.ms(),
                    "high_ms": interval.high.ms(),
                })),
                "parts": times.collect::<Value>(),
                "part_details": details.collect::<Value>(),
                "binding": answer.binding.map(Binding::name),
            }),
            json!(rooflut_report::Provenance::from(answer.provenance)),
            json!({
                "fitted_share": answer.fitted_share,
                "memory": self.memory,
                "flagged_rows": answer.flagged,
                "notes": self.note.as_slice(),
            }),
        ]))
    }
}

impl Part {
    /// The part as JSON, with null for what the model does not say.
    fn json(&self) -> Value {
        let source = self.source.map(
            |source| match (source.provenance(), source.fitted_share()) {
                (None, _) => "fitted",
                (Some(_), 0.0) => "tables",
                (Some(_), _) => "both",
            },
        );
        let provenance = self.source.and_then(TimeSource::provenance);
        joined([
            json!({
                "ms": self.time.ms(),
                "binding": self.binding.map(Binding::name),
                "source": source,
                "fitted_share": self.source.map(TimeSource::fitted_share),
            }),
            json!(rooflut_report::Provenance::from(provenance)),
        ])
    }
}
