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
    parts: Vec<PartTime>,
}

/// The total sums the same times in another order.
const ROUNDING: f64 = 1e-9;

impl Serialize for StepTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            total: self.total(),
            parts: self.parts().collect(),
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
    for &PartTime {
        part,
        time,
        binding,
        source,
    } in &written.parts
    {
        if !(time.0 >= 0.0 && time.0.is_finite()) {
            return Err(format!(
                "{part}: expected seconds of at least 0, found {}",
                time.0
            ));
        }
        if step.parts().any(|known| known.part == part) {
            return Err(format!("{part}: expected each part once, found another"));
        }
        step.add(part, time, binding, source);
    }
    let (sum, total) = (step.total, written.total);
    let close = (sum.0 - total.0).abs() <= ROUNDING * sum.0;
    if !close {
        let (sum, total) = (sum.0, total.0);
        return Err(format!(
            "total: expected the sum of the parts, {sum} s, found {total} s"
        ));
    }
    step.total = total;
    Ok(step)
}
