//! `set.toml`: what a set says of itself.

use std::fmt;

use rooflut_roofline::Gpu;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
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
    pub(crate) gemm: Option<Timing>,
    pub(crate) prefill: Option<Timing>,
    pub(crate) decode: Option<Timing>,
    pub(crate) allreduce: Option<Timing>,
    pub(crate) moe: Option<Timing>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHeader {
    name: Spanned<String>,
    gpu: Spanned<GpuRef>,
    engine: Spanned<String>,
    timing: Spanned<String>,
    source: Spanned<String>,
    license: Spanned<String>,
    date: Spanned<Day>,
    gemm: Option<RawTiming>,
    prefill: Option<RawTiming>,
    decode: Option<RawTiming>,
    allreduce: Option<RawTiming>,
    moe: Option<RawTiming>,
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
        let timing = |section: &str, raw: Option<RawTiming>| {
            raw.map(|raw| raw.check(file, section)).transpose()
        };
        Ok(Header {
            gpu,
            engine: text("engine", &raw.engine)?,
            timing: text("timing", &raw.timing)?,
            source: text("source", &raw.source)?,
            license: text("license", &raw.license)?,
            date,
            gemm: timing("gemm", raw.gemm)?,
            prefill: timing("prefill", raw.prefill)?,
            decode: timing("decode", raw.decode)?,
            allreduce: timing("allreduce", raw.allreduce)?,
            moe: timing("moe", raw.moe)?,
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
