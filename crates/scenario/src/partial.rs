//! Scenarios of the settings that some servers have of their own.

use std::path::PathBuf;

use rooflut_error::Error;
use serde_json::{Map, Value};

use crate::data_sheet::names_file;
use crate::file::table_of;
use crate::fleet::Fleet;
use crate::number::invalid;
use crate::part::{KEYS, Part, PartSetting, as_setting};
use crate::scenario::{Scenario, Server};

impl Part {
    /// Returns the settings that `scenario` has of keys of parts.
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub(crate) fn of(scenario: &Scenario) -> Result<Part, Error> {
        let sections = scenario.sections()?;
        let settings = KEYS.into_iter().filter_map(|key| {
            let value = match sections.get("target")?.get(key).or_else(|| sections.get("server")?.get(key))? {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(PartSetting { key, value })
        });
        Ok(Part(settings.collect()))
    }

    /// Returns a scenario with these settings alone.
    pub(crate) fn scenario(&self) -> Result<Scenario, Error> {
        let mut sections = Map::new();
        for PartSetting { key, value } in &self.0 {
            let section = match table_of(key) {
                Some("") | None => "target",
                Some(section) => section,
            };
            let value = match (*key, value.as_str()) {
                ("expert_parallel", "true") => Value::Bool(true),
                ("expert_parallel", "false") => Value::Bool(false),
                (_, text) => Value::from(text),
            };
            let keys = sections.entry(section).or_insert_with(|| Map::new().into());
            keys.as_object_mut().into_iter().for_each(|keys| drop(keys.insert((*key).to_owned(), value.clone())));
        }
        let scenario = Scenario::try_from_sections(sections).map_err(|error| match self.0.as_slice() {
            [PartSetting { key, value }] => invalid(format!("{key}: {error}, found {value:?}")),
            _ => invalid(error.to_string()),
        })?;
        scenario.check_values().map_err(|wrong| invalid(as_setting(&wrong.into())))?;
        Ok(scenario)
    }

    /// Returns `scenario` with these settings in place of its own, and without the keys that they exclude.
    pub(crate) fn over(&self, scenario: &Scenario) -> Result<Scenario, Error> {
        // One by one, an error names its setting.
        self.0.iter().try_for_each(|setting| Part(vec![setting.clone()]).scenario().map(drop))?;
        Ok(scenario.clone().overlaid(&self.scenario()?)?.0)
    }
}

impl Server {
    /// Returns the files that settings of parts of the servers name, with the keys of the parts: tables, data sheets, and
    /// the file of a fleet.
    pub(crate) fn part_files(&self) -> Vec<(&'static str, PathBuf)> {
        let fleet = self.fleet.iter();
        let entries = fleet.clone().flat_map(Fleet::entries).flat_map(|entry| entry.part.settings());
        let pools = [("prefill", &self.prefill), ("decode", &self.decode)];
        let pools = pools.into_iter().flat_map(|(key, part)| part.iter().flatten().map(move |setting| (key, setting)));
        let named = entries.map(|setting| ("fleet", setting)).chain(pools).filter(|(_, setting)| match setting.key {
            "tables" => true,
            "gpu" => names_file(&setting.value),
            _ => false,
        });
        let named = named.map(|(key, setting)| (key, PathBuf::from(&setting.value)));
        named.chain(fleet.filter_map(Fleet::path).map(|path| ("fleet", path.to_owned()))).collect()
    }
}

/// Returns a scenario without the keys that parts have.
pub(crate) fn without_keys(scenario: &Scenario) -> Result<Scenario, Error> {
    scenario.without(|key| KEYS.contains(&key))
}
