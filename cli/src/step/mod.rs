//! `rooflut step`: one engine step, part by part.

mod answer;
mod output;

use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel};
use rooflut::table::TableSet;
use rooflut_inspect::Corrected;
use rooflut_scenario::Placement;

pub use crate::args::StepArgs;
use crate::error::Error;
use crate::html::HtmlFile;
use crate::input;
use crate::output::Answered;
use crate::table_set::WhichSet;
use crate::{flagged, model_source, table_set};
pub use answer::{Answer, Part};
use output::{Memory, Step};

#[cfg(feature = "schema")]
pub(crate) use output::StepJson;

/// Times the step and answers with the text to print.
pub(crate) fn run(args: &StepArgs, command: &str) -> Result<Answered, Error> {
    let asked = Asked::try_new(args, table_set::find)?;
    let answer = roofline(args, &asked.placement, &asked.batch())?;
    let model =
        TimedBy { name: "roofline", engine: Some(asked.placement.engine.name), tables: asked.tables(), rule: None };
    asked.show(args, model, answer, command)
}

/// A step that is asked for.
pub struct Asked {
    /// The model on its GPUs.
    pub placement: Placement,
    /// The `intermediate_size` of a `config.json` that gives the size of experts apart.
    pub dense_intermediate: Option<u32>,
    notes: Vec<String>,
    prefill: Vec<Chunk>,
    decode: Vec<DecodeGroup>,
}

/// The model that times a step.
pub struct TimedBy {
    /// Its name.
    pub name: &'static str,
    /// The engine, if the model knows one.
    pub engine: Option<&'static str>,
    /// The tables that the model reads.
    pub tables: String,
    /// How the total follows from the parts, if it is not the sum of the parts.
    pub rule: Option<String>,
}

impl Asked {
    /// Finds the model, and the tables by `find`.
    ///
    /// # Errors
    /// A step without tokens, and a target that cannot be.
    pub fn try_new(args: &StepArgs, find: impl Fn(WhichSet<'_>) -> Result<TableSet, Error>) -> Result<Asked, Error> {
        args.target.check()?;
        if args.prefill.is_empty() && args.decode.is_empty() {
            let message = "an empty step; give at least one --prefill NEW[@CONTEXT] or --decode REQUESTSxKV";
            return Err(Error::new(message));
        }
        let options = model_source::options(&args.target);
        let named = model_source::find(args.target.model(), options)?;
        model_source::check(&args.target, &[&named])?;
        let tables = find(table_set::of(&args.target))?;
        let engine = args.target.find_engine(&input::open)?;
        let placement = Placement::try_new(&args.target, named.model.clone(), tables, &engine)
            .map_err(|error| model_source::with_keys(error, &args.target, &[&named]))?;
        let span = placement.model.spec.limited_span();
        let decode = args.decode.iter().map(|group| {
            let outside = kv_len(group) - span.keys(kv_len(group));
            let outside = u64::from(group.requests()) * u64::from(outside);
            group.with_outside(outside).unwrap_or(*group)
        });
        Ok(Asked {
            dense_intermediate: named.dense_intermediate,
            notes: named.notes().chain(placement.notes.clone()).collect(),
            prefill: args.prefill.clone(),
            decode: decode.collect(),
            placement,
        })
    }

    /// Returns the batch of the step.
    pub fn batch(&self) -> StepBatch<'_> {
        StepBatch { prefill: &self.prefill, decode: &self.decode }
    }

    /// Returns the name of the table set, and the engine that was measured.
    pub fn tables(&self) -> String {
        let set = &self.placement.tables;
        format!("{}: {}", set.name(), set.origin().engine.as_str())
    }

    /// Returns the answer of a model as text or JSON, and writes its report if one is asked for.
    ///
    /// # Errors
    /// JSON or the report cannot be written.
    pub fn show(&self, args: &StepArgs, model: TimedBy, answer: Answer, command: &str) -> Result<Answered, Error> {
        let batch = self.batch();
        let step = Step {
            model,
            placement: &self.placement,
            notes: self.notes.clone(),
            memory: Memory::of(&self.placement, &batch),
            longest: longest_request(&batch),
            batch,
            answer,
        };
        let text = if args.json { step.json()? } else { step.text() };
        HtmlFile::of_answer(args.html.open()?, text.into(), "rooflut step", || step.json(), command)
    }
}

/// Returns the tokens of the longest request.
pub fn longest_request(batch: &StepBatch<'_>) -> u32 {
    let prompts = batch.prefill.iter().map(Chunk::kv_len);
    let longest = prompts.chain(batch.decode.iter().map(kv_len));
    longest.max().unwrap_or(0)
}

/// Returns the KV length of each request of the group, which are all alike.
fn kv_len(group: &DecodeGroup) -> u32 {
    let kv_len = group.kv_tokens() / u64::from(group.requests()).max(1);
    u32::try_from(kv_len).unwrap_or(u32::MAX)
}

fn roofline(args: &StepArgs, placement: &Placement, batch: &StepBatch<'_>) -> Result<Answer, Error> {
    let deployment = placement.deploy(args.strict)?;
    let time = deployment.step_model().step_time(batch);
    time.check(args.strict).map_err(rooflut_scenario::uncertain_part)?;
    let corrected = Corrected::all(&deployment).into_iter();
    let rows = corrected.filter_map(|corrected| {
        let parts = corrected.changed_parts(&deployment, batch);
        (!parts.is_empty()).then(|| flagged::row(&corrected.flagged, &parts))
    });
    let parallelism = placement.parallelism;
    let in_node = parallelism.gpus() <= placement.network.gpus_per_node;
    let has_errors = parallelism.pp == 1 && in_node;
    if !has_errors && args.interval.is_some() {
        return Err(Error::new(
            "--interval: no measurement shows the errors of pipelines or of several nodes; leave it out",
        ));
    }
    let coverage = args.interval.unwrap_or_default();
    let stages = deployment.step_model().stage_times(batch);
    Ok(Answer {
        flagged: rows.collect(),
        interval: has_errors.then(|| (coverage, time.interval(coverage))),
        stages: stages.map(|stage| stage.total()).collect(),
        kernels: deployment.step_model().step_kernels(batch),
        ..time.into()
    })
}
