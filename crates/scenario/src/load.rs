//! The load of a run.

use std::path::PathBuf;

use rooflut::units::Seconds;
use rooflut_error::Error;
use rooflut_report::load::{self, LeftOut, TraceLoad};
use rooflut_traces::{ArrivalSource, ColumnNames, Condition, Extent, Options, Trace};

use crate::generated::GeneratedLoad;
use crate::library;
use crate::read::{Read, open};
use crate::scenario::Workload;

/// The load of a run.
#[derive(Debug, Clone)]
pub enum Load {
    /// The requests of a file.
    Trace {
        /// Its path as given.
        path: PathBuf,
        /// The trace.
        trace: Box<Trace>,
    },
    /// Requests that are generated.
    Generated(Box<GeneratedLoad>),
}

impl Load {
    /// Reads the trace of a workload, or the files of lengths that a generated load draws from.
    ///
    /// # Errors
    /// A file that cannot be read or is wrong, and more cached tokens than the shortest prompt has.
    pub fn try_new(workload: &Workload, read: Read<'_>) -> Result<Load, Error> {
        let Some(path) = workload.trace.clone() else {
            let load = GeneratedLoad::try_new(workload, read)?;
            return Ok(Load::Generated(Box::new(load)));
        };
        let conditions = workload.conditions.clone().unwrap_or_default();
        let extent = Extent {
            requests: workload.trace_requests.map(u64::from),
            duration_ns: workload.trace_duration.map(|seconds| Seconds(seconds).to_nanos()),
        };
        let (format, columns) = (workload.trace_format, workload.columns.as_ref());
        let options = Options { format, columns, conditions: &conditions, extent };
        let mut trace = rooflut_traces::read(open("trace", &path, read)?, &options).map_err(library::trace(&path))?;
        if let Some(speed) = workload.trace_speed {
            trace = trace.at_speed(speed).map_err(library::trace(&path))?;
        }
        Ok(Load::Trace { path, trace: trace.into() })
    }

    /// Whether requests differ in their priority.
    pub(crate) fn has_priorities(&self) -> bool {
        match self {
            Load::Trace { trace, .. } => trace.has_priorities,
            Load::Generated(load) => load.workload.priorities.is_some(),
        }
    }

    /// Number of requests; `None` for as many as the figures need.
    pub fn requests(&self) -> Option<u64> {
        match self {
            Load::Trace { trace, .. } => Some(trace.requests),
            Load::Generated(load) => load.workload.requests.map(u64::from),
        }
    }

    /// Requests per second of a trace, as it is replayed; `None` for another load, and if requests of the trace arrive
    /// after the end of others.
    pub fn trace_rate(&self) -> Option<f64> {
        match self {
            Load::Trace { trace, .. } => trace.rate(),
            Load::Generated(_) => None,
        }
    }

    /// Whether it has no steady state: a trace, or one request per user.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Load::Trace { .. } => true,
            Load::Generated(load) => {
                let Workload { users, requests, .. } = load.workload;
                users.zip(requests).is_some_and(|(users, requests)| users >= requests)
            }
        }
    }

    /// The seed of what is drawn; `None` for a trace.
    pub(crate) fn seed(&self) -> Option<u64> {
        match self {
            Load::Trace { .. } => None,
            Load::Generated(load) => Some(load.workload.seed()),
        }
    }

    pub(crate) fn report(&self) -> load::Load {
        let (path, trace) = match self {
            Load::Generated(load) => return load.report(),
            Load::Trace { path, trace } => (path, trace),
        };
        let left_out = trace.left_out.iter().map(|&(reason, requests)| LeftOut { reason: reason.reason(), requests });
        load::Load::Trace(TraceLoad {
            path: path.display().to_string(),
            format: trace.format.name(),
            columns: trace.columns.as_ref().map(ColumnNames::to_string),
            arrivals: match trace.arrivals {
                ArrivalSource::Poisson { .. } => "poisson",
                ArrivalSource::AtOnce => "at_once",
                ArrivalSource::Recorded => "recorded",
                _ => "other",
            },
            speed: trace.speed(),
            first_requests: trace.extent.requests,
            first_s: trace.extent.duration_ns.map(|ns| ns as f64 / 1e9),
            conditions: trace.conditions.iter().map(Condition::to_string).collect(),
            left_out: left_out.collect(),
            ignored: trace.ignored.clone(),
            requests_with_images: trace.with_images,
        })
    }
}
