//! The folder of an imported set, which is written completely or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rooflut::hardware::gpus;
use rooflut_codegen::{FILES, read_any_set};
use rooflut_import::SetFile;

use crate::error::Error;
use crate::temporary;

/// The report beside the files of a set.
pub(crate) const REPORT: &str = "import-report.txt";

/// A folder that can be written.
pub(crate) struct Destination {
    folder: PathBuf,
    name: String,
}

impl Destination {
    /// Checks that the folder is new or empty or, with `force`, that it holds nothing but a set, and none of the
    /// `inputs`.
    pub(crate) fn try_new(path: &Path, force: bool, inputs: &[&Path]) -> Result<Destination, Error> {
        let refuse = |problem: &str| Err(Error::in_file(path, None, problem));
        // A link is followed, so that it stays one.
        let folder = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = folder.file_name() else {
            return refuse("expected the name of a folder; name one");
        };
        let name = name.to_string_lossy().into_owned();
        if folder.exists() {
            if !folder.is_dir() {
                return refuse("expected a folder, found a file; name another");
            }
            let inside = names(&folder).map_err(Error::writing(path))?;
            let is_of_set = |name: &String| name == REPORT || FILES.contains(&name.as_str());
            if !inside.is_empty() && !force {
                return refuse(
                    "expected a new or empty folder, found files; name another, or --force to replace a set",
                );
            }
            if !inside.iter().all(is_of_set) {
                return refuse("expected nothing but a table set to replace, found other files; name another");
            }
            let mut read = inputs.iter().filter_map(|input| fs::canonicalize(input).ok());
            if read.any(|input| input.starts_with(&folder)) {
                return refuse("expected a folder other than the source; name another");
            }
        }
        Ok(Destination { folder, name })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes the files to a temporary folder, checks that they are a set, and renames the folder.
    pub(crate) fn write(&self, files: &[SetFile], report: &str) -> Result<(), Error> {
        let parent = match self.folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let failed = Error::writing(&self.folder);
        let mut prefix = tempfile::Builder::new();
        let make = || prefix.prefix(".rooflut-import.").tempdir_in(parent);
        let beside = temporary::create(make).map_err(&failed)?;
        // Messages of the check name the folder of the set.
        let set = beside.path().join(&self.name);
        fs::create_dir(&set).map_err(&failed)?;
        for SetFile { name, text } in files {
            fs::write(set.join(name), text).map_err(&failed)?;
        }
        read_any_set(&set, &gpus::ALL.into_iter().collect())?;
        fs::write(set.join(REPORT), report).map_err(&failed)?;
        if !self.folder.exists() {
            return fs::rename(&set, &self.folder).map_err(&failed);
        }
        // The old set is in the temporary folder for a moment.
        let _signals_wait = temporary::hold();
        let old = beside.path().join("old");
        fs::rename(&self.folder, &old).map_err(&failed)?;
        fs::rename(&set, &self.folder).map_err(|error| {
            // The old set stays; the first failure is the one to report.
            let _ = fs::rename(&old, &self.folder);
            failed(error)
        })
    }
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}
