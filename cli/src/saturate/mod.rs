//! `rooflut saturate`: the highest rate, or the most users, within latency limits.

mod text;
mod users;

use rooflut_plan::{RateQuestion, Saturation};
use rooflut_scenario::{Kind, Scenario, Stop};

use crate::args::SaturateArgs;
use crate::error::Error;
use crate::html::HtmlFile;
use crate::input;
use crate::model_source::NamedModel;
use crate::output::{Answered, three_digits, to_json};
use crate::resources;

/// Name of an answer in a report.
const NAME: &str = "rooflut saturate";

/// Answers with the highest rate, or the most users, and the curve around it, and with an error if none meets the limits.
pub(crate) fn run(args: &SaturateArgs, stop: Stop, command: &str) -> Result<Answered, Error> {
    let html = args.html.open()?;
    let mut scenario = Scenario::default();
    scenario.target = args.target.clone();
    scenario.workload = args.workload.clone();
    scenario.server = args.server.clone();
    scenario.output.strict = args.limits.strict;
    let notes = args.vllm.put_under(&mut scenario)?;
    let (resources, models) = resources::find(&scenario, &input::open)?;
    let mut question = RateQuestion::new(scenario, resources);
    question.limits = if args.limits.is_given() { Some(args.limits.limits()?) } else { None };
    question.confidence = args.limits.confidence;
    question.tolerance = args.tolerance;
    question.stop = stop;
    let notes = notes.into_iter().chain(models.iter().flat_map(NamedModel::notes));
    if args.workload.users.is_some() {
        let mut most = question.most_users()?;
        most.notes.splice(..0, notes);
        let answer = users::answered(&most, args.json)?;
        return HtmlFile::of_answer(html, answer, NAME, || to_json(&most), command);
    }
    let mut saturation = question.saturate()?;
    saturation.notes.splice(..0, notes);
    let answer = Answered {
        text: if args.json { to_json(&saturation)? } else { text::text(&saturation) },
        failure: failure(&saturation),
    };
    HtmlFile::of_answer(html, answer, NAME, || to_json(&saturation), command)
}

/// The error where no rate meets the limits.
fn failure(saturation: &Saturation) -> Option<Error> {
    let lowest = saturation.lowest.as_ref()?;
    let text = format!(
        "no rate meets {}, not even {} {} per second; relax the limits, or use faster servers",
        saturation.limits.join(", "),
        three_digits(lowest.rate),
        saturation.unit
    );
    Some(Error::of(Kind::NotMet, text))
}
