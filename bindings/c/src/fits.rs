//! Deployments that hold a model in memory.

use std::ffi::c_char;

use rooflut::table::{TableSet, sets};
use rooflut_scenario::{Demand, Fits};
use serde::Deserialize;

use crate::Handle;
use crate::error::Error;
use crate::files::open;
use crate::scenario::{Given, ScenarioSource, prices, refused};
use crate::text::{json, returning};
use crate::wanted;

/// Requests that should fit at the same time: the flags of `rooflut fits`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    batch: Option<u32>,
    context: Option<u32>,
}

/// Lists deployments of a model with the requests that each holds in memory, and returns a text of JSON: what
/// `rooflut fits --json` prints.
///
/// `wanted` is an object of JSON, or empty: `batch`, the number of requests that should fit at the same time, and
/// `context`, the tokens of each. A scenario without `gpu` and `tables` asks for all GPUs, one without `tp` for all
/// that can share the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_fits(
    source: *const ScenarioSource,
    wanted: *const c_char,
    wanted_length: usize,
    fits: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let given = unsafe { Given::new(source) }?;
        // SAFETY: the caller's promise.
        let wanted: Wanted = unsafe { wanted::read(wanted, wanted_length) }?;
        let scenario = given.scenario()?;
        let target = &scenario.target;
        let is_named = given.objects.tables != 0 || target.gpu.is_some() || target.tables.is_some();
        let sets = if is_named { vec![given.objects.tables(&scenario)?] } else { one_for_each_gpu() };
        let demand = Demand { requests: wanted.batch.unwrap_or(1), tokens: wanted.context };
        let model = given.objects.model(&scenario)?;
        let prices = prices(&scenario, &sets)?;
        let engine = target.find_engine(&open).map_err(refused)?;
        let fits = Fits::try_new(target, &scenario.server, &model, &sets, &engine, demand, &prices);
        json(&fits.map_err(refused)?)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((fits, "fits"), error, make) }
}

fn one_for_each_gpu() -> Vec<TableSet> {
    let of_gpu = |set: &&TableSet| set.name() == set.gpu().name.as_str();
    sets::ALL.into_iter().filter(of_gpu).cloned().collect()
}
