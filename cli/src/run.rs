//! `rooflut run`: a server under load.

use rooflut::step::{TabulatedModel, Tally};
use rooflut::table::Strictness;

use crate::args::RunArgs;
use crate::error::Error;
use crate::fleet::Fleet;
use crate::goodput::goodput_limits;
use crate::load::Load;
use crate::output::Answered;
use crate::progress::Bar;
use crate::run_files::RunFiles;
use crate::run_output::Outcome;
use crate::served::MOST_KEPT;
use crate::server::Placement;

/// Tokens of a step up to which its time is worked out beforehand.
const MOST_TABULATED: u32 = 8_192;

/// Simulates and answers with the text to print, and with an error if no request was served.
pub(crate) fn run(args: &RunArgs) -> Result<Answered, Error> {
    let placement = Placement::find(&args.target)?;
    let config = placement.config(&args.server, &args.policy)?;
    let roofline = placement.roofline(Strictness::ANY)?;
    let tabulated =
        TabulatedModel::new(roofline, config.max_num_batched_tokens.min(MOST_TABULATED));
    let model = Tally::new(&tabulated);
    let load = Load::try_new(args)?;
    let fleet = Fleet::try_new(&model, config, &args.policy)?;
    let mut files = RunFiles::create(args, &placement.to_string())?;
    let limits = goodput_limits(&args.goodput);
    let keep = load.requests() <= MOST_KEPT;
    let mut onlookers = (Bar::new(args.progress), files.onlookers());
    let served = load.serve(&fleet, config.max_model_len, keep, limits, &mut onlookers)?;
    drop(onlookers);
    let outcome = Outcome {
        args,
        load: &load,
        placement: &placement,
        config: &config,
        summary: &served.summary,
        rejections: &served.rejections,
        origins: model.origins(),
    };
    let text = if args.json {
        outcome.json()?
    } else {
        outcome.text()
    };
    files.finish()?;
    Ok(Answered {
        text,
        failure: outcome.failure(),
    })
}
