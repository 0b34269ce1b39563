//! `rooflut run`: a server under load.

use rooflut::deployment::ServedTally;

use crate::args::RunArgs;
use crate::disaggregation::Pools;
use crate::error::Error;
use crate::fleet::Fleet;
use crate::goodput::goodput_limits;
use crate::load::Load;
use crate::output::Answered;
use crate::progress::Bar;
use crate::refusal::uncertain_part;
use crate::run_files::RunFiles;
use crate::run_output::Outcome;
use crate::served::MOST_KEPT;
use crate::server::Placement;
use crate::speculation::Speculating;

/// Simulates and answers with the text to print, and with an error if no request was served.
pub(crate) fn run(args: &RunArgs) -> Result<Answered, Error> {
    let placement = Placement::find(&args.target)?;
    let seed = args.workload.seed;
    let speculating = Speculating::find(&args.speculation, &placement, seed)?;
    let deployment = placement.serve(
        &args.server,
        &args.policy,
        speculating.as_ref(),
        args.strict,
    )?;
    let draft = speculating.as_ref().and_then(|of| of.draft.as_ref());
    let config = placement.config(&deployment, draft)?;
    let pools = Pools::find(&args.disaggregation, &deployment);
    let model = deployment.served_model();
    let mut tally = ServedTally::new(&model);
    let load = Load::try_new(args)?;
    let fleet = Fleet::try_new(&model, config, &args.policy, pools.as_ref())?;
    let mut files = RunFiles::create(args, &placement.to_string())?;
    let limits = goodput_limits(&args.goodput);
    let keep = load.requests() <= MOST_KEPT;
    let mut onlookers = (&mut tally, (Bar::new(args.progress), files.observer()));
    let served = load.serve(&fleet, config.max_model_len, keep, limits, &mut onlookers)?;
    drop(onlookers);
    let sources = tally.sources();
    sources.check(args.strict).map_err(uncertain_part)?;
    let outcome = Outcome {
        args,
        load: &load,
        placement: &placement,
        config: &config,
        speculating: speculating.as_ref(),
        pools: pools.as_ref(),
        summary: &served.summary,
        rejections: &served.rejections,
        sources,
        draft_sources: tally.draft_sources(),
    };
    let text = if args.json {
        outcome.json()?
    } else {
        outcome.text()
    };
    files.finish(args)?;
    Ok(Answered {
        text,
        failure: outcome.failure(),
    })
}
