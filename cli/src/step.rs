//! `rooflut step`: one engine step, part by part.

use std::fmt::Write;

use rooflut::step::compat::{Blis, Calibrated, CompatError, CompatPart, CompatTime, InferSim};
use rooflut::step::{Binding, PartTime, StepBatch, StepModel, StepTime, TimeSource};
use rooflut::table::{Provenance, Strictness};
use rooflut::units::Seconds;
use rooflut_scenario::RunError;
use serde::{Serialize, Serializer};

use crate::args::{LatencyModelName, StepArgs};
use crate::error::Error;
use crate::output::{Align, Grid, count, json, number, plural, wrapped};
use crate::server::Placement;

/// Times the step and answers with the text to print.
pub(crate) fn run(args: &StepArgs) -> Result<String, Error> {
    args.target.check().map_err(RunError::from)?;
    if args.prefill.is_empty() && args.decode.is_empty() {
        let message =
            "an empty step; give at least one --prefill NEW[@CONTEXT] or --decode REQUESTSxKV";
        return Err(Error::new(message));
    }
    let placement = Placement::find(&args.target)?;
    let strictness = args.strict;
    let batch = StepBatch {
        prefill: &args.prefill,
        decode: &args.decode,
    };
    let answer = ask(args.latency_model, &placement, strictness, &batch)?;
    let step = Step {
        model: args.latency_model,
        placement: &placement,
        batch,
        answer,
    };
    if args.json {
        step.json()
    } else {
        Ok(step.text())
    }
}

fn ask(
    model: LatencyModelName,
    placement: &Placement,
    strictness: Strictness,
    batch: &StepBatch<'_>,
) -> Result<Answer, Error> {
    let Placement { set, .. } = placement;
    let rooflut_scenario::Placement { tp, kv_dtype, .. } = placement.inner;
    let spec = placement.model.compat;
    let name = model.name();
    let compat = match model {
        LatencyModelName::Roofline => {
            let deployment = placement.inner.deploy(strictness)?;
            let time = deployment.step_model().step_time(batch);
            time.check(strictness).map_err(Error::uncertain_part)?;
            return Ok(time.into());
        }
        _ if kv_dtype.name() != "bf16" => {
            return Err(Error::new(format!(
                "--kv-dtype: the {name} model knows only bf16, found {}; use --latency-model roofline",
                kv_dtype
            )));
        }
        _ if placement.model.dtype.is_some() => {
            return Err(Error::new(format!(
                "--dtype: the {name} model does not know formats of weights; use --latency-model \
                 roofline"
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
    let refused = |error: CompatError| {
        let served = &placement.model;
        Error::new(format!("{served}, {name} model: {error}"))
    };
    let time = compat.map_err(refused)?;
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
}

struct Part {
    name: &'static str,
    time: Seconds,
    binding: Option<Binding>,
    /// Where it comes from, where the model says so.
    source: Option<TimeSource>,
}

impl From<StepTime> for Answer {
    fn from(time: StepTime) -> Answer {
        let part = |part: PartTime| Part {
            name: part.part.name(),
            time: part.time,
            binding: Some(part.binding),
            source: Some(part.source),
        };
        Answer {
            total: time.total(),
            parts: time.parts().map(part).collect(),
            binding: Some(time.binding()),
            provenance: time.provenance(),
            fitted_share: Some(time.fitted_share()),
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
        };
        Answer {
            total: time.total(),
            parts: time.parts().map(part).collect(),
            binding: None,
            provenance: Some(time.provenance()),
            fitted_share: None,
        }
    }
}

/// A step and how long it takes.
struct Step<'s> {
    model: LatencyModelName,
    placement: &'s Placement,
    batch: StepBatch<'s>,
    answer: Answer,
}

impl Step<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) -> std::fmt::Result {
        let name = self.model.name();
        writeln!(text, "One step of {}, {name} model\n", self.placement)?;
        text.push_str(&wrapped("batch", &self.describe_batch()));
        text.push_str(&wrapped("tables", &self.tables()));
        text.push('\n');
        text.write_str(&self.grid().render(2))?;
        match self.rule() {
            None => Ok(()),
            Some(rule) => write!(text, "\n{}", wrapped("total", &rule)),
        }
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
        let set = &self.placement.set;
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
        let mut grid = Grid::new(&[
            ("part", Align::Left),
            ("ms", Align::Right),
            ("share", Align::Right),
            ("bound by", Align::Left),
            ("origin", Align::Left),
        ]);
        let named = |binding: &Option<Binding>| binding.map_or("-", Binding::name).to_owned();
        for part in parts {
            grid.row(vec![
                part.name.to_owned(),
                number(part.time.ms(), 3),
                match self.rule().is_none() {
                    true => format!("{:.1} %", 100.0 * part.time.0 / total.0),
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
        let Answer {
            total,
            parts,
            binding,
            provenance,
            fitted_share,
        } = &self.answer;
        json(&StepJson {
            model: &self.placement.model.name,
            gpu: self.placement.set.name(),
            tp: self.placement.inner.tp,
            // The predecessors' models know no engine.
            engine: matches!(self.model, LatencyModelName::Roofline)
                .then_some(self.placement.inner.engine.name),
            weights: rooflut_report::Weights::from(&self.placement.inner.model.spec),
            latency_model: self.model.name(),
            prefill_tokens: self.batch.prefill_tokens(),
            decode_requests: self.batch.decode_requests(),
            decode_kv_tokens: self.batch.decode_kv_tokens(),
            total_ms: total.ms(),
            parts,
            part_details: parts,
            binding: binding.map(Binding::name),
            provenance: (*provenance).into(),
            fitted_share: *fitted_share,
        })
    }
}

#[derive(Serialize)]
struct StepJson<'s> {
    model: &'s str,
    gpu: &'s str,
    tp: u32,
    engine: Option<&'static str>,
    #[serde(flatten)]
    weights: rooflut_report::Weights,
    latency_model: &'static str,
    prefill_tokens: u64,
    decode_requests: u64,
    decode_kv_tokens: u64,
    total_ms: f64,
    /// Milliseconds.
    #[serde(serialize_with = "as_map")]
    parts: &'s [Part],
    #[serde(serialize_with = "as_detailed_map")]
    part_details: &'s [Part],
    binding: Option<&'static str>,
    /// The worst of what was looked up.
    #[serde(flatten)]
    provenance: rooflut_report::Provenance,
    /// None where the model does not say.
    fitted_share: Option<f64>,
}

fn as_map<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parts.iter().map(|part| (part.name, part.time.ms())))
}

/// A part, as JSON has it.
#[derive(Serialize)]
struct PartJson {
    ms: f64,
    /// None where the model does not say.
    binding: Option<&'static str>,
    /// `tables`, `fitted` or `both`; none where the model does not say.
    source: Option<&'static str>,
    /// None where the model does not say.
    fitted_share: Option<f64>,
    #[serde(flatten)]
    provenance: rooflut_report::Provenance,
}

fn as_detailed_map<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
    let detailed = |part: &Part| PartJson {
        ms: part.time.ms(),
        binding: part.binding.map(Binding::name),
        source: part.source.map(
            |source| match (source.provenance(), source.fitted_share()) {
                (None, _) => "fitted",
                (Some(_), 0.0) => "tables",
                (Some(_), _) => "both",
            },
        ),
        fitted_share: part.source.map(TimeSource::fitted_share),
        provenance: part.source.and_then(TimeSource::provenance).into(),
    };
    serializer.collect_map(parts.iter().map(|part| (part.name, detailed(part))))
}
