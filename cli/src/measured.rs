//! Files of what was measured.

use std::path::Path;

use rooflut_error::{JsonSize, Whole};
use rooflut_observe::{File, Measured};
use rooflut_report::SCHEMA_VERSION;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::args::MeasuredArgs;
use crate::error::Error;
use crate::input;

/// Maximum size of the JSON of `rooflut observe` in memory, MiB, and maximum number of loads that it has.
const MAX_MIB: u64 = 768;
const MAX_RUNS: usize = 10_000;

/// The keys by which the JSON of `rooflut observe` is recognised.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Observed {
    #[serde(rename = "deployment")]
    _deployment: IgnoredAny,
    runs: Vec<IgnoredAny>,
    #[serde(rename = "missing")]
    _missing: IgnoredAny,
}

#[derive(Deserialize)]
struct Versioned {
    schema_version: Option<Value>,
}

/// Reads the files of a server: all that clients and servers write, or the JSON of `rooflut observe`.
pub(crate) fn read(args: &MeasuredArgs) -> Result<Measured, Error> {
    let (given, notes) = args.given()?;
    let (mut observed, mut files) = (Vec::new(), Vec::new());
    let mut read: Vec<(&Path, Vec<u8>)> = Vec::new();
    let mut twice = Vec::new();
    for path in &args.files {
        let bytes = input::read(path, Whole::Measured).map_err(Error::reading(path))?;
        match read.iter().find(|(_, other)| *other == bytes) {
            Some((other, _)) => {
                twice.push(format!("{} is {}, given twice: it counts once", path.display(), other.display()))
            }
            None => read.push((path, bytes)),
        }
    }
    for (path, bytes) in read {
        match of_json(path, &bytes)? {
            Some(measured) => observed.push((path.display().to_string(), measured)),
            None => files.push((path.display().to_string(), bytes)),
        }
    }
    let files: Vec<File<'_>> = files.iter().map(|(name, bytes)| File { name, bytes }).collect();
    let mut measured =
        if observed.is_empty() || !files.is_empty() { Measured::read(&files, &given)? } else { Measured::default() };
    let has_observed = !observed.is_empty();
    for (name, other) in observed {
        measured.join(other, &name)?;
    }
    if has_observed {
        measured.give(&given)?;
    }
    measured.notes.splice(..0, notes.into_iter().chain(twice));
    Ok(measured)
}

/// Reads the JSON of `rooflut observe`; `None` for other files.
pub fn of_json(path: &Path, bytes: &[u8]) -> Result<Option<Measured>, Error> {
    // A large file of another kind is read where it belongs.
    let Ok(keys) = serde_json::from_slice::<Observed>(bytes) else {
        return Ok(None);
    };
    JsonSize::VALUES.check(bytes, MAX_MIB).map_err(|error| error.in_file(path))?;
    if keys.runs.len() > MAX_RUNS {
        let text = format!("runs: expected at most {MAX_RUNS}, found {}; divide the file", keys.runs.len());
        return Err(Error::in_file(path, None, text));
    }
    let Versioned { schema_version } = serde_json::from_slice(bytes).map_err(unreadable(path))?;
    if let Some(version) = schema_version.filter(|version| *version != SCHEMA_VERSION) {
        let text =
            format!("expected schema_version {SCHEMA_VERSION}, found {version}; write it again with `rooflut observe`");
        return Err(Error::in_file(path, None, text));
    }
    serde_json::from_slice(bytes).map(Some).map_err(unreadable(path))
}

/// Returns why a file of JSON is not that of `rooflut observe`.
pub(crate) fn not_observed(path: &Path, bytes: &[u8]) -> Error {
    let read = JsonSize::VALUES.check(bytes, MAX_MIB).map(|()| serde_json::from_slice::<Measured>(bytes));
    match read {
        Ok(Err(error)) => unreadable(path)(error),
        Ok(Ok(_)) => Error::in_file(path, None, "expected a measurement or the report of a run, found neither"),
        Err(error) => error.in_file(path).into(),
    }
}

fn unreadable(path: &Path) -> impl Fn(serde_json::Error) -> Error {
    |error| Error::in_file(path, None, format!("expected the JSON of `rooflut observe`: {error}; write it again"))
}
