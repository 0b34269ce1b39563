//! Files of what was measured.

use std::path::Path;

use rooflut_error::Whole;
use rooflut_observe::{File, Measured};
use rooflut_report::SCHEMA_VERSION;
use serde_json::Value;

use crate::args::MeasuredArgs;
use crate::error::Error;
use crate::input;

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
    let Ok(Value::Object(keys)) = serde_json::from_slice::<Value>(bytes) else {
        return Ok(None);
    };
    if !["deployment", "runs", "missing"].iter().all(|key| keys.contains_key(*key)) {
        return Ok(None);
    }
    if let Some(version) = keys.get("schema_version").filter(|version| **version != SCHEMA_VERSION) {
        let text =
            format!("expected schema_version {SCHEMA_VERSION}, found {version}; write it again with `rooflut observe`");
        return Err(Error::in_file(path, None, text));
    }
    let read = serde_json::from_value(Value::Object(keys));
    read.map(Some).map_err(|error| {
        Error::in_file(path, None, format!("expected the JSON of `rooflut observe`: {error}; write it again"))
    })
}
