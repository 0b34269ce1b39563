//! `rooflut-lab step`: one engine step, as the predecessors time it.

use rooflut::model::{self, Ffn, LayerGroup};
use rooflut_cli::step::{Answer, Asked, Part, TimedBy, longest_request};
use rooflut_predecessors::step::{Blis, Calibrated, CompatPart, CompatSpec, CompatTime, InferSim};

use crate::args::{LatencyModelName, PredecessorArgs};
use crate::error::Error;
use crate::output::Answered;
use crate::table_set;

/// Times the step and answers with the text to print.
pub(crate) fn run(args: &PredecessorArgs, command: &str) -> Result<Answered, Error> {
    let asked = Asked::try_new(&args.step, table_set::find)?;
    check_known(args, &asked)?;
    let (placement, batch) = (&asked.placement, asked.batch());
    let (set, tp) = (&placement.tables, placement.parallelism.tp);
    let spec = spec(args, &asked);
    let time = match args.latency_model {
        LatencyModelName::Infersim => {
            InferSim::try_new(spec, set, tp, tp).and_then(|model| model.try_step_time(&batch))
        }
        LatencyModelName::Blis => Blis::try_new(spec, set, tp).and_then(|model| model.try_step_time(&batch)),
        LatencyModelName::Calibrated => {
            Calibrated::try_new(spec, set.gpu(), tp).and_then(|model| model.try_step_time(&batch))
        }
    };
    let name = args.latency_model.name();
    let time = time.map_err(|error| Error::new(format!("{}, {name} model: {error}", placement.model)))?;
    args.step.strict.check(time.provenance()).map_err(rooflut_scenario::uncertain)?;
    let model = TimedBy {
        name,
        engine: None,
        tables: match args.latency_model {
            LatencyModelName::Calibrated => {
                format!("none: fitted constants of {}", set.gpu().name.as_str())
            }
            _ => asked.tables(),
        },
        rule: rule(args, &time),
    };
    asked.show(&args.step, model, answer(&time), command)
}

/// Returns the dimensions that the predecessors read.
fn spec(args: &PredecessorArgs, asked: &Asked) -> CompatSpec {
    match (model::find(args.step.target.model()), asked.dense_intermediate) {
        (Some(entry), _) => entry.into(),
        (None, Some(size)) => CompatSpec::from(&asked.placement.model.spec).with_dense_intermediate(size),
        (None, None) => CompatSpec::from(&asked.placement.model.spec),
    }
}

/// Returns the time of a predecessor, which knows neither what binds a part nor its errors.
fn answer(time: &CompatTime) -> Answer {
    let part =
        |(part, time): (CompatPart, _)| Part { name: part.name(), time, binding: None, source: None, errors_set: None };
    Answer {
        total: time.total(),
        parts: time.parts().map(part).collect(),
        binding: None,
        provenance: Some(time.provenance()),
        fitted_share: None,
        interval: None,
        stages: Vec::new(),
        kernels: Vec::new(),
        flagged: Vec::new(),
    }
}

/// Returns how the total follows from the parts, where it is not their sum.
///
/// Source: `rooflut_predecessors::step`, whose models these are.
fn rule(args: &PredecessorArgs, time: &CompatTime) -> Option<String> {
    let (has_prefill, has_decode) = (!args.step.prefill.is_empty(), !args.step.decode.is_empty());
    let phase = |name: &str| format!("the longer of {name}_compute and {name}_memory");
    let phases = match (args.latency_model, has_prefill, has_decode) {
        (LatencyModelName::Infersim, ..) => return None,
        (_, true, false) => phase("prefill"),
        (_, false, _) => phase("decode"),
        (LatencyModelName::Blis, true, true) => {
            "the longest of prefill_compute, prefill_memory, decode_compute and decode_memory".to_owned()
        }
        (LatencyModelName::Calibrated, true, true) => format!(
            "the mean of prefill ({}) and decode ({}), weighted by their tokens, or by fixed shares where one has far \
             more",
            phase("prefill"),
            phase("decode")
        ),
    };
    let has_all_reduce = time.parts().any(|(part, _)| part == CompatPart::AllReduce);
    let all_reduce = if has_all_reduce { ", plus all_reduce" } else { "" };
    Some(format!("{phases}{all_reduce}, plus overhead; in whole microseconds"))
}

/// Whether the FFN of the layers has no gate.
fn is_ungated(group: &LayerGroup) -> bool {
    matches!(group.ffn, Ffn::Dense { gated: false, .. })
}

/// Refuses what the models of the predecessors do not know.
fn check_known(args: &PredecessorArgs, asked: &Asked) -> Result<(), Error> {
    let (placement, step) = (&asked.placement, &args.step);
    let (kv_dtype, spec) = (placement.kv_dtype, &placement.model.spec);
    let (span, longest) = (spec.limited_span(), longest_request(&asked.batch()));
    let parallelism = placement.parallelism;
    #[rustfmt::skip] // A case per line.
    let unknown = [
        (step.interval.is_some(), "--interval: the errors of the NAME model are not known".to_owned()),
        (kv_dtype.name() != "bf16", format!("--kv-dtype: the NAME model knows only bf16, found {kv_dtype}")),
        (spec.layers.iter().any(is_ungated), "--model: the NAME model knows only FFNs with a gate".to_owned()),
        (span.keys(longest) < longest, format!(
            "--model: the NAME model knows only attention to all tokens, found {span} and a request of {longest} tokens")),
        (step.target.dtype.is_some(), "--dtype: the NAME model does not know formats of weights".to_owned()),
        (parallelism.expert_parallel, "--expert-parallel: the NAME model does not know expert parallelism".to_owned()),
        (parallelism.pp > 1, "--pp: the NAME model does not know pipeline parallelism".to_owned()),
        (parallelism.dp > 1, "--dp: the NAME model does not know data parallelism".to_owned()),
        (step.target.sampler.is_some(), "--sampler: the NAME model does not know samplers".to_owned()),
    ];
    match unknown.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, problem)) => {
            let problem = problem.replace("NAME", args.latency_model.name());
            let message = format!("{problem}; use rooflut step");
            Err(Error::new(message))
        }
        None => Ok(()),
    }
}
