//! Plans: the cheapest deployment within limits.

use std::ffi::c_char;

use rooflut::hardware::Dtype;
use rooflut::table::TableSet;
use rooflut_plan::{Question, Space};
use rooflut_scenario::{Model, Scenario};
use serde::Deserialize;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::files::open;
use crate::scenario::{Given, ScenarioSource, prices};
use crate::stop::until;
use crate::tables;
use crate::text::{json, returning};
use crate::wanted::{self, confidence, limits};

/// Limits and choices of a plan: the flags of `rooflut plan`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    goodput: Vec<String>,
    attainment: Option<f64>,
    confidence: Option<f64>,
    max_gpus: Option<u32>,
    count: Option<usize>,
    gpu: Option<Vec<String>>,
    tp: Option<Vec<u32>>,
    dp: Option<Vec<u32>>,
    pp: Option<Vec<u32>>,
    expert_parallel: Option<Vec<bool>>,
    dtype: Option<Vec<Dtype>>,
    kv_dtype: Option<Vec<Dtype>>,
    max_num_seqs: Option<Vec<u32>>,
    max_num_batched_tokens: Option<Vec<u32>>,
}

/// Number of deployments without `count`, as `rooflut plan` has it.
const COUNT: usize = 3;

/// Finds the deployments that meet limits under the load of a scenario: those with the fewest GPUs, or the cheapest if
/// GPUs differ. Returns the JSON text that `rooflut plan --json` prints.
///
/// `wanted` is an object of JSON: `goodput`, a list of limits such as `"ttft:500"` or `"tpot:20@p95"`, and optionally
/// `attainment`, `confidence`, `max_gpus`, `count`, and lists of choices: `gpu`, `tp`, `dp`, `pp`, `expert_parallel`,
/// `dtype`, `kv_dtype`, `max_num_seqs`, `max_num_batched_tokens`. Without such a list, the value in the scenario is the
/// only choice. Prices come from the key `prices` of `[output]`, or are list prices. `stop` is a stop or 0. Takes
/// seconds, on all processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_plan(
    source: *const ScenarioSource,
    wanted: *const c_char,
    wanted_length: usize,
    stop: Handle,
    plan: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let mut question = unsafe { question(source, wanted, wanted_length) }?;
        let plan = until(stop, |stop| {
            question.stop = stop;
            question.plan().map_err(refused)
        })?;
        json(&plan)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((plan, "plan"), error, make) }
}

/// Returns what step times alone say about a plan, as a text of JSON: the fewest GPUs of each kind of server that may
/// meet the limits, and the kinds that cannot. Takes the arguments of `rooflut_plan`, and a fraction of its time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_plan_least(
    source: *const ScenarioSource,
    wanted: *const c_char,
    wanted_length: usize,
    least: *mut Handle,
    error: *mut Error,
) -> u32 {
    // SAFETY: the caller's promise.
    let make = || json(&unsafe { question(source, wanted, wanted_length) }?.least().map_err(refused)?);
    // SAFETY: the caller's promise.
    unsafe { returning((least, "least"), error, make) }
}

/// Reads a question.
///
/// # Safety
/// The pointers are null or valid for reads.
unsafe fn question(
    source: *const ScenarioSource,
    wanted: *const c_char,
    wanted_length: usize,
) -> Result<Question<'static>, Failure> {
    // SAFETY: the caller's promise.
    let given = unsafe { Given::new(source) }?;
    // SAFETY: the caller's promise.
    let wanted: Wanted = unsafe { wanted::read(wanted, wanted_length) }?;
    let scenario = given.scenario()?;
    let model = given.objects.model(&scenario)?;
    let tables = match &wanted.gpu {
        None => vec![given.objects.tables(&scenario)?],
        Some(_) if given.objects.tables != 0 || scenario.target.tables.is_some() => {
            return Err(Failure::refused(
                "wanted: gpu: expected no list beside the given tables, found one; remove one of the two",
            ));
        }
        Some(names) => {
            let found = names.iter().map(|name| tables::find(name).cloned());
            found.collect::<Result<_, _>>()?
        }
    };
    let prices = prices(&scenario, &tables)?;
    let space = wanted.space(&scenario, &model, tables);
    let limits = limits(&wanted.goodput, wanted.attainment)?;
    let draft_model = given.objects.draft_model(&scenario)?;
    let mut question = Question::new(scenario, model, &open, space, limits);
    question.draft_model = draft_model;
    question.count = wanted.count.unwrap_or(COUNT);
    question.confidence = confidence(wanted.confidence)?;
    question.prices = Some(prices);
    Ok(question)
}

pub(crate) fn refused(error: rooflut_plan::Error) -> Failure {
    Failure::refused(format_args!("plan: {error}"))
}

impl Wanted {
    /// The deployments to choose from.
    fn space(&self, scenario: &Scenario, model: &Model, tables: Vec<TableSet>) -> Space {
        let (target, server) = (&scenario.target, &scenario.server);
        let mut space = Space::new(&model.spec, tables);
        choose(&mut space.tp, &self.tp, target.tp, |tp| tp);
        choose(&mut space.dp, &self.dp, target.dp, |dp| dp);
        choose(&mut space.pp, &self.pp, None, Some);
        let (whole, given) = (&mut space.expert_parallel, target.expert_parallel);
        choose(whole, &self.expert_parallel, given, |whole| whole);
        choose(&mut space.dtype, &self.dtype, target.dtype, Some);
        choose(&mut space.kv_dtype, &self.kv_dtype, target.kv_dtype, Some);
        let (seqs, given) = (&mut space.max_num_seqs, server.max_num_seqs);
        choose(seqs, &self.max_num_seqs, given, Some);
        let (tokens, given) = (&mut space.max_num_batched_tokens, server.max_num_batched_tokens);
        choose(tokens, &self.max_num_batched_tokens, given, Some);
        space.max_gpus = self.max_gpus.unwrap_or(Space::MAX_GPUS);
        space
    }
}

/// Replaces choices by those of a list, or by the one of the scenario.
fn choose<T, U: Copy>(choices: &mut Vec<T>, list: &Option<Vec<U>>, of_scenario: Option<U>, choice: fn(U) -> T) {
    let given = list.as_deref().or(of_scenario.as_ref().map(std::slice::from_ref));
    if let Some(given) = given {
        *choices = given.iter().copied().map(choice).collect();
    }
}
