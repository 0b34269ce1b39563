//! `set.toml`: the hardware and software that a set was measured on, the method, and the source.

use std::collections::BTreeMap;

use rooflut_roofline::{Gpu, OperationKind, Timing};
use toml::de::DeValue;

use super::error::{Error, Location};
use super::excluded::Excluded;
use super::gpus::{self, Gpus};
use super::toml_file::{Table, TomlFile, Value};

/// The checked contents of a `set.toml`.
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) gpu: Gpu,
    pub(crate) engine: String,
    pub(crate) timing: String,
    pub(crate) source: String,
    pub(crate) license: String,
    /// The day of the measurements, ISO 8601.
    pub(crate) date: String,
    pub(crate) sections: BTreeMap<OperationKind, Section>,
    /// The set beside it whose tables this one takes where it has none of its own, and the location of its name.
    pub(crate) inherits: Option<(String, Location)>,
}

/// The section of an operation.
pub(crate) struct Section {
    pub(crate) timing: Timing,
    /// Time of the smallest call, microseconds, where no row is small enough to show it.
    pub(crate) floor_us: Option<f64>,
    /// Rows of its table that the set does not use.
    pub(crate) excluded: Excluded,
}

/// The keys of every `set.toml`; each operation adds a section.
const KEYS: [&str; 8] = ["name", "gpu", "engine", "timing", "source", "license", "date", "inherits"];

impl Header {
    /// Reads a `set.toml` with a name other than `taken`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`](super::error::ErrorKind::Toml) with line and key.
    pub(crate) fn parse(file: &TomlFile<'_>, gpus: &Gpus, taken: &[&str]) -> Result<Header, Error> {
        let entries = file.parse()?;
        let names = OperationKind::ALL.map(OperationKind::name);
        let table = file.table(&entries).only(&[KEYS.as_slice(), &names].concat())?;
        let text = |key| Ok::<_, Error>(table.required(key)?.text()?.to_owned());
        let mut sections = BTreeMap::new();
        for operation in OperationKind::ALL {
            if let Some(value) = table.optional(operation.name()) {
                sections.insert(operation, section(&value)?);
            }
        }
        Ok(Header {
            name: name(&table, taken)?,
            gpu: gpu(&table.required("gpu")?, gpus)?,
            engine: text("engine")?,
            timing: text("timing")?,
            source: text("source")?,
            license: text("license")?,
            date: date(&table.required("date")?)?,
            sections,
            inherits: table.optional("inherits").map(|value| inherited(&value)).transpose()?,
        })
    }
}

fn name(table: &Table<'_>, taken: &[&str]) -> Result<String, Error> {
    let value = table.required("name")?;
    let name = value.string()?;
    value.check_name(name)?;
    if taken.contains(&name) {
        let expected = format!("a name that no built-in set has ({})", taken.join(", "));
        return Err(value.refuse(expected, "rename the set"));
    }
    Ok(name.to_owned())
}

/// The name of a folder and its location.
pub(super) fn inherited(value: &Value<'_>) -> Result<(String, Location), Error> {
    let name = value.string()?;
    value.check_name(name)?;
    Ok((name.to_owned(), value.location()))
}

/// A GPU by its name in `gpus`, or a data sheet of its own.
fn gpu(value: &Value<'_>, gpus: &Gpus) -> Result<Gpu, Error> {
    match value.value() {
        DeValue::Table(_) => gpus::of_set(value),
        DeValue::String(name) => gpus.find(name).ok_or_else(|| {
            let expected = format!("one of {}", gpus.names().join(", "));
            value.refuse(expected, "correct it, or add a data sheet as a [gpu] table")
        }),
        _ => Err(value.refuse("the name of a GPU or a [gpu] table", "correct it")),
    }
}

/// A day, in quotes or as a TOML date.
fn date(value: &Value<'_>) -> Result<String, Error> {
    let day = match value.value() {
        DeValue::String(text) => text.trim().to_owned(),
        DeValue::Datetime(date) => date.to_string(),
        _ => String::new(),
    };
    if is_day(&day) { Ok(day) } else { Err(value.refuse("a day like \"2026-01-31\"", "correct it")) }
}

/// Whether a text looks like a day in ISO 8601.
fn is_day(text: &str) -> bool {
    let digits = |part: &str, length| part.len() == length && part.parse::<u16>().is_ok_and(|n| n > 0);
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [year, month, day] => digits(year, 4) && digits(month, 2) && digits(day, 2),
        _ => false,
    }
}

fn section(value: &Value<'_>) -> Result<Section, Error> {
    let table = value.table(&["t0_us", "floor_us", "hot_read", "wave_us", "grouped_split", "excluded"])?;
    let positive = |key| {
        let value = table.optional(key);
        value.map(|value| value.positive()).transpose()
    };
    let hot_read = table.optional("hot_read").map(|value| hot_read(&value));
    let grouped_split = table.optional("grouped_split").map(|value| value.switch()).transpose()?;
    Ok(Section {
        timing: Timing {
            t0_us: table.required("t0_us")?.positive()?,
            hot_read: hot_read.transpose()?.unwrap_or(1.0),
            wave_us: positive("wave_us")?.unwrap_or(0.0),
            grouped_split: grouped_split.unwrap_or(false),
        },
        floor_us: positive("floor_us")?,
        excluded: Excluded::parse(&table)?,
    })
}

fn hot_read(value: &Value<'_>) -> Result<f64, Error> {
    match value.positive()? {
        share if share <= 1.0 => Ok(share),
        _ => {
            let expected = "at most 1 (a byte from the L2 cache takes no longer than one from memory)";
            Err(value.refuse(expected, "correct it"))
        }
    }
}
