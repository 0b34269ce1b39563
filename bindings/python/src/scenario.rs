//! Scenarios from keyword arguments, dictionaries and files.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut_scenario::{Scenario, ScenarioFile, table_of};
use toml::{Table, Value};

use crate::border::compute;
use crate::error::{error, shown};
use crate::toml_value::table;

/// A scenario, and the file that it is from.
pub(crate) struct Given {
    pub(crate) scenario: Scenario,
    pub(crate) file: Option<rooflut_report::ScenarioFile>,
}

/// Reads keys, each alone or in the dictionary of its table (`server={"max_num_seqs": 64}`).
pub(crate) fn of_keys(keys: Option<&Bound<'_, PyDict>>) -> PyResult<ScenarioFile> {
    let mut scenario = Table::new();
    for (key, value) in keys.map(table).transpose()?.unwrap_or_default() {
        match (table_of(&key), value) {
            (None, Value::Table(keys)) => insert(&mut scenario, &key, keys)?,
            (Some(_), Value::Table(_)) => {
                return Err(error(format!(
                    "{key}: expected a single value, found a dictionary; only tables of keys are dictionaries"
                )));
            }
            (None | Some(""), value) => insert(&mut scenario, "", Table::from_iter([(key, value)]))?,
            (Some(of), value) => insert(&mut scenario, of, Table::from_iter([(key, value)]))?,
        }
    }
    let text = toml::to_string(&scenario).map_err(error)?;
    // Its lines are those of no file.
    ScenarioFile::read(text.as_bytes()).map_err(|cause| error(cause.without_line()))
}

/// Adds keys to the table of this name, empty for the scenario itself.
fn insert(scenario: &mut Table, name: &str, keys: Table) -> PyResult<()> {
    let table = match name {
        "" => scenario,
        name => match scenario.entry(name).or_insert_with(|| Table::new().into()) {
            Value::Table(table) => table,
            _ => {
                return Err(error(format!("{name}: given as a key and as a table; leave one out")));
            }
        },
    };
    for (key, value) in keys {
        if table.insert(key.clone(), value).is_some() {
            return Err(error(format!("{key}: given twice; leave one out")));
        }
    }
    Ok(())
}

/// Reads a scenario: the path of a TOML file or a dictionary, with keys that replace its own. An untrusted file may name
/// nothing outside of its own folder.
pub(crate) fn read(
    scenario: Option<&Bound<'_, PyAny>>,
    keys: Option<&Bound<'_, PyDict>>,
    untrusted: bool,
) -> PyResult<Given> {
    let given = of_keys(keys)?.scenario().clone();
    if untrusted && scenario.is_none_or(|scenario| scenario.is_instance_of::<PyDict>()) {
        return Err(error("untrusted has no effect: no scenario file is read; leave it out"));
    }
    let Some(scenario) = scenario else {
        return Ok(Given { scenario: given, file: None });
    };
    if let Ok(dict) = scenario.cast::<PyDict>() {
        let overlaid = of_keys(Some(dict))?.overlaid(&given);
        let (scenario, _) = overlaid.map_err(error)?;
        return Ok(Given { scenario, file: None });
    }
    let path: PathBuf = scenario.extract().map_err(|_| {
        error(format!("scenario: expected the path of a TOML file or a dictionary, found {}", shown(scenario)))
    })?;
    let bytes = compute(scenario.py(), || rooflut_cli::read(&path, rooflut_cli::Whole::Scenario))?
        .map_err(|cause| error(format!("cannot read {}: {cause}; check the path", path.display())))?;
    let in_file = |cause: rooflut_scenario::Error| error(cause.in_file(&path));
    let file = ScenarioFile::read(&bytes).map_err(in_file)?;
    if untrusted {
        let mut own = file.clone();
        own.remove_replaced(&given).map_err(in_file)?;
        rooflut_cli::check_untrusted(&path, &own).map_err(error)?;
    }
    let (scenario, replaced) = file.overlaid(&given).map_err(in_file)?;
    let file = rooflut_report::ScenarioFile {
        path: path.display().to_string(),
        replaced: replaced.into_iter().map(str::to_owned).collect(),
    };
    Ok(Given { scenario, file: Some(file) })
}
