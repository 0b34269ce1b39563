//! Settings of servers that differ from those of the scenario.

use std::fmt;
use std::str::FromStr;

use rooflut_error::{Error, Kind, hint, key, misspelt};

use crate::names::{aliased, meant_by};
use crate::number::invalid;
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
    /// A key that parts do not have.
    pub(crate) fn try_new(name: &str, value: &str) -> Result<PartSetting, Error> {
        Ok(PartSetting { key: key_of(name, &KEYS)?, value: value.to_owned() })
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
    if own == "replicas" {
        let text = "replicas: expected in prefill_replicas or decode_replicas; move it there";
        return Err(Error::new(Kind::Conflict, text));
    }
    let keys = || keys.iter().copied();
    let all = keys().collect::<Vec<_>>().join(", ");
    let near = meant_by(own).filter(|near| keys().any(|key| key == *near)).or_else(|| misspelt(own, keys()));
    let found = shortened(name);
    let text = format!(
        "{found:?} is no setting that some servers have of their own{}; use one of {all}",
        hint(near.as_slice())
    );
    Err(Error::new(Kind::UnknownName, text))
}

/// Settings of a part of the servers, each key once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Part(pub(crate) Vec<PartSetting>);

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

    pub(crate) fn settings(&self) -> &[PartSetting] {
        &self.0
    }

    pub(crate) fn into_settings(self) -> Vec<PartSetting> {
        self.0
    }
}

/// Returns a message with settings as parts have them: `tp=2`.
pub(crate) fn as_setting(error: &Error) -> String {
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
