//! Scenario files.

use std::borrow::Cow;

use rooflut_error::{Error, Kind, hint, key, misspelt, not_json};
use serde_json::{Map, Number, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fields::fields;
use crate::fleet;
use crate::list::{FileList, json};
use crate::names::{aliased, meant_by};
use crate::output::Output;
use crate::rules::Given;
use crate::scenario::{Scenario, Server, Target, Workload};
use crate::text::{in_order, line_at, one_line, shown, text_of, toml_error};
use crate::value::shortened;

/// A scenario file: TOML with a key for every field of [`Scenario`].
///
/// Keys of [`Target`] come before the first table, other keys in `[workload]`, `[server]` and `[output]`. Names may be
/// written with dashes for underscores, and [`ALIASES`](crate::ALIASES) in place of keys.
///
/// ```
/// use rooflut_scenario::ScenarioFile;
/// let file = ScenarioFile::read(b"gpu = 'h200'\n[workload]\nprompt = 'uniform:100..900'\nrate = 2.5\n")?;
/// assert_eq!(file.scenario().target.gpu.as_deref(), Some("h200"));
/// assert_eq!(file.line("rate"), Some(4));
///
/// let error = ScenarioFile::read(b"[workload]\nprompts = 512").unwrap_err();
/// assert_eq!(error.line(), Some(2));
/// assert!(error.to_string().contains("unknown key \"prompts\" in [workload] (nearest: prompt"));
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioFile {
    scenario: Scenario,
    /// The keys in the order of the file.
    keys: Vec<FileKey>,
}

#[derive(Debug, Clone, PartialEq)]
struct FileKey {
    name: &'static str,
    line: u64,
}

impl ScenarioFile {
    /// Reads a file and checks each of its values.
    ///
    /// # Errors
    /// An error with its line for text that is not TOML, and for unknown keys and wrong values.
    /// [`Scenario::check`] decides later whether keys contradict or lack each other, so other keys can replace these
    /// first.
    pub fn read(bytes: &[u8]) -> Result<ScenarioFile, Error> {
        let (file, lists) = ScenarioFile::read_with_lists(bytes)?;
        match lists.first() {
            Some(list) => {
                let text = "expected one value of each key, found lists in [sweep]; use `rooflut sweep`";
                Err(Error::new(Kind::Value, text).at_line(list.line))
            }
            None => Ok(file),
        }
    }

    /// Reads a file that may have lists of values in a table `[sweep]`, in their order.
    ///
    /// # Errors
    /// As [`read`](ScenarioFile::read), and a key with both a value and a list. The values of lists are left to the
    /// caller.
    pub fn read_with_lists(bytes: &[u8]) -> Result<(ScenarioFile, Vec<FileList>), Error> {
        let text = text_of(bytes)?;
        let table = DeTable::parse(text).map_err(|error| toml_error(text, &error))?;
        let mut reader = Reader { text, sections: Map::new(), keys: Vec::new(), lists: Vec::new() };
        reader.section("", &with_fleet(table.into_inner()))?;
        reader.keys.sort_by_key(|key| key.line);
        let scenario = Scenario::try_from_sections(reader.sections).map_err(not_json)?;
        let (keys, lists) = (reader.keys, reader.lists);
        for list in &lists {
            if let Some(key) = keys.iter().find(|key| key.name == list.key) {
                return Err(twice(key.name, key.line).at_line(list.line));
            }
        }
        let file = ScenarioFile { scenario, keys };
        match file.scenario.check_values() {
            Ok(()) => Ok((file, lists)),
            Err(wrong) => {
                let line = file.line(wrong.key);
                Err(Error::from(wrong).at_line(line))
            }
        }
    }

    /// The scenario of the file.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The keys of the file with their lines, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.keys.iter().map(|key| (key.name, key.line))
    }

    /// The line of a key, from 1; `None` for keys that are not in the file.
    pub fn line(&self, key: &str) -> Option<u64> {
        let found = self.keys.iter().find(|found| found.name == key);
        found.map(|found| found.line)
    }

    /// Removes the keys that `given` replaces, and returns them in the order of the file: the keys of `given`, the keys
    /// that exclude one of these, and the keys that have no meaning without a removed key.
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub fn remove_replaced(&mut self, given: &Scenario) -> Result<Vec<&'static str>, Error> {
        let (scenario, replaced) = kept(&self.scenario, given)?;
        self.scenario = scenario;
        let is_replaced = |name: &str| replaced.iter().any(|key| key == name);
        let (removed, kept) =
            std::mem::take(&mut self.keys).into_iter().partition::<Vec<_>, _>(|key| is_replaced(key.name));
        self.keys = kept;
        Ok(removed.iter().map(|key| key.name).collect())
    }

    /// Returns the scenario with the keys of `given` in place of its own, and the names of the keys that these replace,
    /// in the order of the file.
    ///
    /// ```
    /// use rooflut_scenario::ScenarioFile;
    /// let file = ScenarioFile::read(b"tp = 2\n[workload]\nusers = 8\n")?;
    /// let given = ScenarioFile::read(b"[workload]\nrate = 5\n")?;
    /// let (scenario, replaced) = file.overlaid(given.scenario())?;
    /// assert_eq!((scenario.target.tp, scenario.workload.rate), (Some(2), Some(5.0)));
    /// assert_eq!(replaced, ["users"]);
    /// # Ok::<(), rooflut_scenario::Error>(())
    /// ```
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub fn overlaid(mut self, given: &Scenario) -> Result<(Scenario, Vec<&'static str>), Error> {
        let replaced = self.remove_replaced(given)?;
        let scenario = self.scenario.under(given)?;
        Ok((scenario, replaced))
    }
}

