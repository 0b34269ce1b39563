//! Loads that are read from a file.

use std::path::Path;

use rooflut_traces::{ArrivalSource, Options, Trace};

use crate::args::TraceArgs;
use crate::error::Error;
use crate::output::{count, scientific};
use crate::run_json::{LeftOutJson, LoadJson};

/// The requests of the file at `path`.
pub(crate) fn read(path: &Path, args: &TraceArgs) -> Result<Trace, Error> {
    let bytes = std::fs::read(path).map_err(Error::reading(path))?;
    let options = Options {
        format: args.trace_format,
        conditions: &args.conditions,
    };
    rooflut_traces::read(&bytes, &options)
        .map_err(|error| Error::in_file(path, error.line, error.problem))
}

/// Which file it was, how it was read and what was left out, for people.
pub(crate) fn describe(trace: &Trace, path: &Path, args: &TraceArgs) -> String {
    let arrivals = match trace.arrivals {
        ArrivalSource::Poisson { requests_per_s } => {
            format!(
                ", Poisson arrivals at its {} per second",
                scientific(requests_per_s)
            )
        }
        ArrivalSource::AtOnce => ", all at the start".to_owned(),
        _ => String::new(),
    };
    let mut text = format!("{} ({}{arrivals})", path.display(), trace.format.title());
    for condition in &args.conditions {
        text.push_str(&format!(", {}={}", condition.column, condition.value));
    }
    for (reason, requests) in &trace.left_out {
        text.push_str(&format!("; left out: {} {reason}", count(*requests)));
    }
    text
}

/// The same for programs.
pub(crate) fn load_json(trace: &Trace, path: &Path, args: &TraceArgs) -> LoadJson {
    let conditions = args.conditions.iter();
    let conditions = conditions.map(|c| format!("{}={}", c.column, c.value));
    let left_out = trace.left_out.iter();
    let left_out = left_out.map(|&(reason, requests)| LeftOutJson {
        reason: reason.reason(),
        requests,
    });
    LoadJson::Trace {
        path: path.display().to_string(),
        format: trace.format.name(),
        arrivals: match trace.arrivals {
            ArrivalSource::Poisson { .. } => "poisson",
            ArrivalSource::AtOnce => "at_once",
            _ => "recorded",
        },
        conditions: conditions.collect(),
        left_out: left_out.collect(),
    }
}
