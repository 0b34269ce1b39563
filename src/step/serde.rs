//! Serialization of step times: the total and a list of parts.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{PartTime, StepTime};
use crate::units::Seconds;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "StepTime")]
struct Written {
    total: Seconds,
    bound: Seconds,
    parts: Vec<PartTime>,
    lookup_error_share: f64,
    model_error: f64,
}

/// The total sums the same times in another order.
const ROUNDING: f64 = 1e-9;

impl Serialize for StepTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            total: self.total(),
            bound: self.bound,
            parts: self.parts().collect(),
            lookup_error_share: self.errors.lookup_share,
            model_error: self.errors.model,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StepTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StepTime, D::Error> {
        let written = Written::deserialize(deserializer)?;
        step_time(&written).map_err(D::Error::custom)
    }
}

fn step_time(written: &Written) -> Result<StepTime, String> {
    let mut step = StepTime::ZERO;
    for &PartTime { part, time, binding, source, errors } in &written.parts {
        if !(time.0 >= 0.0 && time.0.is_finite()) {
            return Err(format!("{part}: expected seconds of at least 0, found {}", time.0));
        }
        if step.parts().any(|known| known.part == part) {
            return Err(format!("{part}: expected each part once, found another"));
        }
        step.add(part, time, binding, source);
        step.errors.set(part, errors);
    }
    let (sum, total) = (step.total, written.total);
    let close = (sum.0 - total.0).abs() <= ROUNDING * sum.0;
    if !close {
        let (sum, total) = (sum.0, total.0);
        return Err(format!("total: expected the sum of the parts, {sum} s, found {total} s"));
    }
    for (name, found) in [("lookup_error_share", written.lookup_error_share), ("model_error", written.model_error)] {
        if !(found >= 0.0 && found.is_finite()) {
            return Err(format!("{name}: expected a number of at least 0, found {found}"));
        }
    }
    let Seconds(bound) = written.bound;
    if !(bound >= 0.0 && bound <= sum.0.max(total.0)) {
        let most = total.0;
        return Err(format!("bound: expected 0 to {most} s, found {bound}"));
    }
    step.bound = written.bound;
    step.errors.lookup_share = written.lookup_error_share;
    step.errors.model = written.model_error;
    step.total = total;
    Ok(step)
}
