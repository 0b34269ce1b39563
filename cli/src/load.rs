//! What a server is asked: a trace, or what is generated.

use std::path::Path;

use rooflut::sim::Observer;
use rooflut::sim::figures::LatencyLimits;
use rooflut::sim::load::{RequestList, Stream};
use rooflut_traces::{BLOCK_TOKENS, Trace};

use crate::args::{RunArgs, TraceArgs};
use crate::error::Error;
use crate::fleet::Fleet;
use crate::output::plural;
use crate::run_json::LoadJson;
use crate::served::Served;
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

    /// Requests of it.
    pub(crate) fn requests(&self) -> u64 {
        match self {
            Load::Trace(_, trace) => trace.requests.len() as u64,
            Load::Workload(workload) => workload.count(),
        }
    }

    /// Lets `fleet` serve it, and keeps a record of each request if `keep` says so or they are in
    /// memory anyway.
    pub(crate) fn serve(
        &self,
        fleet: &Fleet<'_>,
        max_model_len: u32,
        keep: bool,
        limits: Option<LatencyLimits>,
        onlooker: &mut impl Observer,
    ) -> Result<Served, Error> {
        let workload = match self {
            Load::Trace(_, trace) => {
                let listed = RequestList::new(&trace.requests);
                let mut source = listed.with_ids(&trace.block_ids, BLOCK_TOKENS);
                return Ok(Served::kept(fleet, &mut source, limits, onlooker));
            }
            Load::Workload(workload) => workload,
        };
        Ok(match workload.requests(max_model_len)? {
            Requests::Open(requests) => {
                let mut stream = Stream::new(requests).with_total(workload.count());
                Served::new(fleet, &mut stream, keep, limits, onlooker)
            }
            Requests::Closed(mut users) => Served::new(fleet, &mut users, keep, limits, onlooker),
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
