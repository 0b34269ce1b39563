//! Settings of servers that differ from those of the scenario.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rooflut_error::{Error, Kind, hint, key, misspelt, not_json};
use serde_json::{Map, Value};

use crate::data_sheet::names_sheet;
use crate::file::{known, table_of, without};
use crate::fleet::Fleet;
use crate::names::{aliased, meant_by};
use crate::number::invalid;
use crate::scenario::{Scenario, Server};
use crate::value::shortened;

/// Keys of the servers of a part of a fleet.
pub(crate) const KEYS: [&str; 16] = [
    "gpu",
    "tables",
    "base",
    "tp",
    "pp",
    "dp",
    "expert_parallel",
    "dtype",
    "kv_dtype",
    "max_num_seqs",
    "max_num_batched_tokens",
    "long_prefill_token_threshold",
    "max_model_len",
    "gpu_memory_utilization",
    "kv_blocks",
    "max_waiting",
];

/// A setting of prefill or decode servers, in place of that of the scenario: `tp=2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSetting {
    pub(crate) key: &'static str,
    pub(crate) value: String,
}

impl PartSetting {
    /// Reads a setting by the name of its key.
    ///
    /// # Errors
    /// A key that parts do not have, and a value that the key does not take.
    pub(crate) fn try_new(name: &str, value: &str) -> Result<PartSetting, Error> {
        let setting = PartSetting { key: key_of(name, &KEYS)?, value: value.to_owned() };
        Part::try_new(vec![setting.clone()])?.scenario()?;
        Ok(setting)
    }
}

impl FromStr for PartSetting {
    type Err = Error;

    fn from_str(text: &str) -> Result<PartSetting, Error> {
        let (name, value) = name_and_value(text)?;
        PartSetting::try_new(name, value)
    }
}

impl fmt::Display for PartSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// Splits `tp=2`.
pub(crate) fn name_and_value(text: &str) -> Result<(&str, &str), Error> {
    let found = shortened(text);
    let split = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    split.ok_or_else(|| invalid(format!("expected KEY=VALUE, as in tp=2, found {found:?}")))
}

/// Returns the key of a part that `name` names, with dashes or underscores, or as vLLM calls it.
pub(crate) fn key_of(name: &str, keys: &[&'static str]) -> Result<&'static str, Error> {
    let own = name.replace('-', "_");
    let own = aliased(&own).unwrap_or(own.as_str());
    if let Some(key) = keys.iter().find(|key| **key == own) {
        return Ok(key);
    }
    let keys = || keys.iter().copied();
    let all = keys().collect::<Vec<_>>().join(", ");
    let (kind, text) = match known(own) {
        Some("replicas") => {
            (Kind::Conflict, "replicas: expected in prefill_replicas or decode_replicas; move it there".to_owned())
        }
        Some(of_all) => {
            (Kind::Conflict, format!("{of_all} is the same for all servers; set it for all, or use one of {all}"))
        }
        None => {
            let near = meant_by(own).filter(|near| keys().any(|key| key == *near)).or_else(|| misspelt(own, keys()));
            let found = shortened(name);
            (Kind::UnknownName, format!("unknown key {found:?}{}; use one of {all}", hint(near.as_slice())))
        }
    };
    Err(Error::new(kind, text))
}

/// Settings of a part of the servers, each key once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Part(Vec<PartSetting>);

impl Part {
    /// Collects settings.
    ///
    /// # Errors
    /// A key that is given twice.
    pub(crate) fn try_new(settings: Vec<PartSetting>) -> Result<Part, Error> {
        for (index, setting) in settings.iter().enumerate() {
            if settings.iter().skip(index + 1).any(|other| other.key == setting.key) {
                let text = format!("expected {} once, found it twice; remove one", setting.key);
                return Err(Error::new(Kind::Conflict, text));
            }
        }
        Ok(Part(settings))
    }

    /// Returns the settings that `scenario` has of keys of parts.
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub(crate) fn of(scenario: &Scenario) -> Result<Part, Error> {
        let [target, server] = [serde_json::to_value(&scenario.target), serde_json::to_value(&scenario.server)];
        let (target, server) = (target.map_err(not_json)?, server.map_err(not_json)?);
        let settings = KEYS.into_iter().filter_map(|key| {
            let value = match target.get(key).or_else(|| server.get(key))? {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(PartSetting { key, value })
        });
        Ok(Part(settings.collect()))
    }

    pub(crate) fn settings(&self) -> &[PartSetting] {
        &self.0
    }

    pub(crate) fn into_settings(self) -> Vec<PartSetting> {
        self.0
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
        let scenario: Result<Scenario, _> = serde_json::from_value(sections.into());
        let scenario = scenario.map_err(|error| match self.0.as_slice() {
            [PartSetting { key, value }] => invalid(format!("{key}: {error}, found {value:?}")),
            _ => invalid(error.to_string()),
        })?;
        scenario.check_values().map_err(|wrong| invalid(as_setting(&wrong.into())))?;
        Ok(scenario)
    }

    /// Returns `scenario` with these settings in place of its own, and without the keys that they exclude.
    pub(crate) fn over(&self, scenario: &Scenario) -> Result<Scenario, Error> {
        Ok(scenario.clone().overlaid(&self.scenario()?)?.0)
    }
}

impl Server {
    /// Returns the files that settings of parts of the servers name: tables, data sheets, and the file of a fleet.
    pub fn part_files(&self) -> Vec<PathBuf> {
        let fleet = self.fleet.iter();
        let entries = fleet.clone().flat_map(Fleet::entries).flat_map(|entry| entry.part.settings());
        let pools = [&self.prefill, &self.decode].into_iter().flatten().flatten();
        let named = entries.chain(pools).filter(|PartSetting { key, value }| match *key {
            "tables" => true,
            "gpu" => names_sheet(value),
            _ => false,
        });
        let named = named.map(|setting| PathBuf::from(&setting.value));
        named.chain(fleet.filter_map(Fleet::path).map(Path::to_owned)).collect()
    }
}

/// Returns a message with settings as parts have them: `tp=2`.
fn as_setting(error: &Error) -> String {
    error.message(|key, value| value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}")))
}

/// The key that describes servers, and the entry in its list.
pub(crate) type Place = (&'static str, Option<usize>);

/// Names the place that describes the servers of an error, if it is not the scenario as a whole.
pub(crate) fn in_part(place: Option<Place>) -> impl Fn(Error) -> Error {
    move |error| {
        let Some((named, entry)) = place else {
            return error;
        };
        let entry = entry.map_or(String::new(), |entry| format!(" (entry {})", entry + 1));
        let text = format!("{}{entry}: {}", key(named), as_setting(&error));
        Error::new(error.kind(), text).about([named])
    }
}

/// Returns a scenario without the keys that parts have.
pub(crate) fn without_keys(scenario: &Scenario) -> Result<Scenario, Error> {
    without(scenario, |key| KEYS.contains(&key)).map_err(not_json)
}
