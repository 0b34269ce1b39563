//! Questions to searches, as JSON.

use std::ffi::c_char;

use rooflut::interval::Coverage;
use rooflut_plan::Limits;
use serde::de::DeserializeOwned;

use crate::error::Failure;
use crate::pointer::text;

/// Reads an object of JSON; an empty text is one without keys.
///
/// # Safety
/// `json` is null or valid for reads of `length` bytes.
pub(crate) unsafe fn read<T: DeserializeOwned>(json: *const c_char, length: usize) -> Result<T, Failure> {
    // SAFETY: the caller's promise.
    let json = match unsafe { text(json, length, "wanted") }? {
        "" => "{}",
        json => json,
    };
    serde_json::from_str(json).map_err(|error| Failure::refused(format_args!("wanted: {error}")))
}

/// Returns limits such as `ttft:500`; `attainment` is the share of requests that must meet all.
pub(crate) fn limits(goodput: &[String], attainment: Option<f64>) -> Result<Limits, Failure> {
    let limits = goodput
        .iter()
        .map(|limit| limit.parse())
        .collect::<Result<_, _>>()
        .and_then(|limits| Limits::try_new(limits, attainment));
    limits.map_err(|error| Failure::refused(format_args!("wanted: goodput: {error}")))
}

/// Returns the share of servers that must meet the limits.
pub(crate) fn confidence(share: Option<f64>) -> Result<Option<Coverage>, Failure> {
    let coverage = share.map(Coverage::try_new).transpose();
    coverage.map_err(|error| Failure::refused(format_args!("wanted: confidence: {error}")))
}
