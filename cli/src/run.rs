//! `rooflut run`: a server under load.

use rooflut::sim::{Arrivals, Request, SimReport, Simulator};
use rooflut::step::{TabulatedModel, Tally};
use rooflut::table::Strictness;

use crate::args::{Arrival, RunArgs, SyntheticArgs};
use crate::clock::LATEST_ARRIVAL_NS;
use crate::error::Error;
use crate::output::Answered;
use crate::progress::Bar;
use crate::run_files::{RunFiles, StepFiles};
use crate::run_output::Outcome;
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
    let made_up;
    let requests = match &trace {
        Some((_, trace)) => &trace.requests,
        None => {
            made_up = synthetic(&args.synthetic)?;
            &made_up
        }
    };
    let simulator = Simulator::try_new(&model, config).map_err(Error::Sim)?;
    let mut files = RunFiles::create(args, &placement.to_string())?;
    let report = simulate(&simulator, requests, files.of_steps());
    let outcome = Outcome {
        args,
        trace: trace.as_ref().map(|(path, trace)| (*path, trace)),
        placement: &placement,
        config: simulator.config(),
        report: &report,
        origins: model.origins(),
    };
    let text = if args.json {
        outcome.json()?
    } else {
        outcome.text()
    };
    files.finish(&report.records)?;
    Ok(Answered {
        text,
        failure: outcome.failure(),
    })
}

/// Looks at each step only if somebody wants to.
fn simulate(
    simulator: &Simulator<&Tally<'_>>,
    requests: &[Request],
    files: Option<&mut StepFiles>,
) -> SimReport {
    let mut bar = Bar::new();
    match files {
        Some(files) => simulator.run_with(requests, &mut (bar, files)),
        None => simulator.run_with(requests, &mut bar),
    }
}

fn synthetic(args: &SyntheticArgs) -> Result<Vec<Request>, Error> {
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
    let request = |arrival_ns| Request {
        arrival_ns,
        prompt_tokens: args.prompt,
        output_tokens: args.output,
        cached_prompt_tokens: args.cached_prompt,
        ..Request::default()
    };
    let arrivals = arrivals.map_err(Error::Sim)?;
    let requests: Vec<Request> = arrivals.take(args.requests as usize).map(request).collect();
    // They ascend.
    let in_time = requests.partition_point(|request| request.arrival_ns <= LATEST_ARRIVAL_NS);
    if in_time < requests.len() {
        return Err(Error::LateArrival {
            rate: args.rate,
            request: in_time + 1,
        });
    }
    Ok(requests)
}
