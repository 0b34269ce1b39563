//! `set.toml`: what a set says of itself.

use std::collections::BTreeMap;
use std::fmt;

use rooflut_roofline::{Gpu, OperationKind};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use toml::Spanned;
use toml::value::Datetime;

use crate::Error;
use crate::gpus::{GpuSheet, Gpus};
use crate::toml_file::TomlFile;

/// The checked contents of a `set.toml`.
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) gpu: Gpu,
    pub(crate) engine: String,
    pub(crate) timing: String,
    pub(crate) source: String,
    pub(crate) license: String,
    pub(crate) date: String,
    pub(crate) timings: BTreeMap<OperationKind, Timing>,
}

/// What a `set.toml` says of the timing of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Time that neither FLOPs nor bytes explain, microseconds.
    pub(crate) t0_us: f64,
    /// Time of the smallest call, microseconds, where no row is small enough to show it.
    pub(crate) floor_us: Option<f64>,
    /// Time of a byte from the L2 cache relative to one from memory, where the timing shows it.
    pub(crate) hot_read: Option<f64>,
}

/// A `set.toml` as it stands there.
struct RawHeader {
    name: Spanned<String>,
    gpu: Spanned<GpuRef>,
    engine: Spanned<String>,
    timing: Spanned<String>,
    source: Spanned<String>,
    license: Spanned<String>,
    date: Spanned<Day>,
    timings: BTreeMap<OperationKind, RawTiming>,
}

/// The keys that every `set.toml` has.
const REQUIRED: [&str; 7] = [
    "name", "gpu", "engine", "timing", "source", "license", "date",
];

/// All keys of a `set.toml`: beside these a section for each operation.
const KEYS: [&str; REQUIRED.len() + OperationKind::ALL.len()] = keys();

#[allow(clippy::indexing_slicing)] // Runs in the compiler only, where iterators cannot.
const fn keys() -> [&'static str; REQUIRED.len() + OperationKind::ALL.len()] {
    let mut keys = [""; REQUIRED.len() + OperationKind::ALL.len()];
    let mut place = 0;
    while place < keys.len() {
        keys[place] = if place < REQUIRED.len() {
            REQUIRED[place]
        } else {
            OperationKind::ALL[place - REQUIRED.len()].name()
        };
        place += 1;
    }
    keys
}

/// A key of a `set.toml`. Its own type, so that the error for any other names its line.
struct Key(&'static str);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        struct AnyKey;

        impl Visitor<'_> for AnyKey {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key of a set.toml")
            }

            fn visit_str<E: de::Error>(self, found: &str) -> Result<Key, E> {
                let mut known = KEYS.into_iter();
                let key = known.find(|key| *key == found).map(Key);
                key.ok_or_else(|| E::unknown_field(found, &KEYS))
            }
        }

        deserializer.deserialize_identifier(AnyKey)
    }
}

/// By hand, because the sections are those of the list of operations.
impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawHeader, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = RawHeader;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the keys of a set.toml")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let (mut name, mut gpu, mut engine, mut timing) = (None, None, None, None);
                let (mut source, mut license, mut date) = (None, None, None);
                let mut timings = BTreeMap::new();
                while let Some(Key(key)) = map.next_key()? {
                    match key {
                        "name" => name = Some(map.next_value()?),
                        "gpu" => gpu = Some(map.next_value()?),
                        "engine" => engine = Some(map.next_value()?),
                        "timing" => timing = Some(map.next_value()?),
                        "source" => source = Some(map.next_value()?),
                        "license" => license = Some(map.next_value()?),
                        "date" => date = Some(map.next_value()?),
                        section => {
                            let timing = map.next_value()?;
                            let operation = OperationKind::from_name(section);
                            timings.extend(operation.map(|operation| (operation, timing)));
                        }
                    }
                }
                let missing = <A::Error as de::Error>::missing_field;
                Ok(RawHeader {
                    name: name.ok_or_else(|| missing("name"))?,
                    gpu: gpu.ok_or_else(|| missing("gpu"))?,
                    engine: engine.ok_or_else(|| missing("engine"))?,
                    timing: timing.ok_or_else(|| missing("timing"))?,
                    source: source.ok_or_else(|| missing("source"))?,
                    license: license.ok_or_else(|| missing("license"))?,
                    date: date.ok_or_else(|| missing("date"))?,
                    timings,
                })
            }
        }

        deserializer.deserialize_struct("RawHeader", &KEYS, Keys)
    }
}

