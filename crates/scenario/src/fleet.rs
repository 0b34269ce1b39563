//! Fleets of unlike servers.

use std::path::{Path, PathBuf};

use rooflut_error::{Error, Kind, Whole, key, reading};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::number::{invalid, whole};
use crate::part::{self, Part, PartSetting};
use crate::text::{in_order, line_at, read_table, shown};
use crate::value::shortened;

/// The key of a fleet's entries.
const FLEET: &str = "fleet";
/// The number of equal servers of an entry.
const REPLICAS: &str = "replicas";
/// The largest number of servers of an entry.
const MAX_REPLICAS: u32 = 4096;

/// Deployments behind one router: `[[fleet]]` tables of a scenario file, or of a file of their own.
///
/// ```
/// use rooflut_scenario::ScenarioFile;
/// let file = ScenarioFile::read(b"[[fleet]]\ngpu = 'h100'\n[[fleet]]\ngpu = 'l40s'\nreplicas = 2\n")?;
/// let fleet = file.scenario().server.fleet.as_ref();
/// assert_eq!(fleet.map(|fleet| fleet.servers()), Some(3));
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    entries: Vec<Entry>,
    /// The file that it was read from, if it is not the scenario's.
    path: Option<PathBuf>,
}

/// Equal servers of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) part: Part,
    pub(crate) replicas: u32,
}

impl Fleet {
    fn try_new(entries: Vec<Entry>) -> Result<Fleet, Error> {
        match entries.is_empty() {
            true => Err(invalid("expected at least one [[fleet]] table, found none; add one")),
            false => Ok(Fleet { entries, path: None }),
        }
    }

    /// Reads the file at a path: TOML with `[[fleet]]` tables and nothing else.
    ///
    /// # Errors
    /// A file that cannot be read, and an error with its line for what is no fleet.
    pub fn open(path: &str) -> Result<Fleet, Error> {
        if path.is_empty() {
            return Err(invalid("expected a file, found none; name one"));
        }
        let path = Path::new(path);
        let bytes = Whole::Fleet.open(path).map_err(reading(path))?;
        let fleet = Fleet::read(&bytes).map_err(|error| error.in_file(path))?;
        Ok(Fleet { path: Some(path.to_owned()), ..fleet })
    }

    /// Reads the contents of a file with `[[fleet]]` tables.
    ///
    /// # Errors
    /// As [`open`](Fleet::open).
    pub fn read(bytes: &[u8]) -> Result<Fleet, Error> {
        let (text, table) = read_table(bytes)?;
        let mut entries = None;
        for (name, value) in table.get_ref() {
            if name.get_ref() != FLEET {
                let found = shortened(name.get_ref());
                let error = Error::new(Kind::UnknownName, format!("unknown key {found:?}; use [[fleet]] tables alone"));
                return Err(error.at_line(line_at(text, name.span().start)));
            }
            entries = Some(entries_of(text, value)?);
        }
        Fleet::try_new(entries.unwrap_or_default())
    }

    /// The file that it was read from, if it is not the scenario's.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Number of its servers.
    pub fn servers(&self) -> u32 {
        self.entries.iter().map(|entry| entry.replicas).sum()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl Entry {
    /// Collects the settings of an entry, one of which may be its number of servers.
    fn try_new<'t>(settings: impl IntoIterator<Item = (&'t str, String)>) -> Result<Entry, Error> {
        let mut keys = part::KEYS.to_vec();
        keys.push(REPLICAS);
        let (mut own, mut replicas) = (Vec::new(), None);
        for (name, value) in settings {
            match part::key_of(name, &keys)? {
                REPLICAS if replicas.is_some() => {
                    return Err(Error::new(Kind::Conflict, "expected replicas once, found it twice; remove one"));
                }
                REPLICAS => replicas = Some(count(&value)?),
                key => own.push(PartSetting::try_new(key, &value)?),
            }
        }
        Ok(Entry { part: Part::try_new(own)?, replicas: replicas.unwrap_or(1) })
    }
}

