//! Plans: the cheapest deployment within limits.

use std::ffi::c_char;

use rooflut::hardware::Dtype;
use rooflut::interval::Coverage;
use rooflut::table::TableSet;
use rooflut_plan::{Limits, Question, Space};
use serde::Deserialize;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::text;
use crate::scenario::{Given, ScenarioSource, open};
use crate::tables;
use crate::text::{json, returning};

/// Limits and choices of a plan, as JSON: the flags of `rooflut plan`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    goodput: Vec<String>,
    attainment: Option<f64>,
    confidence: Option<f64>,
    #[serde(default = "max_gpus")]
    max_gpus: u32,
    #[serde(default = "count")]
    count: usize,
    gpu: Option<Vec<String>>,
    tp: Option<Vec<u32>>,
    dp: Option<Vec<u32>>,
    expert_parallel: Option<Vec<bool>>,
    dtype: Option<Vec<Dtype>>,
    kv_dtype: Option<Vec<Dtype>>,
    max_num_seqs: Option<Vec<u32>>,
    max_num_batched_tokens: Option<Vec<u32>>,
}

fn max_gpus() -> u32 {
    Space::MAX_GPUS
}

fn count() -> usize {
    3
}

/// Finds the deployments with the fewest GPUs that meet limits under the load of a scenario, and returns a text of
/// JSON: what `rooflut plan --json` prints.
///
/// `wanted` is an object of JSON: `goodput`, a list of limits such as `"ttft:500"` or `"tpot:20@p95"`, and optionally
/// `attainment`, `confidence`, `max_gpus`, `count`, and lists of choices: `gpu`, `tp`, `dp`, `expert_parallel`,
/// `dtype`, `kv_dtype`, `max_num_seqs`, `max_num_batched_tokens`. Takes seconds, on all processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_plan(
    source: *const ScenarioSource,
    wanted: *const c_char,
    wanted_length: usize,
    plan: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let (given, wanted) =
            unsafe { (Given::new(source)?, text(wanted, wanted_length, "wanted")?) };
        let wanted: Wanted = serde_json::from_str(wanted)
            .map_err(|error| Failure::refused(format_args!("wanted: {error}")))?;
        let limits = wanted.limits()?;
        let space = wanted.space(&given)?;
        let Given {
            scenario,
            model,
            draft_model,
            ..
        } = given;
        let mut question = Question::new(scenario, model, &open, space, limits);
        question.draft_model = draft_model;
        question.count = wanted.count;
        let confidence = wanted.confidence.map(Coverage::try_new).transpose();
        question.confidence = confidence
            .map_err(|error| Failure::refused(format_args!("wanted: confidence: {error}")))?;
        json(&question.plan().map_err(Failure::refused)?)
    };
    // SAFETY: the caller's promise.
    unsafe { returning(plan, error, make) }
}

impl Wanted {
    fn limits(&self) -> Result<Limits, Failure> {
        let limits = self.goodput.iter().map(|limit| limit.parse());
        let limits = limits.collect::<Result<_, _>>();
        let limits = limits.and_then(|limits| Limits::try_new(limits, self.attainment));
        limits.map_err(|error| Failure::refused(format_args!("wanted: goodput: {error}")))
    }

    /// The deployments to choose from.
    fn space(&self, given: &Given) -> Result<Space, Failure> {
        let tables: Vec<TableSet> = match &self.gpu {
            None => vec![given.tables()?],
            Some(names) => {
                let found = names.iter().map(|name| tables::find(name).cloned());
                found.collect::<Result<_, _>>()?
            }
        };
        let mut space = Space::new(&given.model.spec, tables);
        replace(&mut space.tp, &self.tp, |tp| tp);
        replace(&mut space.dp, &self.dp, |dp| dp);
        replace(&mut space.expert_parallel, &self.expert_parallel, |whole| {
            whole
        });
        replace(&mut space.dtype, &self.dtype, Some);
        replace(&mut space.kv_dtype, &self.kv_dtype, Some);
        replace(&mut space.max_num_seqs, &self.max_num_seqs, Some);
        replace(
            &mut space.max_num_batched_tokens,
            &self.max_num_batched_tokens,
            Some,
        );
        space.max_gpus = self.max_gpus;
        Ok(space)
    }
}

/// Replaces choices by those that are given.
fn replace<T, U: Copy>(choices: &mut Vec<T>, given: &Option<Vec<U>>, choice: fn(U) -> T) {
    if let Some(given) = given {
        *choices = given.iter().copied().map(choice).collect();
    }
}