impl Scenario {
    /// Returns the scenario with the keys of `given` in place of its own, and the names of the keys that these replace,
    /// as [`ScenarioFile::overlaid`].
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub fn overlaid(self, given: &Scenario) -> Result<(Scenario, Vec<String>), Error> {
        let (scenario, replaced) = kept(&self, given)?;
        Ok((scenario.under(given)?, replaced))
    }
}

/// Returns a scenario without the keys that `given` replaces, and these.
fn kept(scenario: &Scenario, given: &Scenario) -> Result<(Scenario, Vec<String>), Error> {
    let replaced = Given::of(scenario)?.replaced_by(&Given::of(given)?);
    let kept = scenario.without(|name| replaced.iter().any(|key| key == name))?;
    Ok((kept, replaced))
}

/// A file that is being read.
struct Reader<'t> {
    text: &'t str,
    /// The sections of a [`Scenario`].
    sections: Map<String, Value>,
    keys: Vec<FileKey>,
    lists: Vec<FileList>,
}

impl Reader<'_> {
    /// Adds the keys of a table under their names in [`Scenario`].
    fn section(&mut self, section: &'static str, table: &DeTable<'_>) -> Result<(), Error> {
        for (name, value) in in_order(table) {
            let line = line_at(self.text, name.span().start);
            let mut named = NAMED.into_iter().filter(|_| section.is_empty());
            let table = named.find(|table| *table == name.get_ref());
            match (table, value.get_ref()) {
                (Some(table), DeValue::Table(keys)) => self.section(table, keys)?,
                (Some(key), _) => {
                    let found = shown(self.text.get(value.span()));
                    let text =
                        format!("{key}: expected the table [{key}], found {found}; write its keys below [{key}]");
                    return Err(Error::new(Kind::Value, text).at_line(line));
                }
                (None, DeValue::Table(lists)) if section.is_empty() && name.get_ref() == SWEEP => {
                    self.lists = FileList::all(self.text, lists)?;
                }
                (None, other) => {
                    let key = find(section, name.get_ref(), other.is_table()).map_err(|error| error.at_line(line))?;
                    self.add(section, FileKey { name: key, line }, value)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a key, whose value can be read.
    fn add(&mut self, section: &str, key: FileKey, value: &Spanned<DeValue<'_>>) -> Result<(), Error> {
        let FileKey { name, line } = key;
        if let Some(first) = self.keys.iter().find(|first| first.name == name) {
            return Err(twice(name, first.line).at_line(line));
        }
        let texts = if PARTS.contains(&name) { fleet::as_texts(self.text, name, value)? } else { None };
        // No key has a table or a date, which are read as an object here.
        let json = texts.or_else(|| json(value.get_ref(), &number)).unwrap_or(Value::Object(Map::new()));
        let section = if section.is_empty() { "target" } else { section };
        let alone = Map::from_iter([(section.to_owned(), json!({ name: json.clone() }))]);
        if let Err(error) = Scenario::try_from_sections(alone) {
            let (expected, found) = (one_line(&error.to_string()), shown(self.text.get(value.span())));
            let text = match expected.contains("found") {
                true if expected.contains("; ") => format!("{}: {expected}", self::key(name)),
                true => format!("{}: {expected}; correct it", self::key(name)),
                false => format!("{}: {expected}, found {found}; correct it", self::key(name)),
            };
            return Err(Error::new(Kind::Value, text).at_line(line));
        }
        let keys = self.sections.entry(section).or_insert_with(|| Value::Object(Map::new()));
        keys.as_object_mut().map(|keys| keys.insert(name.to_owned(), json));
        self.keys.push(key);
        Ok(())
    }
}

/// Returns a number of TOML as JSON: one that JSON does not have as its text, so that its key says what is wrong with it.
fn number(digits: &str) -> Value {
    let whole = digits.parse::<i64>().ok().map(Number::from);
    let number = whole.or_else(|| digits.parse().ok().and_then(Number::from_f64));
    number.map_or_else(|| digits.into(), Value::Number)
}

/// A key that is given twice.
fn twice(name: &str, first: u64) -> Error {
    Error::new(Kind::Conflict, format!("{}: expected once, also found on line {first}; remove one", key(name)))
}

/// Tables of a file.
const NAMED: [&str; 3] = ["workload", "server", "output"];

/// Keys of `[server]` whose values are tables.
const PARTS: [&str; 3] = ["prefill", "decode", FLEET];

/// The key of `[server]` whose tables stand above its table, as `[[fleet]]`.
const FLEET: &str = "fleet";

/// Moves the tables `[[fleet]]` into the table `[server]`, whose key they are, unless it has one already.
fn with_fleet(mut table: DeTable<'_>) -> DeTable<'_> {
    const SERVER: &str = "server";
    if !table.contains_key(SERVER)
        && let Some((name, _)) = table.get_key_value(FLEET)
    {
        let span = name.span();
        let server = Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
        table.insert(Spanned::new(span, Cow::Borrowed(SERVER)), server);
    }
    let fleet = table.remove_entry(FLEET);
    match (fleet, table.get_mut(SERVER).map(Spanned::get_mut)) {
        (Some((name, fleet)), Some(DeValue::Table(server))) if !server.contains_key(FLEET) => {
            server.insert(name, fleet);
        }
        (Some((name, fleet)), _) => drop(table.insert(name, fleet)),
        (None, _) => (),
    }
    table
}

/// The table of lists.
const SWEEP: &str = "sweep";

/// Returns the table of a scenario file that has this key, empty above the first one; `None` if none has.
///
/// ```
/// use rooflut_scenario::table_of;
/// assert_eq!(["tp", "rate", "speed"].map(table_of), [Some(""), Some("workload"), None]);
/// ```
pub fn table_of(key: &str) -> Option<&'static str> {
    keys().find(|(_, name)| *name == key).map(|(table, _)| table)
}

/// Returns the key of this name.
pub(crate) fn known(name: &str) -> Option<&'static str> {
    keys().map(|(_, key)| key).find(|key| *key == name)
}

/// Returns all keys, each behind the name of its table.
pub(crate) fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = [
        ("", fields::<Target>()),
        ("workload", fields::<Workload>()),
        ("server", fields::<Server>()),
        ("output", fields::<Output>()),
    ];
    let named = |(section, keys): (_, &'static [&'static str])| keys.iter().map(move |key| (section, *key));
    sections.into_iter().flat_map(named)
}