fn count(text: &str) -> Result<u32, Error> {
    let count = whole(text).ok().filter(|count| (1..=MAX_REPLICAS).contains(count));
    count.ok_or_else(|| invalid(format!("replicas: expected a whole number from 1 to {MAX_REPLICAS}, found {text}")))
}

/// Returns the entries of `[[fleet]]` tables.
fn entries_of(text: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<Entry>, Error> {
    let wrong = |value: &Spanned<DeValue<'_>>| {
        let error = format!(
            "{}: expected [[fleet]] tables, found {}; write such tables",
            key(FLEET),
            shown(text.get(value.span()))
        );
        Error::new(Kind::Value, error).at_line(line_at(text, value.span().start))
    };
    let DeValue::Array(tables) = value.get_ref() else {
        return Err(wrong(value));
    };
    let entries = tables.iter().map(|entry| {
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(wrong(entry));
        };
        let line = line_at(text, entry.span().start);
        let error = |error: Error| error.map(|text| format!("{}: {text}", key(FLEET))).about([FLEET]).at_line(line);
        Entry::try_new(settings_of(text, table)).map_err(error)
    });
    entries.collect()
}

/// Returns the settings of a table as texts, in the order of the file.
pub(crate) fn settings_of<'t>(text: &str, table: &'t DeTable<'_>) -> Vec<(&'t str, String)> {
    let items = in_order(table).into_iter().map(|(name, value)| {
        let value = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            _ => text.get(value.span()).unwrap_or_default().to_owned(),
        };
        (name.get_ref().as_ref(), value)
    });
    items.collect()
}

/// Returns `[[fleet]]` tables, or a table of settings, as lists of texts such as `tp=2`, which serde reads; `None` for
/// another value of the key `name`.
///
/// # Errors
/// An error with its line for tables that are no fleet, and for settings that servers do not have.
pub(crate) fn as_texts(text: &str, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Option<Value>, Error> {
    let line = line_at(text, value.span().start);
    let texts = |part: &Part, replicas: Option<u32>| {
        let replicas = replicas.map(|replicas| format!("{REPLICAS}={replicas}"));
        part.settings().iter().map(PartSetting::to_string).chain(replicas).collect::<Value>()
    };
    Ok(Some(match value.get_ref() {
        _ if name == FLEET => {
            let fleet = entries_of(text, value).and_then(Fleet::try_new).map_err(|error| error.at_line(line))?;
            fleet.entries.iter().map(|entry| texts(&entry.part, Some(entry.replicas))).collect()
        }
        DeValue::Table(table) => {
            let settings = settings_of(text, table).into_iter().map(|(name, value)| PartSetting::try_new(name, &value));
            let part = settings.collect::<Result<_, _>>().and_then(Part::try_new);
            texts(&part.map_err(|error| error.map(|text| format!("{}: {text}", key(name))).at_line(line))?, None)
        }
        _ => return Ok(None),
    }))
}

impl Serialize for Fleet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter().map(|entry| {
            let settings = entry.part.settings().iter().map(PartSetting::to_string);
            settings.chain([format!("{REPLICAS}={}", entry.replicas)]).collect::<Vec<_>>()
        }))
    }
}

impl<'de> Deserialize<'de> for Fleet {
    /// Reads a list of lists of texts such as `tp=2`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fleet, D::Error> {
        let entries = Vec::<Vec<String>>::deserialize(deserializer)
            .map_err(|_| D::Error::custom("expected [[fleet]] tables with settings of servers"))?;
        let entry = |texts: Vec<String>| {
            let settings =
                texts.iter().map(|text| part::name_and_value(text).map(|(name, value)| (name, value.to_owned())));
            Entry::try_new(settings.collect::<Result<Vec<_>, _>>()?)
        };
        let entries: Result<Vec<Entry>, Error> = entries.into_iter().map(entry).collect();
        entries.and_then(Fleet::try_new).map_err(D::Error::custom)
    }
}