/// A day, in quotes or as TOML has dates.
#[derive(Deserialize)]
#[serde(untagged, expecting = "date: expected a day like \"2026-01-31\"")]
enum Day {
    Text(String),
    Date(Datetime),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTiming {
    t0_us: Spanned<f64>,
    floor_us: Option<Spanned<f64>>,
    hot_read: Option<Spanned<f64>>,
}

/// The name of a GPU in `gpus.toml`, or a data sheet of its own.
enum GpuRef {
    Name(String),
    Own(GpuSheet),
}

/// By hand, because the errors of an untagged enum do not say which key is wrong.
impl<'de> Deserialize<'de> for GpuRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<GpuRef, D::Error> {
        struct NameOrSheet;

        impl<'de> Visitor<'de> for NameOrSheet {
            type Value = GpuRef;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a GPU or a [gpu] table")
            }

            fn visit_str<E>(self, name: &str) -> Result<GpuRef, E> {
                Ok(GpuRef::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GpuRef, A::Error> {
                GpuSheet::deserialize(MapAccessDeserializer::new(map)).map(GpuRef::Own)
            }
        }

        deserializer.deserialize_any(NameOrSheet)
    }
}

impl Header {
    /// Reads a `set.toml`, whose name is none of `taken`.
    ///
    /// # Errors
    /// [`Error::Toml`] with the line, [`Error::UnknownGpu`].
    pub(crate) fn parse(file: &TomlFile<'_>, gpus: &Gpus, taken: &[&str]) -> Result<Header, Error> {
        let raw: RawHeader = file.parse("rooflut's bench_data/README.md")?;
        let place = raw.name.span().start;
        file.simple_name("name", raw.name.as_ref(), place)?;
        if taken.contains(&raw.name.as_ref().as_str()) {
            let message = format!(
                "name: expected another name than those of the built-in sets ({}), found {:?}; \
                 rename it, so that no output takes one for the other",
                taken.join(", "),
                raw.name.as_ref()
            );
            return Err(file.error(place, message));
        }
        let place = raw.gpu.span().start;
        let gpu = match raw.gpu.into_inner() {
            GpuRef::Own(sheet) => sheet.to_own_gpu(file, place)?,
            GpuRef::Name(name) => gpus.find(&name).ok_or_else(|| Error::UnknownGpu {
                file: file.name.to_owned(),
                line: file.line(place),
                found: name,
                known: gpus.names(),
            })?,
        };
        let text = |key: &str, value| file.text(key, value).map(str::to_owned);
        let day = match raw.date.as_ref() {
            Day::Text(day) => day.clone(),
            Day::Date(day) => day.to_string(),
        };
        let day = Spanned::new(raw.date.span(), day);
        let date = text("date", &day)?;
        if !is_date(&date) {
            let message =
                format!("date: expected a day like \"2026-01-31\", found {date:?}; correct it");
            return Err(file.error(raw.date.span().start, message));
        }
        let timings = raw.timings.into_iter().map(|(operation, raw)| {
            let timing = raw.check(file, operation.name())?;
            Ok((operation, timing))
        });
        Ok(Header {
            gpu,
            engine: text("engine", &raw.engine)?,
            timing: text("timing", &raw.timing)?,
            source: text("source", &raw.source)?,
            license: text("license", &raw.license)?,
            date,
            timings: timings.collect::<Result<_, Error>>()?,
            name: raw.name.into_inner(),
        })
    }
}

impl RawTiming {
    fn check(self, file: &TomlFile<'_>, section: &str) -> Result<Timing, Error> {
        let positive = |key: &str, value: &Spanned<f64>| {
            let key = format!("{section}.{key}");
            file.positive(&key, *value.as_ref(), value.span().start)
        };
        let optional = |key: &str, value: &Option<Spanned<f64>>| {
            value.as_ref().map(|v| positive(key, v)).transpose()
        };
        let timing = Timing {
            t0_us: positive("t0_us", &self.t0_us)?,
            floor_us: optional("floor_us", &self.floor_us)?,
            hot_read: optional("hot_read", &self.hot_read)?,
        };
        match &self.hot_read {
            Some(share) if *share.as_ref() > 1.0 => {
                let message = format!(
                    "{section}.hot_read: expected at most 1 (a byte from the L2 cache takes no \
                     longer than one from memory), found {}; correct it",
                    share.as_ref()
                );
                Err(file.error(share.span().start, message))
            }
            _ => Ok(timing),
        }
    }
}

/// Whether a text looks like a day in ISO 8601.
fn is_date(text: &str) -> bool {
    let digits =
        |part: &str, length| part.len() == length && part.parse::<u16>().is_ok_and(|n| n > 0);
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [year, month, day] => digits(year, 4) && digits(month, 2) && digits(day, 2),
        _ => false,
    }
}
