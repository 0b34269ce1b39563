//! Runs of scenarios.
#![allow(dead_code, reason = "not every test crate uses all of it")]

use rooflut::model;
use rooflut::table::sets;
use rooflut_report::Report;
use rooflut_scenario::{Model, Resources, Run, ScenarioFile};

/// Returns the report of a scenario of one built-in model on `h100`.
pub(crate) fn report(text: &str) -> Report {
    run(text).run(&mut ()).unwrap().report()
}

/// Returns the run of a scenario of one built-in model on `h100`.
pub(crate) fn run(text: &str) -> Run {
    let file = ScenarioFile::read(text.as_bytes()).unwrap();
    let scenario = file.scenario().clone();
    let llama = model::find(scenario.target.model()).unwrap();
    let resources = Resources {
        model: Model::new(llama.name, llama.spec),
        draft_model: None,
        tables: sets::H100.clone(),
        read: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    Run::try_new(scenario, resources).unwrap()
}
