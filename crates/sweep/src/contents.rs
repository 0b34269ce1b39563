//! The contents of the files that a grid names.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rooflut_error::reading;
use rooflut_scenario::{Error, PATH_KEYS};

use crate::fnv::Fnv;
use crate::grid::Grid;

/// Returns a hash of all files that a grid names, so that rows before a change of one differ from those after it.
pub(crate) fn hash(grid: &Grid) -> Result<String, Error> {
    let mut hash = Fnv::default();
    for path in paths(grid)? {
        add(&path, &mut hash).map_err(reading(&path))?;
    }
    Ok(format!("{:016x}", hash.finish()))
}

/// Returns the paths of files and folders that a grid names.
fn paths(grid: &Grid) -> Result<Vec<PathBuf>, Error> {
    let mut named = grid.base().inputs();
    for (number, axis) in grid.axes().iter().enumerate().filter(|(_, axis)| PATH_KEYS.contains(&axis.key())) {
        for place in 0..axis.values().len() {
            let scenario = grid.scenario(grid.first(number, place))?;
            named.extend(scenario.inputs().into_iter().filter(|(key, _)| *key == axis.key()));
        }
    }
    let paths = named.into_iter().map(|(_, path)| path);
    Ok(paths.filter(|path| path.is_file() || path.is_dir()).collect())
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
