//! Scenarios: a model on GPUs, its server and its load.

use std::ffi::c_char;

use rooflut::table::TableSet;
use rooflut_scenario::{
    Find, Kind, Model, Prices, Resources, Run, Scenario, ScenarioFile, Target, no_others, tables_of,
};

use crate::error::{Code, Error, Failure};
use crate::files::{self, open};
use crate::pointer::{input, text};
use crate::registry::REGISTRY;
use crate::text::returning;
use crate::{Handle, model, tables};

/// A scenario as TOML, with objects in place of names in it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ScenarioSource {
    /// The keys of a scenario file of `rooflut run --scenario`: deployment, `[server]`, `[workload]`, `[output]`.
    /// Empty for the defaults.
    pub toml: *const c_char,
    /// Bytes of `toml`.
    pub toml_length: usize,
    /// The model; 0 for the built-in one that the key `model` names.
    pub model: Handle,
    /// The draft model; 0 for the built-in one that the key `draft_model` names, if there is one.
    pub draft_model: Handle,
    /// The tables; 0 for the tables named by the key `gpu` or `tables`.
    pub tables: Handle,
}

/// Checks a scenario, looks every kernel up and reads the load.
///
/// Steps are timed on one server of the scenario. `rooflut_server_new` returns such a server; `rooflut_scenario_run`
/// simulates all servers under the load. Traces, and files of lengths and prices, are read from their paths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_scenario_new(
    source: *const ScenarioSource,
    scenario: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let given = unsafe { Given::new(source) }?;
        let scenario = given.scenario()?;
        let resources = given.objects.resources(&scenario)?;
        let run = Run::try_new(scenario, resources).map_err(refused)?;
        REGISTRY.scenarios.insert(run)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((scenario, "scenario"), error, make) }
}

/// Returns the scenario with another seed, of the load and of the acceptance of drafts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_scenario_with_seed(
    scenario: Handle,
    seed: u64,
    reseeded: *mut Handle,
    error: *mut Error,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { derived(scenario, (reseeded, "reseeded"), error, |run| run.with_seed(seed)) }
}

/// Returns the scenario at another rate, requests (or sessions) per second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_scenario_with_rate(
    scenario: Handle,
    rate: f64,
    at_rate: *mut Handle,
    error: *mut Error,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { derived(scenario, (at_rate, "at_rate"), error, |run| run.with_rate(rate)) }
}

/// # Safety
/// `out` and `error` are null or valid for writes.
unsafe fn derived(
    scenario: Handle,
    out: (*mut Handle, &str),
    error: *mut Error,
    derive: impl FnOnce(&Run) -> Result<Run, rooflut_scenario::Error>,
) -> u32 {
    let make = || {
        let derived = REGISTRY.scenarios.read(scenario, |run| derive(run).map_err(refused))?;
        REGISTRY.scenarios.insert(derived)
    };
    // SAFETY: the caller's promise.
    unsafe { returning(out, error, make) }
}

/// The text of a scenario, and the objects in place of names in it.
pub(crate) struct Given<'a> {
    pub(crate) toml: &'a str,
    pub(crate) objects: Objects,
}

/// Objects in place of names; 0 where the name counts.
#[derive(Clone, Copy)]
pub(crate) struct Objects {
    pub(crate) model: Handle,
    pub(crate) draft_model: Handle,
    pub(crate) tables: Handle,
}

impl<'a> Given<'a> {
    /// # Safety
    /// `source` is null or valid for reads, and so is its text for `'a`.
    pub(crate) unsafe fn new(source: *const ScenarioSource) -> Result<Given<'a>, Failure> {
        // SAFETY: the caller's promise.
        let (source, toml) = unsafe {
            let source = input(source, "source")?;
            (source, text(source.toml, source.toml_length, "toml")?)
        };
        let objects = Objects { model: source.model, draft_model: source.draft_model, tables: source.tables };
        Ok(Given { toml, objects })
    }

    /// Reads the text.
    pub(crate) fn scenario(&self) -> Result<Scenario, Failure> {
        let file = ScenarioFile::read(self.toml.as_bytes())
            .map_err(|error| Failure::refused(format_args!("toml: {error}")))?;
        Ok(file.scenario().clone())
    }
}

impl Objects {
    pub(crate) fn resources(&self, scenario: &Scenario) -> Result<Resources<'static>, Failure> {
        let (model, draft_model) = (self.model(scenario)?, self.draft_model(scenario)?);
        let tables = self.tables(scenario)?;
        // Servers with settings of their own name what they differ in.
        let find: Find<'static> = if self.model == 0 && self.tables == 0 { &of_target } else { &no_others };
        Ok(Resources { model, draft_model, tables, find, read: &open })
    }

    pub(crate) fn model(&self, scenario: &Scenario) -> Result<Model, Failure> {
        match self.model {
            0 => model::find(scenario.target.model()),
            given => given_model(given),
        }
    }

    pub(crate) fn draft_model(&self, scenario: &Scenario) -> Result<Option<Model>, Failure> {
        match (self.draft_model, scenario.server.draft_model()) {
            (0, None) => Ok(None),
            (0, Some(name)) => model::find(name).map(Some),
            (given, Some(_)) => given_model(given).map(Some),
            (_, None) => Err(Failure::refused(
                "draft_model: expected the key draft_model in [server], found none; name the draft model there",
            )),
        }
    }

    pub(crate) fn tables(&self, scenario: &Scenario) -> Result<TableSet, Failure> {
        match (self.tables, &scenario.target.tables) {
            (0, Some(path)) => {
                TableSet::try_load(path).map_err(|error| Failure::refused(format_args!("tables: {error}")))
            }
            (0, None) => match scenario.target.sheet() {
                Some(path) => {
                    let sheet = files::read(path, rooflut_error::Whole::DataSheet)
                        .map_err(rooflut_error::reading(path))
                        .map_err(refused)?;
                    tables_of(path, &sheet, scenario.target.base.as_deref()).map_err(refused)
                }
                None => tables::find(scenario.target.gpu()).cloned(),
            },
            (given, _) => REGISTRY.tables.read(given, |tables| Ok(tables.clone())),
        }
    }
}

/// Finds the model and the tables of servers with settings of their own, by name.
fn of_target(target: &Target) -> Result<(Model, TableSet), rooflut_scenario::Error> {
    let mut scenario = Scenario::default();
    scenario.target = target.clone();
    let by_name = Objects { model: 0, draft_model: 0, tables: 0 };
    let named = by_name.model(&scenario).and_then(|model| Ok((model, by_name.tables(&scenario)?)));
    named.map_err(|failure| rooflut_scenario::Error::new(Kind::UnknownName, failure.to_string()))
}

/// Returns the prices of GPUs, with those that a scenario gives in place of the defaults.
pub(crate) fn prices(scenario: &Scenario, sets: &[TableSet]) -> Result<Prices, Failure> {
    let own: Vec<&str> = sets.iter().map(|set| set.gpu().name.as_str()).collect();
    Prices::try_open(&scenario.output, &own, &open).map_err(refused)
}

fn given_model(handle: Handle) -> Result<Model, Failure> {
    REGISTRY.models.read(handle, |model| Ok(model.clone()))
}

pub(crate) fn refused(error: rooflut_scenario::Error) -> Failure {
    match error.kind() {
        Kind::StepTime => Failure::new(Code::StepTime, error),
        _ => Failure::refused(format_args!("scenario: {error}")),
    }
}
