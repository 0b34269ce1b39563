//! The destination of an output: one process writes there at a time, and an output does not replace a file or folder that was
//! made there meanwhile.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};
use rooflut_scenario::Kind;
use same_file::Handle;
use tempfile::{Builder, NamedTempFile, TempPath};

use crate::error::Error;
use crate::temporary;

/// End of the names of files that are not whole.
const SUFFIX: &str = ".tmp";

/// The destination of an output.
pub(crate) struct Destination {
    path: PathBuf,
    /// The path as messages name it.
    named: PathBuf,
    /// Nothing was there, so nothing may be replaced.
    is_free: bool,
}

impl Destination {
    /// Follows the links of a path, so that they stay links.
    pub(crate) fn of(named: &Path) -> Result<Destination, Error> {
        let there = |path| Destination { path, named: named.to_owned(), is_free: false };
        if is_stdout(named) {
            return Ok(there(PathBuf::from("-")));
        }
        // The target of a link to a pipe may have no path.
        if fs::metadata(named).is_ok_and(|metadata| is_stream(&metadata)) {
            return Ok(there(named.to_owned()));
        }
        if let Ok(existing) = fs::canonicalize(named) {
            return Ok(there(existing));
        }
        let refused = |why| Error::new(format!("{} {why}", named.display()));
        if named.is_symlink() {
            return Err(refused("is a link to nothing; remove it, or name another file"));
        }
        let name = named.file_name().ok_or_else(|| refused("is no file name; name another file"))?;
        let folder = match named.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let path = fs::canonicalize(folder).map_or_else(|_| named.to_owned(), |folder| folder.join(name));
        Ok(Destination { is_free: true, ..there(path) })
    }

    /// The destination of an output that replaces nothing; `advice` is for a path that exists.
    pub(crate) fn free(named: &Path, advice: &str) -> Result<Destination, Error> {
        let destination = Destination::of(named)?;
        if !destination.is_free {
            return Err(Error::new(format!("{} already exists; {advice}", named.display())));
        }
        Ok(destination)
    }

    /// The destination of an output that replaces whatever is at `path`.
    pub(crate) fn replacing(path: PathBuf, named: &Path) -> Destination {
        Destination { path, named: named.to_owned(), is_free: false }
    }

    /// The path without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn named(&self) -> &Path {
        &self.named
    }

    /// Creates a file beside the destination, with the permissions of what is there.
    pub(crate) fn file_beside(&self) -> Result<NamedTempFile, Error> {
        let file = self.beside(|path| File::create_new(path))?;
        if let Ok(replaced) = fs::metadata(&self.path) {
            let keep = file.as_file().set_permissions(replaced.permissions());
            keep.map_err(Error::writing(&self.named))?;
        }
        Ok(file)
    }

    /// Creates a file or folder beside the destination, with the mode that the umask leaves.
    pub(crate) fn beside<T>(&self, mut create: impl FnMut(&Path) -> io::Result<T>) -> Result<NamedTempFile<T>, Error> {
        let hidden = self.hidden();
        let mut cause = None;
        let make = || {
            let create = |path: &Path| create(path).inspect_err(|error| cause = error.raw_os_error());
            Builder::new().prefix(&hidden).suffix(SUFFIX).make_in(self.folder(), create)
        };
        temporary::create(make)
            // Without the path of the temporary file.
            .map_err(|error| cause.map_or(error, io::Error::from_raw_os_error))
            .map_err(Error::writing(&self.named))
    }

    /// Locks a file or folder until it is closed: the destination, or one beside it, at the path `at`. Removes what a
    /// `kill -9` left beside it.
    ///
    /// A process locks before it looks for other locks, so at least the later one of two finds that of the other, whichever
    /// path each has locked.
    ///
    /// # Errors
    /// Another process writes to the destination.
    pub(crate) fn claim(&self, file: &File, at: &Path) -> Result<(), Error> {
        match FileExt::try_lock(file) {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(self.in_use()),
            // Not all file systems have locks.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => (),
            Err(TryLockError::Error(error)) => return Err(Error::writing(&self.named)(error)),
        }
        // Before it was locked, another process may have taken it for one that was left behind.
        if !is_at(file, at) {
            fs::metadata(self.folder()).map_err(Error::writing(&self.named))?;
            return Err(self.in_use());
        }
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten().map(|entry| entry.path());
        let beside = entries.filter(|path| self.is_beside(path));
        for other in beside.chain([self.path.clone()]).filter(|other| other != at) {
            // One that is gone is written no more.
            let Ok(file) = File::open(&other) else { continue };
            match FileExt::try_lock(&file) {
                Err(TryLockError::WouldBlock) => return Err(self.in_use()),
                Ok(()) if other != self.path => {
                    // It may be that of another user, and then stays.
                    let _ = if other.is_dir() { fs::remove_dir_all(&other) } else { fs::remove_file(&other) };
                }
                _ => (),
            }
        }
        Ok(())
    }

    /// Returns whether a file has a name of those that are written beside the destination: random letters and digits in the
    /// middle.
    fn is_beside(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let random =
            name.strip_prefix(self.hidden().as_encoded_bytes()).and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        random.is_some_and(|random| random.iter().all(u8::is_ascii_alphanumeric))
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Returns the beginning of the name of a file that is written beside the destination.
    fn hidden(&self) -> OsString {
        let mut hidden = OsString::from(".");
        hidden.push(self.path.file_name().unwrap_or_default());
        hidden.push(".rooflut-");
        hidden
    }

    fn in_use(&self) -> Error {
        Error::new(format!(
            "{}: another process writes to it; wait until it has ended, or name another path",
            self.named.display()
        ))
    }

    /// Moves a file or folder that was written beside the destination there.
    ///
    /// # Errors
    /// Something is there that was not when the output was opened.
    pub(crate) fn take(&self, from: &Path) -> Result<(), Error> {
        let moved = if self.is_free { move_to_free(from, &self.path) } else { fs::rename(from, &self.path) };
        moved.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists if self.is_free => Error::of(
                Kind::Io,
                format!(
                    "{}: another program made it while it was written; remove it or name another path, and run the \
                     command again",
                    self.named.display()
                ),
            ),
            _ => Error::writing(&self.named)(error),
        })
    }
}

/// Moves a file or folder to a path where nothing is.
fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    let moved = TempPath::try_from_path(from)?.persist_noclobber(to);
    moved.or_else(|failed| match fs::symlink_metadata(to) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        // File systems of networks and of buckets know no such move.
        Err(_) if failed.error.kind() != ErrorKind::AlreadyExists => fs::rename(from, to),
        Err(_) => Err(failed.error),
    })
}

/// Checks that rows are written to what has the path of their output.
pub(crate) fn check_kept(file: &File, path: &Path) -> Result<(), Error> {
    if is_at(file, path) {
        return Ok(());
    }
    let lost = "it was removed or replaced while rows were written to it; run the sweep again";
    Err(Error::of(Kind::Io, format!("{}: {lost}", path.display())))
}

/// Returns whether a path leads to a file or folder that is open.
fn is_at(file: &File, path: &Path) -> bool {
    let open = file.try_clone().and_then(Handle::from_file);
    open.is_ok_and(|open| Handle::from_path(path).is_ok_and(|found| found == open))
}

/// Returns whether a path of an output is that of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Returns whether what is written there replaces nothing.
pub(crate) fn is_stream(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        kind.is_fifo() || kind.is_char_device()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}
