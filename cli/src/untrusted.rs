//! Scenario files and measurements from elsewhere, which may name nothing outside of their folders.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use rooflut_error::{key, no_effect};
use rooflut_observe::Measured;
use rooflut_scenario::{Scenario, ScenarioFile, model_files};

use crate::error::Error;

/// Depth of the folders below a table set that are looked through; it has one for each version of an engine.
const DEPTH: u32 = 2;

/// Whether files that name others are from elsewhere.
#[derive(Args, Debug, Clone, Copy, Default)]
pub(crate) struct UntrustedArgs {
    /// Refuse a file that names anything outside of its own folder, a pipe or a device: for scenarios and measurements from
    /// elsewhere. Paths of flags are free.
    #[arg(long)]
    untrusted: bool,
}

impl UntrustedArgs {
    /// Checks that all paths of a scenario that the file at `path` describes lead into the folder of this file.
    ///
    /// # Errors
    /// The first path that does not, as an error on its key.
    pub(crate) fn check(self, path: &Path, scenario: &Scenario) -> Result<(), Error> {
        if !self.untrusted {
            return Ok(());
        }
        let inputs = scenario.inputs();
        let inputs = inputs.iter().map(|(key, path)| (*key, path.as_path()));
        check_all(path, inputs.chain(scenario.output.paths()))
    }

    /// Checks that all paths that measured files name, and not `given`, lead into the folder of each of the files.
    ///
    /// # Errors
    /// As of [`check`](UntrustedArgs::check), and a load whose scenario is not known.
    pub(crate) fn check_measured(self, files: &[PathBuf], measured: &Measured, given: &Scenario) -> Result<(), Error> {
        if !self.untrusted {
            return Ok(());
        }
        // Not the sources that the measurement tells: a file from elsewhere may claim any.
        let given = given.inputs();
        for run in 0..measured.runs.len() {
            let mut named = measured.scenario(run)?.inputs();
            named.retain(|named| !given.contains(named));
            for file in files {
                check_all(file, named.iter().map(|(key, path)| (*key, path.as_path())))?;
            }
        }
        Ok(())
    }

    /// Checks a scenario file, and adds the line to an error.
    ///
    /// # Errors
    /// As of [`check`](UntrustedArgs::check).
    pub(crate) fn check_file(self, path: &Path, file: &ScenarioFile) -> Result<(), Error> {
        self.check(path, file.scenario()).map_err(|error| {
            let line = error.keys().first().and_then(|key| file.line(key));
            error.placed(path, line)
        })
    }

    /// Refuses the flag where no scenario file is read.
    ///
    /// # Errors
    /// The flag is given, and `path` is not.
    pub(crate) fn check_use(self, path: Option<&Path>) -> Result<(), rooflut_scenario::Error> {
        match path {
            None if self.untrusted => Err(no_effect("untrusted", "no scenario file is read")),
            _ => Ok(()),
        }
    }
}

/// Checks a scenario file as `--untrusted` does: it may name nothing outside of its own folder, no pipe and no device.
///
/// # Errors
/// The first path that leads elsewhere, with its line.
pub fn check_untrusted(path: &Path, file: &ScenarioFile) -> Result<(), Error> {
    UntrustedArgs { untrusted: true }.check_file(path, file)
}

/// Checks the paths that a file names, each with its key.
fn check_all<'p>(file: &Path, mut named: impl Iterator<Item = (&'static str, &'p Path)>) -> Result<(), Error> {
    let folder = real(file.parent().unwrap_or(file))?;
    named.try_for_each(|(key, path)| check(&folder, key, path).map_err(|error| error.about(key)))
}

/// Checks what is read or written for the path of a key.
fn check(folder: &Path, name: &'static str, path: &Path) -> Result<(), Error> {
    let refuse = |found: &dyn Display| {
        Err(Error::new(format!(
            "{}: expected a path inside of the file's folder (--untrusted), found {found}; copy it there, or give it by \
             a flag",
            key(name)
        )))
    };
    if path == Path::new("-") {
        return refuse(&"standard input or output");
    }
    if fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
        return refuse(&format!("a pipe or a device, {}", path.display()));
    }
    for file in files(name, path) {
        let leads_to = real(&file)?;
        if !leads_to.starts_with(folder) {
            let to = Some(leads_to).filter(|to| *to != file);
            let to = to.map_or_else(String::new, |to| format!(", which leads to {}", to.display()));
            return refuse(&format!("{}{to}", file.display()));
        }
    }
    Ok(())
}

/// Returns the files and folders that a command may open for the path of a key.
fn files(name: &str, path: &Path) -> Vec<PathBuf> {
    match (name, path.to_str()) {
        ("model" | "draft_model", Some(name)) => model_files(name).map_or_else(Vec::new, Vec::from),
        ("tables" | "prefill" | "decode" | "fleet", _) => {
            let mut files = vec![path.to_owned()];
            add_entries(path, DEPTH, &mut files);
            // A set may inherit from another one beside it.
            let set = fs::canonicalize(path).ok();
            if let Some(parent) = set.as_deref().and_then(Path::parent) {
                files.push(parent.to_owned());
                add_entries(parent, 1, &mut files);
            }
            files
        }
        _ => vec![path.to_owned()],
    }
}

/// Adds the entries of a folder, and those of its folders down to `depth`.
fn add_entries(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) {
    // A folder that cannot be read has no files that can.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_entries(&entry.path(), depth - 1, files);
        }
        files.push(entry.path());
    }
}

/// Returns the path that a path leads to, without links as far as it exists.
fn real(path: &Path) -> Result<PathBuf, Error> {
    let mut nearest = path;
    loop {
        let named = if nearest.as_os_str().is_empty() { Path::new(".") } else { nearest };
        match (fs::canonicalize(named), nearest.parent()) {
            (Ok(found), _) => {
                let rest = path.strip_prefix(nearest).unwrap_or(path);
                return Ok(found.components().chain(rest.components()).collect());
            }
            (Err(_), Some(parent)) => nearest = parent,
            (Err(error), None) => return Err(Error::reading(path)(error)),
        }
    }
}
