//! A file that appears whole or not at all, or a stream.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};
use rooflut_error::open_in_time;
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::temporary;

/// An output: a file that is written beside its destination and moved there by [`finish`](OutputFile::finish) (dropped
/// before that, it leaves nothing behind), or a stream.
pub struct OutputFile {
    to: BufWriter<To>,
    /// The destination as messages name it.
    named: PathBuf,
}

/// End of the names of files that are not whole.
pub(crate) const SUFFIX: &str = ".tmp";

enum To {
    File(NamedTempFile, PathBuf),
    Stream(Box<dyn Write>),
}

impl OutputFile {
    /// Opens a file beside `destination`, with its permissions if it exists.
    pub(crate) fn beside(destination: &Path, named: &Path) -> Result<OutputFile, Error> {
        let hidden = hidden(destination);
        let folder = destination.parent().unwrap_or(Path::new("."));
        let mut cause = None;
        let make = || {
            tempfile::Builder::new()
                .prefix(&hidden)
                .suffix(SUFFIX)
                // Not the private mode of temporary files: the umask decides.
                .make_in(folder, |path| File::create_new(path).inspect_err(|error| cause = error.raw_os_error()))
        };
        let file = temporary::create(make)
            // Without the path of the temporary file.
            .map_err(|error| cause.map_or(error, io::Error::from_raw_os_error))
            .map_err(Error::writing(named))?;
        if let Ok(replaced) = fs::metadata(destination) {
            let keep = file.as_file().set_permissions(replaced.permissions());
            keep.map_err(Error::writing(named))?;
        }
        Ok(OutputFile::new(To::File(file, destination.to_owned()), named))
    }

    /// Opens a file as [`beside`](OutputFile::beside), as [`lock_alone`] locks it.
    pub(crate) fn alone(destination: &Path, named: &Path) -> Result<OutputFile, Error> {
        let output = OutputFile::beside(destination, named)?;
        if let To::File(file, _) = output.to.get_ref() {
            lock_alone(file.as_file(), file.path(), destination, named)?;
        }
        Ok(output)
    }

    /// Standard output.
    pub(crate) fn stdout(named: &Path) -> OutputFile {
        OutputFile::new(To::Stream(Box::new(io::stdout())), named)
    }

    /// Opens a pipe or a device.
    pub(crate) fn stream(path: &Path) -> Result<OutputFile, Error> {
        let stream = open_in_time(path, File::options().write(true), "no program reads this pipe")
            .map_err(Error::writing(path))?;
        Ok(OutputFile::new(To::Stream(Box::new(stream)), path))
    }

    fn new(to: To, named: &Path) -> OutputFile {
        OutputFile { to: BufWriter::new(to), named: named.to_owned() }
    }

    /// Returns the path of what is written so far, the whole of it; `None` for a stream.
    pub(crate) fn written(&mut self) -> Result<Option<&Path>, Error> {
        self.flush().map_err(Error::writing(&self.named))?;
        Ok(match self.to.get_ref() {
            To::File(file, _) => Some(file.path()),
            To::Stream(_) => None,
        })
    }

    /// Moves the file to its destination.
    pub fn finish(self) -> Result<(), Error> {
        let written = self.to.into_inner().map_err(io::IntoInnerError::into_error);
        let finished = written.and_then(|to| match to {
            To::File(file, destination) => Ok(file.persist(destination).map(drop)?),
            To::Stream(mut stream) => quietly((), stream.flush()),
        });
        finished.map_err(Error::writing(&self.named))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // Its own errors name the temporary file.
            To::File(file, _) => file.as_file_mut().write(bytes),
            To::Stream(stream) => quietly(bytes.len(), stream.write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            To::File(file, _) => file.flush(),
            To::Stream(stream) => quietly((), stream.flush()),
        }
    }
}

/// Locks a file or folder at `path`, which is written beside `destination`, unless another process writes one. Removes what a
/// `kill -9` left of such files and folders.
pub(crate) fn lock_alone(file: &File, path: &Path, destination: &Path, named: &Path) -> Result<(), Error> {
    lock(file, named)?;
    // Before it was locked, another process may have taken it for one that was left behind.
    if !path.exists() {
        return Err(in_use(named));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for other in entries.filter(|other| is_beside(other, destination) && other != path) {
        // One that is gone is written no more.
        let Ok(file) = File::open(&other) else { continue };
        if lock(&file, named)? {
            // No process writes to it. It may be that of another user, and then stays.
            let _ = if other.is_dir() { fs::remove_dir_all(&other) } else { fs::remove_file(&other) };
        }
    }
    Ok(())
}

/// Returns the beginning of the name of a file that is written beside `destination`.
pub(crate) fn hidden(destination: &Path) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(destination.file_name().unwrap_or_default());
    hidden.push(".rooflut-");
    hidden
}

/// Returns whether a file has a name of those that are written beside `destination`: random letters and digits in the middle.
fn is_beside(path: &Path, destination: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let random =
        name.strip_prefix(hidden(destination).as_encoded_bytes()).and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    random.is_some_and(|random| random.iter().all(u8::is_ascii_alphanumeric))
}

/// Locks a file or folder that `named` names until it is closed, or the process ends. Returns whether it is locked: not all
/// file systems have locks.
///
/// # Errors
/// Another process has locked it.
pub(crate) fn lock(file: &File, named: &Path) -> Result<bool, Error> {
    match FileExt::try_lock(file) {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Err(in_use(named)),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::writing(named)(error)),
    }
}

fn in_use(named: &Path) -> Error {
    Error::new(format!(
        "{}: another process writes to it; wait until it has ended, or name another path",
        named.display()
    ))
}

/// Takes what is written after the reader has left, as `head` does, for `written`: the run has other outputs.
fn quietly<T>(written: T, result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(written),
        result => result,
    }
}
