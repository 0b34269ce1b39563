//! What a server is asked: a trace, or what is generated.

use std::path::Path;

use rooflut::sim::{SimReport, Simulator, Stream};
use rooflut::step::LatencyModel;
use rooflut_traces::Trace;

use crate::args::{RunArgs, TraceArgs};
use crate::error::Error;
use crate::output::plural;
use crate::progress::Bar;
use crate::run_json::LoadJson;
use crate::trace;
use crate::workload::{Requests, Workload};

/// A load.
pub(crate) enum Load<'a> {
    /// A file, and what was in it.
    Trace(&'a Path, Trace),
    /// One that is generated.
    Workload(Workload<'a>),
}

impl<'a> Load<'a> {
    /// The load that the arguments ask for.
    pub(crate) fn try_new(args: &'a RunArgs) -> Result<Load<'a>, Error> {
        if let Some(path) = args.trace.trace.as_deref() {
            return Ok(Load::Trace(path, trace::read(path, &args.trace)?));
        }
        Workload::try_new(&args.workload).map(Load::Workload)
    }

    /// Lets `simulator` serve it.
    pub(crate) fn serve<M: LatencyModel>(
        &self,
        simulator: &Simulator<M>,
    ) -> Result<SimReport, Error> {
        let mut bar = Bar::new();
        let observe = |progress| bar.observe(progress);
        let workload = match self {
            Load::Trace(_, trace) => return Ok(simulator.run_observed(&trace.requests, observe)),
            Load::Workload(workload) => workload,
        };
        Ok(match workload.requests(simulator.config().max_model_len)? {
            Requests::Open(requests) => {
                let mut stream = Stream::new(requests).with_total(workload.count());
                simulator.run_source(&mut stream, observe)
            }
            Requests::Closed(mut requests) => simulator.run_source(&mut requests, observe),
        })
    }

    /// What it is, for people.
    pub(crate) fn text(&self, args: &TraceArgs) -> String {
        match self {
            Load::Trace(path, trace) => {
                let requests = plural(trace.requests.len() as u64, "request");
                format!("{requests} of {}", trace::describe(trace, path, args))
            }
            Load::Workload(workload) => workload.text(),
        }
    }

    /// The same for programs.
    pub(crate) fn json(&self, args: &TraceArgs) -> LoadJson {
        match self {
            Load::Trace(path, trace) => trace::load_json(trace, path, args),
            Load::Workload(workload) => workload.json(),
        }
    }

    /// The seed of what is drawn.
    pub(crate) fn seed(&self) -> Option<u64> {
        match self {
            Load::Trace(..) => None,
            Load::Workload(workload) => Some(workload.seed()),
        }
    }
}
