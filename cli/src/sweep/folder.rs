//! The folder of a sweep in Parquet, which keeps its rows whatever happens.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rooflut_error::{open, reading};
use rooflut_sweep::{Part, Row, Sweep, earlier_parts};
use tempfile::NamedTempFile;

use crate::args::SweepArgs;
use crate::destination::{Destination, check_kept};
use crate::error::Error;
use crate::output_file::OutputFile;

use super::out::CONTINUE;

/// Most time for which rows are in memory alone, where a signal loses them.
const UNWRITTEN: Duration = Duration::from_secs(1);

/// The folder of a sweep, all of whose files are whole at any time.
pub(super) struct SweepFolder {
    path: PathBuf,
    /// Keeps other processes out.
    lock: Option<File>,
    /// The part that is filled, and its number.
    part: Part,
    number: usize,
    written: Instant,
    unsaved: u64,
    done: u64,
}

impl SweepFolder {
    /// Creates the folder, or goes on behind the rows of the same sweep.
    pub(super) fn open(path: &Path, args: &SweepArgs, sweep: &Sweep<'_>) -> Result<SweepFolder, Error> {
        let lock = if args.resume && path.exists() {
            let destination = Destination::of(path)?;
            claimed(&destination, destination.path())?
        } else {
            Whole::create(path, CONTINUE)?.finish()?
        };
        remove_temporary(path)?;
        let parts = files(path)?.len() as u64;
        let read = |number| read(&path.join(name(number as usize)));
        let earlier = earlier_parts(parts, read, args.threads(), sweep, args.shard)?;
        Ok(SweepFolder {
            path: path.to_owned(),
            lock,
            part: earlier.last,
            number: earlier.full,
            written: Instant::now(),
            unsaved: 0,
            done: earlier.rows,
        })
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn push(&mut self, row: Row) -> Result<(), Error> {
        self.part.push(row);
        self.unsaved += 1;
        if self.part.is_full() {
            self.write()?;
            self.part.clear();
            self.number += 1;
        } else if self.written.elapsed() >= UNWRITTEN {
            self.write()?;
        }
        Ok(())
    }

    /// Rows that are in memory alone.
    pub(super) fn unsaved(&self) -> u64 {
        self.unsaved
    }

    /// Writes the last part.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        match self.part.rows() {
            [] => Ok(()),
            _ => self.write(),
        }
    }

    /// Checks that the folder has its path.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.lock.as_ref().map_or(Ok(()), |folder| check_kept(folder, &self.path))
    }

    fn write(&mut self) -> Result<(), Error> {
        // Another sweep may have made its own folder.
        self.check()?;
        self.written = Instant::now();
        write(&self.part, &self.path, &self.path, self.number)?;
        self.unsaved = 0;
        Ok(())
    }
}

/// A folder that appears whole or not at all.
pub(super) struct Whole {
    folder: NamedTempFile<TemporaryFolder>,
    /// Keeps other processes out.
    lock: Option<File>,
    destination: Destination,
}

impl Whole {
    /// Creates a temporary folder beside `path`, which must not exist; `advice` is for one that does.
    pub(super) fn create(path: &Path, advice: &str) -> Result<Whole, Error> {
        let destination = Destination::free(path, advice)?;
        let folder = destination.beside(TemporaryFolder::create)?;
        let lock = claimed(&destination, folder.path())?;
        Ok(Whole { folder, lock, destination })
    }

    /// The folder as long as it is temporary.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the folder to its path, and returns its lock.
    pub(super) fn finish(self) -> Result<Option<File>, Error> {
        self.destination.take(self.path())?;
        Ok(self.lock)
    }
}

/// A folder that is removed, unless it was moved.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn create(path: &Path) -> io::Result<TemporaryFolder> {
        fs::create_dir(path).map(|()| TemporaryFolder(path.to_owned()))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens a folder and claims its destination; only Unix has locks of folders.
fn claimed(destination: &Destination, at: &Path) -> Result<Option<File>, Error> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let folder = open(at).map_err(Error::reading(destination.named()))?;
    destination.claim(&folder, at)?;
    Ok(Some(folder))
}

/// Removes the temporary files that a `kill -9` left behind.
fn remove_temporary(folder: &Path) -> Result<(), Error> {
    let names = names(folder)?;
    let mut temporary = names.iter().filter(|name| is_temporary(name)).map(|name| folder.join(name));
    temporary.try_for_each(|path| fs::remove_file(&path).map_err(Error::writing(&path)))
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".part-") && name.ends_with(".tmp")
}

/// Returns the names of all files of a folder.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let entries =
        fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(Error::reading(folder))?;
    let names = entries.iter().map(|entry| entry.file_name());
    Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
}

/// Writes a part of a folder that errors name `named`, whole or not at all.
pub(super) fn write(part: &Part, folder: &Path, named: &Path, number: usize) -> Result<(), Error> {
    let named = named.join(name(number));
    let mut bytes = Vec::new();
    part.write(&mut bytes)?;
    let mut file = OutputFile::beside(Destination::replacing(folder.join(name(number)), &named))?;
    std::io::Write::write_all(&mut file, &bytes).map_err(Error::writing(&named))?;
    file.finish()
}

/// `part-000012.parquet`.
fn name(number: usize) -> String {
    format!("part-{number:06}.parquet")
}

/// Returns the paths of all parts in their order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut names = names(folder)?;
    names.retain(|name| !is_temporary(name));
    names.sort();
    for (number, found) in names.iter().enumerate() {
        let expected = name(number);
        if *found != expected {
            return Err(Error::new(format!(
                "{}: expected {expected}, found {found}; name a folder of a sweep",
                folder.display()
            )));
        }
    }
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// Reads a part, with its name.
pub(super) fn read(path: &Path) -> Result<(String, Part), rooflut_sweep::Error> {
    let named = path.display().to_string();
    let file = open(path).map_err(reading(path))?;
    let part = Part::read(file, &named)?;
    Ok((named, part))
}
