//! Failures of runs under `--require`.

use rooflut_report::Report;
use rooflut_scenario::{Kind, Outcome};

use crate::error::Error;

/// The error of a run that is overloaded or misses its limits, if it is required to meet them.
pub(super) fn failure(outcome: &Outcome<'_>, report: &Report) -> Option<Error> {
    if outcome.run.scenario().output.require != Some(true) {
        return None;
    }
    if report.overloaded || report.seeds.is_some_and(|seeds| seeds.overloaded > 0) {
        let text = "the servers do not keep up with the load; lower the load, or use more or faster servers";
        return Some(Error::of(Kind::Overloaded, text));
    }
    match outcome.missed() {
        Err(error) => Some(error.into()),
        Ok(missed) if !missed.is_empty() => {
            let text = format!("the limits are not met: {}; relax them, or use faster servers", missed.join(", "));
            Some(Error::of(Kind::NotMet, text))
        }
        Ok(_) => {
            let seeds = report.seeds.filter(|seeds| seeds.limits_met != Some(seeds.count))?;
            Some(match seeds.limits_met {
                Some(met) => Error::of(
                    Kind::NotMet,
                    format!(
                        "the limits are met with {met} of {} seeds; relax them, or use faster servers",
                        seeds.count
                    ),
                ),
                None => Error::of(Kind::NoAnswer, "the required p99 is not known with every seed; use more --requests"),
            })
        }
    }
}
