//! `rooflut calibrate`: the constants of an engine, fitted to a server.

mod answer;
mod engine_file;

use std::path::Path;

use rooflut_calibrate::{Metric, Posterior, Priors, calibrate};
use rooflut_error::Whole;
use rooflut_scenario::{Engine, Scenario, ScenarioFile};

use crate::args::CalibrateArgs;
use crate::error::Error;
use crate::loads::{MeasuredLoad, MeasuredLoads};
use crate::observe::write;
use crate::outputs::{Existing, Outputs};
use crate::{input, measured, next};

use answer::Answer;
#[cfg(feature = "schema")]
pub(crate) use answer::CalibratedJson;

/// Beginnings of the outputs.
const OF_ENGINE: &[u8] = b"# Written by `rooflut calibrate`";
const OF_SCENARIO: &[u8] = b"# As calibrated: ";
const OF_NEXT: &[u8] = b"# Loads to measure next: ";
/// Name of an engine without a file.
const UNNAMED: &str = "calibrated";

/// Calibrates and answers with the text to print.
pub(crate) fn run(args: &CalibrateArgs) -> Result<String, Error> {
    for (flag, is_given, other, is_there) in [
        ("--scenario-out", args.scenario_out.is_some(), "--out", args.out.is_some()),
        ("--next-for", args.next_for.is_some(), "--next", args.next.is_some()),
        ("--next-out", args.next_out.is_some(), "--next", args.next.is_some()),
    ] {
        if is_given && !is_there {
            return Err(Error::new(format!("{flag} needs {other}; add it")));
        }
    }
    if args.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Err(Error::new("--name: expected a name, found none; leave it out, or give one"));
    }
    let inputs = args.measured.files.iter().chain(&args.next_for).map(|path| (path.clone(), "is an input"));
    let mut outputs = Outputs::new(inputs.collect(), Existing::from(args.force));
    let mut open = |path: Option<&Path>, first: &[u8]| path.map(|path| outputs.open(path, first)).transpose();
    let out = open(args.out.as_deref(), OF_ENGINE)?;
    let scenario_out = open(args.scenario_out.as_deref(), OF_SCENARIO)?;
    let next_out = open(args.next_out.as_deref(), OF_NEXT)?;
    let measured = measured::read(&args.measured)?;
    if !measured.deployment.contains_key("engine") {
        let text = "expected a file that names the version of the engine, from whose constants the fit starts, found \
                    none; give it, as in --engine vllm-0.18.0, or add the server's log";
        return Err(Error::new(text).about("engine"));
    }
    args.untrusted.check_measured(&args.measured.files, &measured, &args.measured.given()?.0)?;
    let loads = MeasuredLoads::of(&measured)?;
    let target = &loads.scenario.target;
    if let Some(path) = target.engine_file() {
        let text = format!(
            "{}: expected the engine of the server's version, as in vllm-0.18.0, found a calibrated one; its runs can \
             be given again",
            path.display()
        );
        return Err(Error::new(text).about("engine"));
    }
    let stack = target.find_engine(&input::open)?.stack;
    let priors = priors()?;
    let mut calibration = calibrate(stack, &loads.times(), &priors, |stack| loads.predict(stack))?;
    if let Some(placement) = loads.loads.first().map(MeasuredLoad::placement) {
        calibration.set_errors(&placement.model.spec, placement.tables.gpu());
    }
    let stem = args.out.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().or(stem).unwrap_or_else(|| UNNAMED.to_owned());
    let next = match args.next {
        Some(count) => {
            let rows: Vec<_> = calibration.rows.iter().map(|row| row.residual).collect();
            let posterior = Posterior::new(&priors, &rows);
            let asked = args.next_for.as_deref().map(|path| scenario_of(args, path)).transpose()?;
            next::loads(&calibration, &posterior, &loads, asked, usize::from(count))?
        }
        None => Vec::new(),
    };
    if let Some(file) = out {
        let engine = engine_file::of(&name, stack, &calibration, &loads)?;
        let text = format!(
            "{} from {}.\n{}",
            str::from_utf8(OF_ENGINE).unwrap_or_default(),
            sources(&loads),
            engine.to_toml()?
        );
        // Whatever its name and its values are, commands can read it.
        let path = args.out.as_deref().unwrap_or(Path::new(UNNAMED));
        Engine::read(path, text.as_bytes())?;
        write(file, args.out.as_deref(), &text)?;
    }
    if let (Some(file), Some(engine)) = (scenario_out, &args.out) {
        let mut scenario = loads.scenario.clone();
        scenario.target.engine = Some(as_file(engine));
        let text =
            format!("{}{}\n{}", str::from_utf8(OF_SCENARIO).unwrap_or_default(), sources(&loads), scenario.to_toml()?);
        write(file, args.scenario_out.as_deref(), &text)?;
    }
    if let Some(file) = next_out {
        let text = format!("{}{}\n{}", str::from_utf8(OF_NEXT).unwrap_or_default(), sources(&loads), next::text(&next));
        write(file, args.next_out.as_deref(), &text)?;
    }
    let notes = measured.notes.iter().chain(&loads.notes).cloned().collect();
    let answer = Answer { args, name, stack, loads: &loads, calibration: &calibration, next, notes };
    if args.json { answer.json() } else { Ok(answer.text()) }
}

/// Returns the priors that come with the program.
pub(crate) fn priors() -> Result<Priors, Error> {
    Priors::shipped().ok_or_else(|| Error::new("the built-in priors of calibrations are damaged"))
}

fn scenario_of(args: &CalibrateArgs, path: &Path) -> Result<Scenario, Error> {
    let bytes = input::read(path, Whole::Scenario).map_err(Error::reading(path))?;
    let file = ScenarioFile::read(&bytes).map_err(|error| error.in_file(path))?;
    args.untrusted.check_file(path, &file)?;
    Ok(file.scenario().clone())
}

fn sources(loads: &MeasuredLoads) -> String {
    let mut sources: Vec<&str> = loads.loads.iter().map(|load| load.source.as_str()).collect();
    sources.dedup();
    sources.join(", ").replace(['\n', '\r'], " ")
}

/// Returns the path of a file as the value of `engine`, where a name without a folder or an extension is no path.
pub(crate) fn as_file(path: &Path) -> String {
    let text = path.display().to_string();
    if rooflut_scenario::names_file(&text) { text } else { format!("./{text}") }
}

/// Returns the name of a metric in JSON.
pub(crate) fn name_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Tpot => "tpot",
        Metric::Ttft => "ttft",
    }
}