/// Finds the key of this name in this section.
fn find(section: &'static str, found: &str, is_table: bool) -> Result<&'static str, Error> {
    let name = found.replace('-', "_");
    let name = aliased(&name).unwrap_or(name.as_str());
    match keys().find(|(_, key)| *key == name) {
        Some((of, key)) if of == section => Ok(key),
        Some((section, name)) => {
            let place = if section.is_empty() { "above the first table".to_owned() } else { format!("in [{section}]") };
            Err(Error::new(Kind::Conflict, format!("{}: expected {place}; move it there", key(name))))
        }
        None if is_table && section.is_empty() => {
            let (found, near) = (shortened(found), hint(misspelt(found, NAMED).as_slice()));
            let text = format!("unknown table {found:?}{near}; use [server], [workload], [output]");
            Err(Error::new(Kind::UnknownName, text))
        }
        None => {
            let place = if section.is_empty() { String::new() } else { format!(" in [{section}]") };
            let near = meant_by(name).or_else(|| misspelt(found, keys().map(|(_, key)| key)));
            let (found, near) = (shortened(found), hint(near.as_slice()));
            let text = format!("unknown key {found:?}{place}{near}; correct or remove it");
            Err(Error::new(Kind::UnknownName, text))
        }
    }
}

impl Scenario {
    /// Returns the scenario as a scenario file.
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub fn to_toml(&self) -> Result<String, Error> {
        let sections = self.sections()?;
        let mut text = String::new();
        for table in ["target", "workload", "server", "output"] {
            let keys = sections.get(table).and_then(Value::as_object).into_iter().flatten();
            let lines: String =
                keys.filter(|(_, value)| !value.is_null()).map(|(key, value)| format!("{key} = {value}\n")).collect();
            if !lines.is_empty() {
                text += &if table == "target" { lines } else { format!("\n[{table}]\n{lines}") };
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{ALIASES, MEANINGS};

    #[test]
    fn every_other_name_is_unknown_and_stands_for_a_key() {
        for (name, key) in ALIASES.into_iter().chain(MEANINGS) {
            assert_eq!((known(&name.replace('-', "_")), known(key)), (None, Some(key)), "{name}");
            assert_eq!(meant_by(name), Some(key), "{name} is once in the tables");
        }
    }
}
