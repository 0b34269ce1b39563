//! The contents of the files that a grid names.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rooflut_error::reading;
use rooflut_scenario::{Error, Scenario};
use serde_json::Value;

use crate::fnv::Fnv;
use crate::grid::Grid;

/// Returns a hash of all files that a grid names, so that rows before a change of one differ from those after it.
pub(crate) fn hash(grid: &Grid) -> Result<String, Error> {
    let mut hash = Fnv::default();
    for path in paths(grid) {
        add(&path, &mut hash).map_err(reading(&path))?;
    }
    Ok(format!("{:016x}", hash.finish()))
}

/// Returns the paths of files and folders among the values that may name one.
fn paths(grid: &Grid) -> Vec<PathBuf> {
    let mut texts = texts(grid.base());
    for axis in grid.axes() {
        let mut values: Vec<&Value> = axis.values().iter().collect();
        while let Some(value) = values.pop() {
            values.extend(value.as_array().into_iter().flatten());
            // Settings of servers, such as `tables=own`.
            let text = value.as_str().map(|text| text.split_once('=').map_or(text, |(_, value)| value));
            texts.extend(text.map(str::to_owned));
        }
    }
    let named = texts.iter().map(|text| {
        let path = text.strip_prefix("file:").unwrap_or(text);
        // A file of lengths may be followed by a range.
        let file = path.rsplit_once('@').map(|(file, _)| Path::new(file));
        file.filter(|file| file.is_file()).unwrap_or(Path::new(path)).to_owned()
    });
    named.filter(|path| path.is_file() || path.is_dir()).collect()
}

fn texts(base: &Scenario) -> Vec<String> {
    let (target, workload) = (&base.target, &base.workload);
    let lengths = [&workload.prompt, &workload.output, &workload.turns].into_iter().flatten().map(ToString::to_string);
    let paths = [&target.tables, &workload.trace, &base.output.prices]
        .into_iter()
        .flatten()
        .map(|path| path.display().to_string());
    let files = [target.sheet(), target.engine_file()].into_iter().flatten();
    let paths = paths.chain(files.map(|path| path.display().to_string()));
    let models = [&target.model, &base.server.draft_model].into_iter().flatten().cloned();
    let parts = base.server.part_files().into_iter().map(|path| path.display().to_string());
    lengths.chain(paths).chain(models).chain(parts).collect()
}

/// Adds a file, or the files of a folder in the order of their names.
fn add(path: &Path, hash: &mut Fnv) -> io::Result<()> {
    if path.is_file() {
        return io::copy(&mut File::open(path)?, hash).map(drop);
    }
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files.iter().try_for_each(|file| io::copy(&mut File::open(file)?, hash).map(drop))
}
