//! `rooflut step`: one engine step, part by part.

mod answer;
mod output;

use rooflut::model::{Ffn, LayerGroup, Parallelism};
use rooflut::step::compat::{Blis, Calibrated, CompatSpec, InferSim};
use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel};
use rooflut_inspect::Corrected;
use rooflut_scenario::{Placement, RunError};

use crate::args::{LatencyModelName, StepArgs};
use crate::error::Error;
use crate::{flagged, model_source, table_set};
use answer::Answer;
use output::{Memory, Step};

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
    let (kv_dtype, set) = (placement.kv_dtype, &placement.tables);
    let Parallelism {
        tp,
        dp,
        pp,
        expert_parallel,
        ..
    } = placement.parallelism;
    let (strictness, name) = (args.strict, args.latency_model.name());
    let span = placement.model.spec.limited_span();
    let longest = longest_request(batch);
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
            let gpus_per_node = placement.network.gpus_per_node;
            let has_errors = pp == 1 && placement.parallelism.gpus() <= gpus_per_node;
            if !has_errors && args.interval.is_some() {
                return Err(Error::new(
                    "--interval: no measurement shows the errors of pipelines or of several nodes; leave it out",
                ));
            }
            let coverage = args.interval.unwrap_or_default();
            let interval = has_errors.then(|| (coverage, time.interval(coverage)));
            let stages = deployment.step_model().stage_times(batch);
            return Ok(Answer {
                flagged: rows.collect(),
                interval,
                stages: stages.map(|stage| stage.total()).collect(),
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
        _ if placement.model.spec.layers.iter().any(is_ungated) => {
            return Err(Error::new(format!(
                "--model: the {name} model knows only FFNs with a gate; use --latency-model roofline"
            )));
        }
        _ if span.keys(longest) < longest => {
            return Err(Error::new(format!(
                "--model: the {name} model knows only attention to all tokens, found {span} and a request of {longest} \
                 tokens; use --latency-model roofline"
            )));
        }
        _ if args.target.dtype.is_some() => {
            return Err(Error::new(format!(
                "--dtype: the {name} model does not know formats of weights; use --latency-model \
                 roofline"
            )));
        }
        _ if expert_parallel => {
            return Err(Error::new(format!(
                "--expert-parallel: the {name} model does not know expert parallelism; use --latency-model roofline"
            )));
        }
        _ if pp > 1 => {
            return Err(Error::new(format!(
                "--pp: the {name} model does not know pipeline parallelism; use --latency-model roofline"
            )));
        }
        _ if dp > 1 => {
            return Err(Error::new(format!(
                "--dp: the {name} model does not know data parallelism; use --latency-model roofline"
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
