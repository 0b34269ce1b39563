//! Scenarios: a model on GPUs, its server and its load.

use std::ffi::c_char;
use std::fs::File;
use std::path::Path;

use rooflut::table::TableSet;
use rooflut_scenario::{Model, Resources, Run, RunError, Scenario, ScenarioFile};
use rooflut_traces::Input;

use crate::error::{Error, Failure};
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
    /// The tables; 0 for those that the key `gpu` or `tables` names.
    pub tables: Handle,
}

/// Checks a scenario, looks every kernel up and reads the load.
///
/// Steps are those of one of its servers; `rooflut_server_new` returns such a server, `rooflut_scenario_run` simulates
/// all of them under the load. Traces, and files of lengths and prices, are read from their paths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_scenario_new(
    source: *const ScenarioSource,
    scenario: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let source = unsafe { Given::new(source) }?;
        let resources = source.resources()?;
        let run = Run::try_new(source.scenario, resources).map_err(refused)?;
        REGISTRY.scenarios.insert(run)
    };
    // SAFETY: the caller's promise.
    unsafe { returning(scenario, error, make) }
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
    unsafe { derived(scenario, reseeded, error, |run| run.with_seed(seed)) }
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
    unsafe { derived(scenario, at_rate, error, |run| run.with_rate(rate)) }
}

/// # Safety
/// `out` and `error` are null or valid for writes.
unsafe fn derived(
    scenario: Handle,
    out: *mut Handle,
    error: *mut Error,
    derive: impl FnOnce(&Run) -> Result<Run, RunError>,
) -> u32 {
    let make = || {
        let derived = REGISTRY
            .scenarios
            .read(scenario, |run| derive(run).map_err(refused))?;
        REGISTRY.scenarios.insert(derived)
    };
    // SAFETY: the caller's promise.
    unsafe { returning(out, error, make) }
}

/// A scenario, and the objects in place of names in it.
pub(crate) struct Given {
    pub(crate) scenario: Scenario,
    pub(crate) model: Model,
    pub(crate) draft_model: Option<Model>,
    tables: Handle,
}

impl Given {
    /// Reads the text and finds the models.
    ///
    /// # Safety
    /// `source` is null or valid for reads, and so is its text.
    pub(crate) unsafe fn new(source: *const ScenarioSource) -> Result<Given, Failure> {
        // SAFETY: the caller's promise.
        let (source, toml) = unsafe {
            let source = input(source, "source")?;
            (source, text(source.toml, source.toml_length, "toml")?)
        };
        let file = ScenarioFile::read(toml.as_bytes())
            .map_err(|error| Failure::refused(format_args!("toml: {error}")))?;
        let scenario = file.scenario().clone();
        let draft = scenario.server.draft_model();
        let draft_model = match (source.draft_model, draft) {
            (0, None) => None,
            (0, Some(name)) => Some(model::find(name)?),
            (given, Some(_)) => Some(given_model(given)?),
            (_, None) => {
                return Err(Failure::refused(
                    "draft_model: expected the key draft_model in [server], found none; name the draft model there",
                ));
            }
        };
        Ok(Given {
            model: match source.model {
                0 => model::find(scenario.target.model())?,
                given => given_model(given)?,
            },
            draft_model,
            tables: source.tables,
            scenario,
        })
    }

    /// Returns the tables of the scenario.
    pub(crate) fn tables(&self) -> Result<TableSet, Failure> {
        match (self.tables, &self.scenario.target.tables) {
            (0, Some(path)) => TableSet::try_load(path).map_err(Failure::refused),
            (0, None) => tables::find(self.scenario.target.gpu()).cloned(),
            (given, _) => REGISTRY.tables.read(given, |tables| Ok(tables.clone())),
        }
    }

    fn resources(&self) -> Result<Resources<'static>, Failure> {
        Ok(Resources {
            model: self.model.clone(),
            draft_model: self.draft_model.clone(),
            tables: self.tables()?,
            read: &open,
        })
    }
}

fn given_model(handle: Handle) -> Result<Model, Failure> {
    REGISTRY.models.read(handle, |model| Ok(model.clone()))
}

/// Opens a trace, or a file of lengths or prices.
pub(crate) fn open(path: &Path) -> std::io::Result<Input> {
    File::open(path).map(Input::from)
}

pub(crate) fn refused(error: RunError) -> Failure {
    Failure::refused(format_args!("scenario: {error}"))
}
