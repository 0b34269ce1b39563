//! Scenarios as JSON: sections with keys.

use rooflut_error::{Error, not_json};
use serde_json::{Error as JsonError, Map, Value};

use crate::scenario::Scenario;

// Compiled once: the code of a crate that reads scenarios for itself grows by a third.
impl Scenario {
    /// Reads the sections `target`, `workload`, `server` and `output`, each an object with the keys of its struct.
    ///
    /// ```
    /// use rooflut_scenario::Scenario;
    /// use serde_json::{Map, json};
    ///
    /// let sections = Map::from_iter([("workload".to_owned(), json!({ "rate": "1e1" }))]);
    /// assert_eq!(Scenario::try_from_sections(sections)?.workload.rate, Some(10.0));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// Unknown sections and keys, and values that a key does not have: those that it has.
    pub fn try_from_sections(sections: Map<String, Value>) -> Result<Scenario, JsonError> {
        serde_json::from_value(Value::Object(sections))
    }

    /// Returns its sections, with null for what is not given.
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub fn sections(&self) -> Result<Map<String, Value>, Error> {
        match serde_json::to_value(self) {
            Ok(Value::Object(sections)) => Ok(sections),
            Ok(_) => Ok(Map::new()),
            Err(error) => Err(not_json(error)),
        }
    }

    /// Returns the keys of one of its sections, as [`sections`](Scenario::sections) has them.
    ///
    /// # Errors
    /// Values that JSON does not have, and an unknown section.
    pub fn section(&self, name: &str) -> Result<Value, Error> {
        let keys = match name {
            "target" => serde_json::to_value(&self.target),
            "workload" => serde_json::to_value(&self.workload),
            "server" => serde_json::to_value(&self.server),
            "output" => serde_json::to_value(&self.output),
            _ => return Err(not_json(format_args!("no section {name}"))),
        };
        keys.map_err(not_json)
    }

    /// Returns the scenario without some of its keys.
    pub(crate) fn without(&self, is_removed: impl Fn(&str) -> bool) -> Result<Scenario, Error> {
        let mut sections = self.sections()?;
        for keys in sections.values_mut().filter_map(Value::as_object_mut) {
            keys.retain(|key, _| !is_removed(key));
        }
        Scenario::try_from_sections(sections).map_err(not_json)
    }

    /// Returns the scenario with the keys that `given` has in place of its own.
    pub(crate) fn under(&self, given: &Scenario) -> Result<Scenario, Error> {
        let mut sections = self.sections()?;
        for (section, keys) in given.sections()? {
            let own = sections.get_mut(&section).and_then(Value::as_object_mut);
            if let (Some(own), Value::Object(keys)) = (own, keys) {
                own.extend(keys.into_iter().filter(|(_, value)| !value.is_null()));
            }
        }
        Scenario::try_from_sections(sections).map_err(not_json)
    }
}
