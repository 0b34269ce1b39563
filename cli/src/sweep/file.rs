//! The CSV file of a sweep, which keeps its rows whatever happens.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rooflut_sweep::{Earlier, Sweep, earlier};

use crate::args::SweepArgs;
use crate::destination::{Destination, check_kept, is_stdout};
use crate::error::Error;

use super::out::CONTINUE;

/// The file of a sweep, or standard output. Each row is one write, so that all but the last are whole.
pub(super) struct SweepFile<'o> {
    to: To<'o>,
    path: PathBuf,
    done: u64,
    /// Bytes of whole rows, and of the header.
    bytes: u64,
}

enum To<'o> {
    File(File),
    Stdout(&'o mut (dyn Write + Send)),
}

impl<'o> SweepFile<'o> {
    /// Opens the file of the arguments and writes the header, unless it has rows of the same sweep.
    pub(super) fn open(
        args: &SweepArgs,
        sweep: &Sweep<'_>,
        stdout: &'o mut (dyn Write + Send),
    ) -> Result<SweepFile<'o>, Error> {
        let path = args.out.clone().unwrap_or_else(|| PathBuf::from("-"));
        let mut found = Earlier::default();
        let to = match is_stdout(&path) {
            true if args.resume => {
                return Err(Error::new("--resume: expected a file in --out, found standard output; name the file"));
            }
            true => To::Stdout(stdout),
            false => To::File(if args.resume && path.exists() {
                go_on(&path, args, sweep, &mut found)?
            } else {
                create(&path)?
            }),
        };
        let done = found.rows;
        let mut file = SweepFile { to, path, done, bytes: found.bytes };
        if found.bytes == 0 {
            match file.write(&sweep.csv_header()) {
                // The first row finds out, too.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => (),
                written => written.map_err(|error| file.writing(error))?,
            }
        }
        Ok(file)
    }

    /// Rows of an earlier sweep.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::File(file) => file.write_all(line).inspect_err(|_| {
                // A disk that was full after half of the row has room for none; the first error is the one to report.
                let _ = file.set_len(self.bytes);
            })?,
            To::Stdout(stdout) => stdout.write_all(line)?,
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Checks that the rows are at the path of the file.
    pub(super) fn check(&self) -> Result<(), Error> {
        match &self.to {
            To::File(file) => check_kept(file, &self.path),
            To::Stdout(_) => Ok(()),
        }
    }

    /// Converts an error of [`write`](SweepFile::write).
    pub(super) fn writing(&self, error: io::Error) -> Error {
        Error::writing(&self.path)(error)
    }
}

/// Creates a file that does not exist.
fn create(path: &Path) -> Result<File, Error> {
    if path.file_name().is_none() {
        let found = path.display().to_string();
        return Err(Error::new(format!("--out: expected a file, found {found:?}; name one")));
    }
    let destination = Destination::free(path, CONTINUE)?;
    let file = destination.file_beside()?;
    destination.claim(file.as_file(), file.path())?;
    destination.take(file.path())?;
    Ok(file.into_file())
}

/// Opens a file behind the rows of an earlier sweep.
fn go_on(path: &Path, args: &SweepArgs, sweep: &Sweep<'_>, found: &mut Earlier) -> Result<File, Error> {
    // Reading a pipe or a device might never end.
    if !path.is_file() && !path.is_dir() {
        let path = path.display();
        return Err(Error::new(format!("{path}: expected a file of a sweep, found a pipe or a device; name a file")));
    }
    let opened = File::options().read(true).write(true).open(path);
    let mut file = opened.map_err(Error::writing(path))?;
    let destination = Destination::of(path)?;
    destination.claim(&file, destination.path())?;
    let named = path.display().to_string();
    *found = earlier(BufReader::new(&file), &named, sweep, args.shard)?;
    // The rest is part of a row.
    file.set_len(found.bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(Error::writing(path))?;
    Ok(file)
}
