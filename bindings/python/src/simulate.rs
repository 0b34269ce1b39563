//! Simulations of scenarios.

use std::io;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut_cli::PreparedRun;
use rooflut_scenario::{Output, Stop};
use rooflut_traces::Input;

use crate::border::interruptible;
use crate::columns::{Columns, to_dict};
use crate::error::error;
use crate::frame;
use crate::records::{Requests, Steps};
use crate::scenario::{self, Given};

/// The name of a trace that is a frame.
const FRAME: &str = "<frame>";

/// The report of a run and its rows.
struct Simulated {
    json: String,
    requests: Option<Columns>,
    steps: Option<Columns>,
}

/// JSON of a report, and the columns of requests and steps.
type Parts<'py> = (String, Option<Bound<'py, PyDict>>, Option<Bound<'py, PyDict>>);

/// Simulates a scenario; returns the JSON of its report and columns of its requests and steps.
#[pyfunction]
#[pyo3(signature = (scenario, trace, untrusted, keep_requests, keep_steps, keys))]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    scenario: Option<&Bound<'py, PyAny>>,
    trace: Option<&Bound<'py, PyAny>>,
    untrusted: bool,
    keep_requests: bool,
    keep_steps: bool,
    keys: Option<&Bound<'py, PyDict>>,
) -> PyResult<Parts<'py>> {
    let csv = trace.map(frame::trace).transpose()?;
    let keys = keys.map_or_else(|| PyDict::new(py), Clone::clone);
    if csv.is_some() {
        keys.set_item("trace", FRAME)?;
    }
    let mut given = scenario::read(scenario, Some(&keys), untrusted)?;
    check_output(&scenario::of_keys(Some(&keys))?.scenario().output)?;
    let output = std::mem::take(&mut given.scenario.output);
    given.scenario.output = without_files(output);
    let keep = (keep_requests, keep_steps);
    let run = interruptible(py, move |stop| run(given, csv, keep, stop))?;
    let columns = |columns: Option<Columns>| columns.map(|columns| to_dict(py, columns)).transpose();
    Ok((run.json, columns(run.requests)?, columns(run.steps)?))
}

fn run(
    given: Given,
    csv: Option<Vec<u8>>,
    (keep_requests, keep_steps): (bool, bool),
    stop: Stop,
) -> Result<Simulated, String> {
    let csv = csv.map(Input::from);
    let read = |path: &Path| -> io::Result<Input> {
        match &csv {
            Some(csv) if path == Path::new(FRAME) => Ok(csv.clone()),
            _ => rooflut_cli::open(path),
        }
    };
    let prepared = PreparedRun::try_new(&given.scenario, &read).map_err(|error| error.in_keys())?.stopped_by(stop);
    let mut requests = keep_requests.then(Requests::default);
    let mut steps = keep_steps.then(Steps::default);
    let mut observer = (requests.as_mut(), steps.as_mut());
    let simulated = prepared.simulate(&mut observer);
    let (_, mut report) = simulated.map_err(|error| error.in_keys())?;
    report.scenario = given.file;
    // A frame is no file.
    report.command = report.command.filter(|_| csv.is_none());
    Ok(Simulated {
        json: report.to_json().map_err(|error| error.to_string())?,
        requests: requests.map(Requests::columns),
        steps: steps.map(Steps::columns),
    })
}

/// Refuses keys that ask for files or other outputs of the command.
fn check_output(output: &Output) -> PyResult<()> {
    let file = |path: &Option<PathBuf>| path.is_some();
    let given = [
        ("requests_out", file(&output.requests_out), "use keep_requests"),
        ("steps_out", file(&output.steps_out), "use keep_steps"),
        ("windows_out", file(&output.windows_out), "read the report's windows"),
        ("perfetto", file(&output.perfetto), "use the command `rooflut run`"),
        ("json", output.json.is_some(), "use the report's json()"),
        ("progress", output.progress.is_some(), "leave it out"),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((key, _, instead)) => {
            Err(error(format!("{key}: simulate() writes no files and prints nothing; {instead}")))
        }
        None => Ok(()),
    }
}

/// Returns the output of a scenario file without what it would write.
fn without_files(output: Output) -> Output {
    let mut kept = Output::default();
    kept.goodput = output.goodput;
    kept.prices = output.prices;
    kept.price = output.price;
    kept.strict = output.strict;
    kept.interval = output.interval;
    kept.windows = output.windows;
    kept.quantiles = output.quantiles;
    kept
}
