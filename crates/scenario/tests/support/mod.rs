//! Runs of scenarios.
#![allow(dead_code, reason = "not every test crate uses all of it")]

use std::io::{self, ErrorKind};
use std::path::Path;

use rooflut::model;
use rooflut::table::sets;
use rooflut_report::Report;
use rooflut_scenario::{Error, Model, Resources, Run, ScenarioFile, Target};
use rooflut_traces::Input;

/// Returns the report of a scenario of one built-in model on `h100`.
pub(crate) fn report(text: &str) -> Report {
    run(text).run(&mut ()).unwrap().report()
}

/// Returns the report of the default model on `h100` under a trace with these contents.
pub(crate) fn report_of_trace(contents: &str) -> Report {
    report_of_trace_with(contents, "")
}

/// Likewise, with `more` keys of the workload and of other sections.
pub(crate) fn report_of_trace_with(contents: &str, more: &str) -> Report {
    let read = |_: &Path| Ok(Input::from(contents.as_bytes().to_vec()));
    let run = run_with(&format!("[workload]\ntrace = 'trace.csv'\n{more}"), &read);
    run.run(&mut ()).unwrap().report()
}

/// Returns the run of a scenario of one built-in model on `h100`.
pub(crate) fn run(text: &str) -> Run {
    run_with(text, &|_| Err(ErrorKind::NotFound.into()))
}

fn run_with(text: &str, read: &dyn Fn(&Path) -> io::Result<Input>) -> Run {
    let file = ScenarioFile::read(text.as_bytes()).unwrap();
    let scenario = file.scenario().clone();
    let llama = model::find(scenario.target.model()).unwrap();
    let find = |_: &Target| Ok::<_, Error>((Model::new(llama.name, llama.spec), sets::H100.clone()));
    let (model, tables) = find(&scenario.target).unwrap();
    Run::try_new(scenario, Resources { model, draft_model: None, tables, find: &find, read }).unwrap()
}
