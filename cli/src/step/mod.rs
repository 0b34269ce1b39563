//! `rooflut step`: one engine step, part by part.

mod answer;
mod output;

use rooflut::model::{Ffn, LayerGroup};
use rooflut::step::compat::{Blis, Calibrated, CompatSpec, InferSim};
use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel};
use rooflut_inspect::Corrected;
use rooflut_scenario::{Placement, RunError};

use crate::args::{LatencyModelName, StepArgs};
use crate::error::Error;
use crate::{flagged, model_source, table_set};
use answer::Answer;
use output::{Memory, Step};

#[cfg(feature = "schema")]
pub(crate) use output::StepJson;

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
    let span = placement.model.spec.limited_span();
    let decode = args.decode.iter().map(|group| {
        let outside = kv_len(group) - span.keys(kv_len(group));
        let outside = u64::from(group.requests()) * u64::from(outside);
        group.with_outside(outside).unwrap_or(*group)
    });
    let decode: Vec<DecodeGroup> = decode.collect();
    let batch = StepBatch {
        prefill: &args.prefill,
        decode: &decode,
    };
    let longest = longest_request(&batch);
    let answer = ask(args, &placement, named.compat, &batch)?;
    let step = Step {
        model: args.latency_model,
        placement: &placement,
        notes: named.notes().chain(placement.notes.clone()).collect(),
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

/// Returns the tokens of the longest request.
fn longest_request(batch: &StepBatch<'_>) -> u32 {
    let prompts = batch.prefill.iter().map(Chunk::kv_len);
    let longest = prompts.chain(batch.decode.iter().map(kv_len));
    longest.max().unwrap_or(0)
}

/// Returns the KV length of each request of the group, which are all alike.
fn kv_len(group: &DecodeGroup) -> u32 {
    let kv_len = group.kv_tokens() / u64::from(group.requests()).max(1);
    u32::try_from(kv_len).unwrap_or(u32::MAX)
}

/// Whether the FFN of the layers has no gate.
fn is_ungated(group: &LayerGroup) -> bool {
    matches!(group.ffn, Ffn::Dense { gated: false, .. })
}

fn ask(
    args: &StepArgs,
    placement: &Placement,
    spec: CompatSpec,
    batch: &StepBatch<'_>,
) -> Result<Answer, Error> {
    if matches!(args.latency_model, LatencyModelName::Roofline) {
        return roofline(args, placement, batch);
    }
    check_known(args, placement, batch)?;
    let (set, tp) = (&placement.tables, placement.parallelism.tp);
    let time = match args.latency_model {
        LatencyModelName::Infersim => {
            InferSim::try_new(spec, set, tp, tp).and_then(|model| model.try_step_time(batch))
        }
        LatencyModelName::Blis => {
            Blis::try_new(spec, set, tp).and_then(|model| model.try_step_time(batch))
        }
        LatencyModelName::Roofline | LatencyModelName::Calibrated => {
            Calibrated::try_new(spec, set.gpu(), tp).and_then(|model| model.try_step_time(batch))
        }
    };
    let (model, name) = (&placement.model, args.latency_model.name());
    let time = time.map_err(|error| Error::new(format!("{model}, {name} model: {error}")))?;
    args.strict
        .check(time.provenance())
        .map_err(Error::uncertain)?;
    Ok(time.into())
}

fn roofline(
    args: &StepArgs,
    placement: &Placement,
    batch: &StepBatch<'_>,
) -> Result<Answer, Error> {
    let deployment = placement.deploy(args.strict)?;
    let time = deployment.step_model().step_time(batch);
    time.check(args.strict).map_err(Error::uncertain_part)?;
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
        ..time.into()
    })
}

/// Refuses what the models of the predecessors do not know.
fn check_known(args: &StepArgs, placement: &Placement, batch: &StepBatch<'_>) -> Result<(), Error> {
    let (kv_dtype, spec) = (placement.kv_dtype, &placement.model.spec);
    let (span, longest) = (spec.limited_span(), longest_request(batch));
    let parallelism = placement.parallelism;
    #[rustfmt::skip] // A case per line.
    let unknown = [
        (args.interval.is_some(), "--interval: the errors of the NAME model are not known".to_owned()),
        (kv_dtype.name() != "bf16", format!("--kv-dtype: the NAME model knows only bf16, found {kv_dtype}")),
        (spec.layers.iter().any(is_ungated), "--model: the NAME model knows only FFNs with a gate".to_owned()),
        (span.keys(longest) < longest, format!(
            "--model: the NAME model knows only attention to all tokens, found {span} and a request of {longest} tokens")),
        (args.target.dtype.is_some(), "--dtype: the NAME model does not know formats of weights".to_owned()),
        (parallelism.expert_parallel, "--expert-parallel: the NAME model does not know expert parallelism".to_owned()),
        (parallelism.pp > 1, "--pp: the NAME model does not know pipeline parallelism".to_owned()),
        (parallelism.dp > 1, "--dp: the NAME model does not know data parallelism".to_owned()),
        (args.target.sampler.is_some(), "--sampler: the NAME model does not know samplers".to_owned()),
    ];
    match unknown.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, problem)) => {
            let problem = problem.replace("NAME", args.latency_model.name());
            let message = format!("{problem}; use --latency-model roofline");
            Err(Error::new(message))
        }
        None => Ok(()),
    }
}
