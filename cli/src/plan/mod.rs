//! `rooflut plan`: the cheapest deployment that meets latency limits.

mod costs;
mod excluded;
mod rates;
mod text;

pub(crate) use rates::RatePlans;
pub(crate) use text::lasting;

use rooflut::table::TableSet;
use rooflut_plan::{Plan, Question, Space};
use rooflut_scenario::{Kind, Scenario, Stop, Target, names_file};

use crate::args::{Choices, PlanArgs};
use crate::error::Error;
use crate::html::HtmlFile;
use crate::input;
use crate::model_source;
use crate::output::{Answered, count, percent, plural, to_json};
use crate::prices;
use crate::table_set;
use rates::{RatePlan, Varied};

/// Name of an answer in a report.
const NAME: &str = "rooflut plan";

/// Answers with the cheapest deployments, at each of several rates or speeds, and with an error if none meets the limits.
pub(crate) fn run(args: &PlanArgs, stop: Stop, command: &str) -> Result<Answered, Error> {
    let html = args.html.open()?;
    let mut scenario = Scenario::default();
    scenario.target = args.target.clone();
    scenario.workload = args.workload.clone();
    scenario.server = args.server.clone();
    scenario.output.strict = args.limits.strict;
    args.prices.add_to(&mut scenario.output);
    let notes = args.vllm.put_under(&mut scenario)?;
    // The plan chooses the number of servers.
    (scenario.server.replicas, scenario.server.router) = (args.server.replicas, args.server.router);
    // A base is for the data sheets among the GPUs.
    if let Some(sheet) = args.choices.gpu.iter().find(|gpu| names_file(gpu)) {
        scenario.target.gpu = Some(sheet.clone());
    }
    let (target, server) = (scenario.target.clone(), scenario.server.clone());
    let (target, choices) = (&target, args.choices.or(&scenario));
    // Where there are formats to choose from, its file is read in its own.
    let options = match choices.dtype.len() + choices.kv_dtype.len() {
        0 | 1 => model_source::options(target),
        _ => model_source::draft_options(target),
    };
    let model = model_source::find(target.model(), options)?;
    let draft =
        server.draft_model().map(|name| model_source::find(name, model_source::draft_options(target))).transpose()?;
    let models: Vec<_> = [&model].into_iter().chain(&draft).collect();
    model_source::check(target, &models)?;
    let mut question = Question::new(
        scenario,
        model.model.clone(),
        &input::open,
        space(args, target, &choices, &model.model.spec)?,
        args.limits.limits()?,
    );
    question.prices = Some(prices::find(&args.prices, &question.space.tables)?);
    question.draft_model = draft.as_ref().map(|draft| draft.model.clone());
    question.confidence = args.limits.confidence;
    question.count = args.count as usize;
    question.stop = stop;
    let mut ask = |varied: Option<Varied>| -> Result<Plan, Error> {
        match varied {
            Some(Varied::Rate(rate)) => question.scenario.workload.rate = Some(rate),
            Some(Varied::TraceSpeed(speed)) => question.scenario.workload.trace_speed = Some(speed),
            None => {}
        }
        let mut plan = question.plan()?;
        let named = models.iter().flat_map(|model| model.notes());
        plan.notes.splice(..0, notes.iter().cloned().chain(named));
        Ok(plan)
    };
    let (rates, speeds) = (&args.choices.rate, &args.choices.trace_speed);
    // Rates and speeds exclude each other, as rates and traces do.
    let varied: Vec<Varied> = match speeds.len() {
        0 | 1 => rates.iter().copied().map(Varied::Rate).collect(),
        _ => speeds.iter().copied().map(Varied::TraceSpeed).collect(),
    };
    if varied.len() > 1 {
        let plans = varied.into_iter().map(|varied| Ok(RatePlan { varied, plan: ask(Some(varied))? }));
        let plans = RatePlans { plans: plans.collect::<Result<_, Error>>()? };
        return HtmlFile::of_answer(html, plans.answered(args)?, NAME, || to_json(&plans), command);
    }
    let plan = ask(None)?;
    let answer = Answered {
        text: if args.json { to_json(&plan)? } else { text::text(&plan, args)? },
        failure: failure(&plan, args),
    };
    HtmlFile::of_answer(html, answer, NAME, || to_json(&plan), command)
}

/// The deployments to choose from.
fn space(args: &PlanArgs, target: &Target, given: &Choices, spec: &rooflut::model::ModelSpec) -> Result<Space, Error> {
    let tables: Vec<TableSet> = match given.gpu.as_slice() {
        [] => vec![table_set::find(table_set::of(target))?],
        names if target.tables.is_none() => {
            let found = names.iter().map(|name| table_set::find(table_set::of_gpu(name, target)));
            found.collect::<Result<_, _>>()?
        }
        _ => {
            return Err(Error::new("expected either --gpu NAME or --tables PATH, found both; see --help"));
        }
    };
    let mut space = Space::new(spec, tables);
    replace(&mut space.tp, &given.tp, |tp| tp);
    replace(&mut space.dp, &given.dp, |dp| dp);
    replace(&mut space.pp, &given.pp, Some);
    replace(&mut space.dtype, &given.dtype, Some);
    replace(&mut space.kv_dtype, &given.kv_dtype, Some);
    replace(&mut space.max_num_seqs, &given.max_num_seqs, Some);
    replace(&mut space.max_num_batched_tokens, &given.max_num_batched_tokens, Some);
    if let Some(expert_parallel) = target.expert_parallel {
        space.expert_parallel = vec![expert_parallel];
    }
    space.max_gpus = args.max_gpus;
    Ok(space)
}

/// Replaces choices by those that are given, if there are any.
fn replace<T, U: Copy>(choices: &mut Vec<T>, given: &[U], choice: fn(U) -> T) {
    if !given.is_empty() {
        *choices = given.iter().copied().map(choice).collect();
    }
}

/// The error of a plan without a deployment.
fn failure(plan: &Plan, args: &PlanArgs) -> Option<Error> {
    if !plan.deployments.is_empty() {
        return None;
    }
    if let Some(least) = plan.least_gpus.filter(|least| *least > args.max_gpus) {
        return Some(not_met(format!(
            "the load takes at least {} by step times alone, but --max-gpus allows {}; raise --max-gpus or lower {}",
            plural(least.into(), "GPU"),
            count(args.max_gpus.into()),
            if args.workload.trace.is_some() { "--trace-speed" } else { "--rate" }
        )));
    }
    let nearest = plan.nearest.as_ref().map(|nearest| {
        let missed = match (&nearest.binding, nearest.headroom) {
            _ if nearest.overloaded > 0 => "is overloaded".to_owned(),
            _ if nearest.rejected > 0 && nearest.scenario.workload.patience.is_some() => {
                "rejects requests, or keeps clients waiting until they give up".to_owned()
            }
            _ if nearest.rejected > 0 => "rejects requests".to_owned(),
            (Some(limit), Some(left)) => format!("misses {limit} by {}", percent(-100.0 * left)),
            _ => "serves no request".to_owned(),
        };
        format!("; the nearest, {} on {}, {missed}", text::servers(nearest), nearest.gpu_name)
    });
    Some(not_met(format!(
        "no deployment of up to {} meets the limits{}; relax them, or allow other GPUs, formats or a higher \
         --max-gpus",
        plural(args.max_gpus.into(), "GPU"),
        nearest.unwrap_or_default()
    )))
}

fn not_met(message: String) -> Error {
    Error::of(Kind::NotMet, message)
}
