//! `rooflut saturate`: the highest rate within latency limits.

mod text;

use rooflut_plan::{RateQuestion, Saturation};
use rooflut_scenario::{Scenario, Stop};

use crate::args::SaturateArgs;
use crate::error::Error;
use crate::input;
use crate::model_source::NamedModel;
use crate::output::{Answered, three_digits, to_json};
use crate::resources;

/// Answers with the highest rate and the curve around it, and with an error if no rate meets the limits.
pub(crate) fn run(args: &SaturateArgs, stop: Stop) -> Result<Answered, Error> {
    let mut scenario = Scenario::default();
    scenario.target = args.target.clone();
    scenario.workload = args.workload.clone();
    scenario.server = args.server.clone();
    scenario.output.strict = args.limits.strict;
    let (resources, models) = resources::find(&scenario, &input::open)?;
    let mut question = RateQuestion::new(scenario, resources);
    question.limits = if args.limits.is_given() { Some(args.limits.limits()?) } else { None };
    question.confidence = args.limits.confidence;
    question.tolerance = args.tolerance;
    question.stop = stop;
    let mut saturation = question.saturate()?;
    let notes = models.iter().flat_map(NamedModel::notes);
    saturation.notes.splice(..0, notes);
    Ok(Answered {
        text: if args.json { to_json(&saturation)? } else { text::text(&saturation) },
        failure: failure(&saturation),
    })
}

/// The error where no rate meets the limits.
fn failure(saturation: &Saturation) -> Option<Error> {
    let lowest = saturation.lowest.as_ref()?;
    Some(Error::new(format!(
        "no rate meets {}, not even {} {} per second; relax the limits, or use faster servers",
        saturation.limits.join(", "),
        three_digits(lowest.rate),
        saturation.unit
    )))
}
