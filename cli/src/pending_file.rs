//! A file that appears whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use tempfile::NamedTempFile;

use crate::error::Error;

/// A file that is written beside its destination and moved there by [`finish`](PendingFile::finish). Dropped before
/// that, it leaves nothing behind.
pub(crate) struct PendingFile {
    file: BufWriter<NamedTempFile>,
    destination: PathBuf,
    /// The destination as messages name it.
    named: PathBuf,
}

impl PendingFile {
    /// Opens a file beside `path`, so that a destination that cannot be written is rejected before any work.
    ///
    /// `inputs` are files that must not be replaced, each with what the message says of it.
    pub(crate) fn create(
        path: &Path,
        inputs: &[(&Path, &'static str)],
    ) -> Result<PendingFile, Error> {
        let refuse = |why: &str| {
            let path = path.display();
            Error::new(format!("{path} {why}; name another file"))
        };
        // A link is followed, so that it stays one.
        let destination = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = destination.file_name() else {
            return Err(refuse("is no file name"));
        };
        if destination.exists() && !destination.is_file() {
            return Err(refuse("is not a regular file"));
        }
        let is_destination =
            |input: &Path| fs::canonicalize(input).ok().as_ref() == Some(&destination);
        if let Some((_, why)) = inputs.iter().find(|(input, _)| is_destination(input)) {
            return Err(refuse(why));
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", process::id()));
        let folder = match destination.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // Not a random name: two outputs of one process to the same file are an error. Not the private mode of
        // temporary files: the umask decides.
        let file = tempfile::Builder::new()
            .prefix(&hidden)
            .suffix(".tmp")
            .rand_bytes(0)
            .make_in(folder, |path| File::create_new(path));
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => refuse("is being written already"),
            _ => Error::writing(path)(error),
        })?;
        Ok(PendingFile {
            file: BufWriter::new(file),
            destination,
            named: path.to_owned(),
        })
    }

    /// Moves the file to its destination.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let written = self.file.into_inner();
        let moved = written
            .map_err(io::IntoInnerError::into_error)
            .and_then(|file| Ok(file.persist(&self.destination)?));
        moved.map(|_| ()).map_err(Error::writing(&self.named))
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_leaves_the_old_one_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut file = PendingFile::create(&path, &[]).unwrap();
        file.write_all(b"new").unwrap();
        let error = PendingFile::create(&path, &[]).err().unwrap().to_string();
        assert!(
            error.contains("out.csv is being written already"),
            "{error}"
        );
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);

        let mut file = PendingFile::create(&path, &[]).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
