//! `rooflut run`: a server under load.

use rooflut::sim::{Arrivals, Observer, Request, Simulator};
use rooflut::step::{TabulatedModel, Tally};
use rooflut::table::Strictness;

use crate::args::{Arrival, RunArgs, SyntheticArgs};
use crate::clock::LATEST_ARRIVAL_NS;
use crate::error::Error;
use crate::goodput::goodput_limits;
use crate::output::Answered;
use crate::run_files::RunFiles;
use crate::run_output::Outcome;
use crate::served::{MOST_KEPT, Served};
use crate::server::Placement;
use crate::trace;

/// Tokens of a step up to which its time is worked out beforehand.
const MOST_TABULATED: u32 = 8_192;

/// Simulates and answers with the text to print, and with an error if no request was served.
pub(crate) fn run(args: &RunArgs) -> Result<Answered, Error> {
    let placement = Placement::find(&args.target)?;
    let config = placement.config(&args.server)?;
    let roofline = placement.roofline(Strictness::ANY)?;
    let tabulated =
        TabulatedModel::new(roofline, config.max_num_batched_tokens.min(MOST_TABULATED));
    let model = Tally::new(&tabulated);
    let trace_path = args.trace.trace.as_deref();
    let trace = trace_path.map(|path| Ok((path, trace::read(path, &args.trace)?)));
    let trace = trace.transpose()?;
    let made_up = match &trace {
        Some(_) => None,
        None => Some(synthetic(&args.synthetic)?),
    };
    let simulator = Simulator::try_new(&model, config).map_err(Error::Sim)?;
    let mut files = RunFiles::create(args, &placement.to_string())?;
    let requests = match (&trace, made_up) {
        (Some((_, trace)), _) => Requests::Listed(&trace.requests),
        (None, made_up) => Requests::MadeUp(made_up.into_iter().flatten()),
    };
    // Looks at each step for the files only if somebody wants them.
    let served = match files.of_steps() {
        Some(files) => serve(&simulator, args, requests, files),
        None => serve(&simulator, args, requests, &mut ()),
    };
    let outcome = Outcome {
        args,
        trace: trace.as_ref().map(|(path, trace)| (*path, trace)),
        placement: &placement,
        config: simulator.config(),
        summary: &served.summary,
        rejections: &served.rejections,
        origins: model.origins(),
    };
    let text = if args.json {
        outcome.json()?
    } else {
        outcome.text()
    };
    files.finish(&served.records)?;
    Ok(Answered {
        text,
        failure: outcome.failure(),
    })
}

/// The load.
enum Requests<'t, I> {
    /// Those of a trace.
    Listed(&'t [Request]),
    /// Those that are made up as they come.
    MadeUp(I),
}

/// Serves the load, with a record of each request where the answer needs or can afford it.
fn serve(
    simulator: &Simulator<&Tally<'_>>,
    args: &RunArgs,
    requests: Requests<'_, impl Iterator<Item = Request>>,
    files: &mut impl Observer,
) -> Served {
    let limits = goodput_limits(&args.goodput);
    let digested = args.requests_out.is_none() && args.synthetic.requests > MOST_KEPT;
    match requests {
        Requests::Listed(requests) => Served::kept(simulator, requests, limits, files),
        Requests::MadeUp(requests) if digested => {
            Served::digested(simulator, requests, limits, files)
        }
        Requests::MadeUp(requests) => {
            let requests: Vec<Request> = requests.collect();
            Served::kept(simulator, &requests, limits, files)
        }
    }
}

/// Requests that are all alike, in ascending arrival.
fn synthetic(args: &SyntheticArgs) -> Result<impl Iterator<Item = Request> + use<>, Error> {
    if args.cached_prompt > args.prompt {
        return Err(Error::CachedPrompt {
            cached: args.cached_prompt,
            prompt: args.prompt,
        });
    }
    let arrivals = match args.arrival {
        Arrival::Poisson => Arrivals::try_poisson(args.rate, args.seed),
        Arrival::Constant => Arrivals::try_constant(args.rate),
    };
    let arrivals = arrivals.map_err(Error::Sim)?.take(args.requests as usize);
    let is_late = |arrival_ns| arrival_ns > LATEST_ARRIVAL_NS;
    if let Some(in_time) = arrivals.clone().position(is_late) {
        return Err(Error::LateArrival {
            rate: args.rate,
            request: in_time + 1,
        });
    }
    let alike = Request {
        prompt_tokens: args.prompt,
        output_tokens: args.output,
        cached_prompt_tokens: args.cached_prompt,
        ..Request::default()
    };
    Ok(arrivals.map(move |arrival_ns| Request {
        arrival_ns,
        ..alike
    }))
}
