//! The highest rate that servers keep up with.

use std::ffi::c_char;

use rooflut_plan::RateQuestion;
use serde::Deserialize;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::plan::refused;
use crate::scenario::{Given, ScenarioSource};
use crate::stop::until;
use crate::text::{json, returning};
use crate::wanted::{self, confidence, limits};

/// Limits of a search for a rate: the flags of `rooflut saturate`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    goodput: Option<Vec<String>>,
    attainment: Option<f64>,
    confidence: Option<f64>,
    tolerance: Option<f64>,
}

/// Finds the highest rate that the servers of a scenario serve within limits, and returns a text of JSON: what
/// `rooflut saturate --json` prints. Where no rate meets the limits, `within_limits` is null.
///
/// `wanted` is an object of JSON, or empty: `goodput`, a list of limits such as `"ttft:500"` or `"tpot:20@p95"`
/// (without it, the servers must only keep up), `attainment`, `confidence`, `tolerance`. `stop` is a stop
/// or 0. Takes seconds, on all processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_saturate(
    source: *const ScenarioSource,
    wanted: *const c_char,
    wanted_length: usize,
    stop: Handle,
    saturation: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let given = unsafe { Given::new(source) }?;
        // SAFETY: the caller's promise.
        let wanted: Wanted = unsafe { wanted::read(wanted, wanted_length) }?;
        let scenario = given.scenario()?;
        let resources = given.objects.resources(&scenario)?;
        let mut question = RateQuestion::new(scenario, resources);
        question.limits = match (&wanted.goodput, wanted.attainment) {
            (Some(goodput), attainment) => Some(limits(goodput, attainment)?),
            (None, None) => None,
            (None, Some(_)) => {
                return Err(Failure::refused(
                    "wanted: attainment: expected goodput beside it, found none; give limits",
                ));
            }
        };
        question.confidence = confidence(wanted.confidence)?;
        question.tolerance = wanted.tolerance.unwrap_or(RateQuestion::TOLERANCE);
        let saturation = until(stop, |stop| {
            question.stop = stop;
            question.saturate().map_err(refused)
        })?;
        json(&saturation)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((saturation, "saturation"), error, make) }
}
