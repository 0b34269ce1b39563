//! The contents of the files that a grid names.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use rooflut_codegen::set_files;
use rooflut_error::reading;
use rooflut_scenario::{Error, PATH_KEYS, model_files};

use crate::fnv::Fnv;
use crate::grid::Grid;

/// Returns a hash of all files that a grid reads, so that rows before a change of one differ from those after it.
pub(crate) fn hash(grid: &Grid) -> Result<String, Error> {
    let mut hash = Fnv::default();
    for path in paths(grid)? {
        let length = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hash)).map_err(reading(&path))?;
        hash.add(&length.to_le_bytes());
    }
    Ok(format!("{:016x}", hash.finish()))
}

/// Returns the paths of the files that a grid reads.
fn paths(grid: &Grid) -> Result<Vec<PathBuf>, Error> {
    let mut named = grid.base().inputs();
    for (number, axis) in grid.axes().iter().enumerate().filter(|(_, axis)| PATH_KEYS.contains(&axis.key())) {
        for index in grid.first_named(number) {
            let scenario = grid.scenario(index)?;
            named.extend(scenario.inputs().into_iter().filter(|(key, _)| *key == axis.key()));
        }
    }
    let paths = named.into_iter().flat_map(|(key, path)| files(key, path));
    Ok(paths.filter(|path| path.is_file()).collect())
}

/// Returns the files that are read for the path of a key.
fn files(key: &str, path: PathBuf) -> Vec<PathBuf> {
    match (key, path.to_str()) {
        ("model" | "draft_model", Some(name)) => model_files(name).map_or_else(Vec::new, Vec::from),
        // A data sheet of a pool is a set of one file here.
        ("tables" | "prefill" | "decode" | "fleet", _) if path.is_file() || path.is_dir() => set_files(&path),
        _ => vec![path],
    }
}
